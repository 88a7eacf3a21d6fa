import { getCapabilities, Markdown, setCapabilities, Marked, type Token } from "@earendil-works/pi-tui";
import { markdownTheme, type Theme } from "../theme.ts";
import { fitLine, type DrawArea } from "./wrap-text.ts";
import { sanitizeText } from "./sanitize-text.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { openCharsFree, openCodeLinesMax, openRestShare } from "../limits.ts";

/** The lines of an untrusted Markdown text. Costs a parse of the whole text. */
export const drawMarkdown = (text: string, room: DrawArea): readonly string[] =>
  drawSanitized(sanitizeMarkdown(text), room);

/**
 * pi-tui takes shell variables and regular expressions for mathematics, and shows everything after them as source. So the
 * characters that begin mathematics are replaced by private-use characters of the same width until the lines are drawn.
 */
const sanitizeMarkdown = (text: string): string =>
  sanitizeText(text).replaceAll(/\$|\\[()[\]]/g, (math) => shiftCharacters(math, privateUseArea));

/** Draws a text from `sanitizeMarkdown`. */
function drawSanitized(text: string, room: DrawArea): readonly string[] {
  const markdown = new Markdown(text, 0, 0, markdownTheme(room.theme));
  const lines = withoutLinks(() => markdown.render(room.width));
  return lines.map((line) => {
    const fitted = fitLine(line.trimEnd(), room);
    return fitted.replaceAll(/[\uE024\uE028\uE029\uE05B-\uE05D]/g, (math) => shiftCharacters(math, -privateUseArea));
  });
}

/**
 * A hyperlink of pi-tui hides its address behind the text, which an attacker may have made the model write. Without
 * hyperlinks the address is shown beside the text if they differ, and terminals detect addresses by themselves.
 */
function withoutLinks<Result>(draw: () => Result): Result {
  const capabilities = getCapabilities();
  if (!capabilities.hyperlinks) return draw();
  setCapabilities({ ...capabilities, hyperlinks: false });
  try {
    return draw();
  } finally {
    setCapabilities(capabilities);
  }
}

const privateUseArea = 0xe0_00;

const shiftCharacters = (characters: string, by: number): string =>
  Array.from(characters, (character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + by)).join("");

/**
 * Markdown that is still streaming. The lines of its finished blocks are kept, so a frame costs a parse of the last block,
 * however long the text is. Lines of code do not change when more follow, so of a code block only the last lines are redrawn.
 *
 *   text = finished blocks (drawn once) + complete lines of the open block + an incomplete line
 *
 * A block is finished when a blank line and a complete line of another block follow it. The lines always equal those of
 * `drawMarkdown`, with two exceptions. A reference link whose definition is in another block shows its source until the
 * settled item is drawn. And a block of many thousand characters, such as a huge table or list, lags behind: drawing it may
 * only take a small share of the time, so that keys are not delayed.
 */
export class StreamingMarkdown {
  readonly #deps: StreamingMarkdownDeps;
  readonly #parser = new Marked();
  #width = 0;
  /** The complete lines of the text so far. */
  #seen = "";
  #drawn: string[] = [];
  /** The complete lines of the open block, sanitized. */
  #open = "";
  /** How many of its first lines are drawn already: those of a fence that is repeated before the rest of its code. */
  #drawnOfOpen = 0;
  #lastFrame: LastFrame = { lines: [], at: millis(0), restMs: 0 };
  #state: "whole" | "behind" = "whole";

  constructor(deps: StreamingMarkdownDeps) {
    this.#deps = deps;
  }

  /** `behind`: the lines returned last do not show all of the text. */
  get state(): "whole" | "behind" {
    return this.#state;
  }

