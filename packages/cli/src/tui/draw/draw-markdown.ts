import { getCapabilities, Markdown, setCapabilities, Marked, type Token } from "@earendil-works/pi-tui";
import { markdownTheme, type Theme } from "../theme.ts";
import { fitLine, type DrawArea } from "./wrap-text.ts";
import { sanitizeText } from "./sanitize-text.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { openCharsFree, openCodeLinesMax, openRestShare } from "../limits.ts";

/** Somebody's Markdown as lines. Costs a parse of the whole text. */
export const drawMarkdown = (text: string, room: DrawArea): readonly string[] =>
  drawSanitized(sanitizeMarkdown(text), room);

/**
 * pi-tui takes a shell's variable or a regular expression for mathematics and shows the source from there on as it is. So
 * private characters of the same width stand for what would begin it, until the lines are there: mathematics is its source.
 */
const sanitizeMarkdown = (text: string): string =>
  sanitizeText(text).replaceAll(/\$|\\[()[\]]/g, (math) => shiftCharacters(math, privateUseArea));

/** Of a text from `shownMarkdown`. */
function drawSanitized(shown: string, room: DrawArea): readonly string[] {
  const markdown = new Markdown(shown, 0, 0, markdownTheme(room.theme));
  const lines = withoutLinks(() => markdown.render(room.width));
  return lines.map((line) => {
    const whole = fitLine(line.trimEnd(), room);
    return whole.replaceAll(/[\uE024\uE028\uE029\uE05B-\uE05D]/g, (math) => shiftCharacters(math, -privateUseArea));
  });
}

/**
 * Where pi-tui makes a link, it shows the text and hides where that leads, whatever the model was made to say. Without links
 * the address stands beside a text that differs from it, and a terminal finds those that can be opened by itself.
 */
function withoutLinks<Result>(draw: () => Result): Result {
  const known = getCapabilities();
  if (!known.hyperlinks) return draw();
  setCapabilities({ ...known, hyperlinks: false });
  try {
    return draw();
  } finally {
    setCapabilities(known);
  }
}

const privateUseArea = 0xe0_00;

const shiftCharacters = (characters: string, by: number): string =>
  Array.from(characters, (character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + by)).join("");

/**
 * Markdown that is still being said. The lines of its finished blocks are kept; what a frame costs is a parse of the last
 * block, however long the text is. Of code, whose lines do not change when others come, only the last lines are drawn again.
 *
 *   text = finished blocks (drawn once) + open block, whole lines of it + a line that is still being said
 *
 * A block is finished when a whole line of another one stands behind it and a blank line between them. At each moment the
 * lines are those of `drawMarkdown`, but for two cases: a link by reference whose definition stands in another block shows its
 * source, and is a link when it is drawn anew, settled; and a block of many thousand characters, as a table or a list without
 * end, lags behind: what it costs to draw is spent for a small share of the time only, so that keys need not wait.
 */
export class StreamingMarkdown {
  readonly #deps: StreamingMarkdownDeps;
  readonly #parser = new Marked();
  #width = 0;
  /** Of the text, its whole lines. */
  #seen = "";
  #drawn: string[] = [];
  /** The open block's whole lines, ready to be drawn. */
  #open = "";
  /** Of its lines, how many are drawn already: those of a fence that stands before the rest of its code. */
  #drawnOfOpen = 0;
  #kept: LastFrame = { lines: [], at: millis(0), restMs: 0 };
  #state: "whole" | "behind" = "whole";

  constructor(deps: StreamingMarkdownDeps) {
    this.#deps = deps;
  }

  /** Of the lines that were given last: `behind` where some of the text was not drawn yet. */
  get state(): "whole" | "behind" {
    return this.#state;
  }