  lines(text: string, width: number): readonly string[] {
    const startedAt = this.#deps.now();
    const isContinued = width === this.#width && text.startsWith(this.#seen);
    const { at, restMs } = this.#lastFrame;
    this.#state = isContinued && startedAt >= at && startedAt - at < restMs ? "behind" : "whole";
    if (this.#state === "behind") return this.#lastFrame.lines;
    if (!isContinued) this.#reset(width);
    const lines = this.#update(text);
    const endedAt = this.#deps.now();
    const isLong = text.length - this.#seen.length + this.#open.length > openCharsFree;
    this.#lastFrame = { lines, at: endedAt, restMs: isLong ? openRestShare * (endedAt - startedAt) : 0 };
    return lines;
  }

  #update(text: string): readonly string[] {
    const end = text.lastIndexOf("\n") + 1;
    if (end > this.#seen.length) {
      this.#open += sanitizeMarkdown(text.slice(this.#seen.length, end));
      this.#seen = text.slice(0, end);
      this.#finishBlocks();
    }
    const openBlock = this.#open + sanitizeMarkdown(text.slice(end));
    return [...this.#drawn, ...this.#draw(openBlock)];
  }

  #reset(width: number): void {
    this.#width = width;
    this.#seen = "";
    this.#drawn = [];
    this.#open = "";
    this.#drawnOfOpen = 0;
  }

  #finishBlocks(): void {
    const isApart = /\n\n\S/.test(this.#open);
    const isLong = countLines(this.#open) > openCodeLinesMax;
    if (!isApart && !isLong) return;
    const blocks = new this.#parser.Lexer().blockTokens(this.#open, []);
    const last = blocks.findLastIndex(({ type }) => type !== "space");
    const at = isApart ? blockStart(last, { blocks, text: this.#open }) : 0;
    // A paragraph is drawn after them, so that the empty lines below them are kept too.
    if (at > 0) this.#finish(at, { behind: ".", linesBehind: 1, next: "", drawnOfNext: 0 });
    const fence = isLong ? openFence(blocks[last]) : undefined;
    if (fence !== undefined) this.#finishCode(fence);
  }

  /** Finishes all lines but the last, which has to stay open to show where the code ends. */
  #finishCode(fence: string): void {
    const at = this.#open.lastIndexOf("\n", this.#open.length - 2) + 1;
    if (/^\s*$/.test(this.#open.slice(at))) return;
    // One line of code, and the closing fence that the renderer adds.
    const drawnOfNext = drawSanitized(`${fence}.`, this.#room).length - 2;
    this.#finish(at, { behind: ".", linesBehind: 2, next: fence, drawnOfNext });
  }

  #finish(at: number, { behind, linesBehind, next, drawnOfNext }: FinishOptions): void {
    const lines = this.#draw(this.#open.slice(0, at) + behind);
    for (const line of lines.slice(0, -linesBehind)) this.#drawn.push(line);
    this.#open = next + this.#open.slice(at);
    this.#drawnOfOpen = drawnOfNext;
  }

  #draw(text: string): readonly string[] {
    return drawSanitized(text, this.#room).slice(this.#drawnOfOpen);
  }

  get #room(): DrawArea {
    return { width: this.#width, theme: this.#deps.theme };
  }
}

interface StreamingMarkdownDeps extends ClockDep {
  readonly theme: Theme;
}

interface LastFrame {
  readonly lines: readonly string[];
  /** When they were drawn, and how long to wait before the next time. */
  readonly at: Millis;
  readonly restMs: number;
}

interface FinishOptions {
  /** A text drawn after the finished part, and how many lines it takes. */
  readonly behind: string;
  readonly linesBehind: number;
  /** What the open block begins with now, and how many lines of that are drawn already. */
  readonly next: string;
  readonly drawnOfNext: number;
}

/** Where a block begins; 0 if a preceding block may still grow into it. */
function blockStart(
  block: number,
  { blocks, text }: { readonly blocks: readonly Token[]; readonly text: string },
): number {
  const raws = blocks.slice(0, Math.max(0, block)).map(({ raw }) => raw);
  const before = raws.join("");
  const isApart = before.endsWith("\n\n") && text.startsWith(before) && /^\S/.test(text.slice(before.length));
  return isApart ? before.length : 0;
}

/** The opening line of a long, unclosed code block without indentation; undefined for any other block. */
function openFence(block: Token | undefined): string | undefined {
  const [head, marks] = /^(`{3,}|~{3,})[^\n]*\n/.exec(block?.raw ?? "") ?? [];
  if (block?.type !== "code" || head === undefined || marks === undefined) return undefined;
  if (countLines(block.raw) <= openCodeLinesMax) return undefined;
  const closing = new RegExp(`^ {0,3}${marks}[~\`]* *$`, "m");
  return closing.test(block.raw.slice(head.length)) ? undefined : head;
}

const countLines = (text: string): number => text.split("\n").length - 1;