  lines(text: string, width: number): readonly string[] {
    const begun = this.#deps.now();
    const isContinued = width === this.#width && text.startsWith(this.#seen);
    const { at, restMs } = this.#kept;
    this.#state = isContinued && begun >= at && begun - at < restMs ? "behind" : "whole";
    if (this.#state === "behind") return this.#kept.lines;
    if (!isContinued) this.#beginAnew(width);
    const lines = this.#linesOf(text);
    const ended = this.#deps.now();
    const isLong = text.length - this.#seen.length + this.#open.length > openCharsFree;
    this.#kept = { lines, at: ended, restMs: isLong ? openRestShare * (ended - begun) : 0 };
    return lines;
  }

  #linesOf(text: string): readonly string[] {
    const whole = text.lastIndexOf("\n") + 1;
    if (whole > this.#seen.length) {
      this.#open += sanitizeMarkdown(text.slice(this.#seen.length, whole));
      this.#seen = text.slice(0, whole);
      this.#finishBlocks();
    }
    const last = this.#open + sanitizeMarkdown(text.slice(whole));
    return [...this.#drawn, ...this.#draw(last)];
  }

  #beginAnew(width: number): void {
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
    // A paragraph behind them, so that what they leave free below themselves is there too.
    if (at > 0) this.#finish(at, { behind: ".", linesBehind: 1, next: "", drawnOfNext: 0 });
    const fence = isLong ? openFence(blocks[last]) : undefined;
    if (fence !== undefined) this.#finishCode(fence);
  }

  /** All lines of it but the last: only while there is one it is known where the code ends. */
  #finishCode(fence: string): void {
    const at = this.#open.lastIndexOf("\n", this.#open.length - 2) + 1;
    if (/^\s*$/.test(this.#open.slice(at))) return;
    // A line of code and the fence that closes it for the eye.
    const drawnOfNext = drawSanitized(`${fence}.`, this.#room).length - 2;
    this.#finish(at, { behind: ".", linesBehind: 2, next: fence, drawnOfNext });
  }

  #finish(at: number, { behind, linesBehind, next, drawnOfNext }: FinishOptions): void {
    const lines = this.#draw(this.#open.slice(0, at) + behind);
    for (const line of lines.slice(0, -linesBehind)) this.#drawn.push(line);
    this.#open = next + this.#open.slice(at);
    this.#drawnOfOpen = drawnOfNext;
  }

  #draw(shown: string): readonly string[] {
    return drawSanitized(shown, this.#room).slice(this.#drawnOfOpen);
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
  /** When they were drawn, and for how long that is enough. */
  readonly at: Millis;
  readonly restMs: number;
}

interface FinishOptions {
  /** Drawn after what is finished, and how many lines that takes. */
  readonly behind: string;
  readonly linesBehind: number;
  /** What the open block begins with from now on, and how many lines of that are drawn already. */
  readonly next: string;
  readonly drawnOfNext: number;
}

/** Where a block begins; 0 where those before it may still grow into it. */
function blockStart(
  block: number,
  { blocks, text }: { readonly blocks: readonly Token[]; readonly text: string },
): number {
  const raws = blocks.slice(0, Math.max(0, block)).map(({ raw }) => raw);
  const before = raws.join("");
  const isApart = before.endsWith("\n\n") && text.startsWith(before) && /^\S/.test(text.slice(before.length));
  return isApart ? before.length : 0;
}

/** The line that opens it, for long code that nothing has closed yet and that stands at the margin. */
function openFence(block: Token | undefined): string | undefined {
  const [head, marks] = /^(`{3,}|~{3,})[^\n]*\n/.exec(block?.raw ?? "") ?? [];
  if (block?.type !== "code" || head === undefined || marks === undefined) return undefined;
  if (countLines(block.raw) <= openCodeLinesMax) return undefined;
  const closing = new RegExp(`^ {0,3}${marks}[~\`]* *$`, "m");
  return closing.test(block.raw.slice(head.length)) ? undefined : head;
}

const countLines = (text: string): number => text.split("\n").length - 1;
