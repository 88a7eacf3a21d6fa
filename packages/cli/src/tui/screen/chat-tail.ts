import { type Component, stripTerminalSequences } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { formatCount, plural } from "palimpsest/internal/schema/format-count";
import { type ChatItem, isSettled } from "../state/chat-item.ts";
import { type ChatState, type FoldState, isUnfolded } from "../state/chat-state.ts";
import { type DrawingDep, type StreamingLines, gapBetween } from "../draw/draw-functions.ts";
import { resumedItemsShown } from "../limits.ts";

/**
 * The end of the chat, as far as it is on the screen or may still change. Lines that have scrolled off the screen belong to
 * the terminal: they are not drawn again, and an item of which all lines have is forgotten once it is done. So a frame
 * costs by what can be seen, however long the chat is.
 */
export class ChatTail implements Component {
  readonly #deps: DrawingDep & ClockDep;
  #state: ChatState | undefined;
  #entries: readonly TailEntry[] = [];
  #taken: SeenItems = nothingSeen;

  constructor(deps: DrawingDep & ClockDep) {
    this.#deps = deps;
  }

  show(state: ChatState): void {
    this.#state = state;
  }

  invalidate(): void {
    for (const entry of this.#entries) entry.drawn = undefined;
  }

  render(width: number): string[] {
    const state = this.#state;
    if (state === undefined) return [];
    this.#take(state, width);
    for (const entry of this.#entries) this.#lay(entry, { width, folds: state.folds });
    this.#forget();
    return this.#entries.flatMap(({ shown }) => shown);
  }

  /** So many lines from the top have left the screen. Gives how many of them were of the chat. */
  markScrolledOff(lines: number): number {
    let left = lines;
    for (const entry of this.#entries) {
      const off = entry.shown.slice(0, left);
      left -= off.length;
      entry.off = [...entry.off, ...off];
      entry.shown = entry.shown.slice(off.length);
      if (left === 0) break;
    }
    this.#forget();
    return lines - left;
  }

  /**
   * Lets go of an item that is done and half off the screen: the terminal has wrapped it in its own way, and to draw it
   * anew would show its first half twice. Gives how many lines are left standing.
   */
  releaseHalfGone(): number {
    const [first] = this.#entries;
    if (first?.state !== "done" || first.off.length === 0) return 0;
    return this.markScrolledOff(first.shown.length);
  }

  /** Whatever is done stays where it stands, as when something else is about to write below it. */
  releaseDone(): void {
    const done = this.#entries.filter(({ state }) => state === "done");
    this.markScrolledOff(done.reduce((lines, { shown }) => lines + shown.length, 0));
  }

  #forget(): void {
    this.#entries = this.#entries.filter(({ state, shown }) => shown.length > 0 || state === "open");
  }

  #take(state: ChatState, width: number): void {
    if (!isContinued(this.#taken, state)) this.#begin(state, width);
    const { count = 0, last } = this.#taken;
    const done = this.#entries.filter((entry) => entry.state === "done");
    const open = this.#entries.filter((entry) => entry.state === "open");
    const known = new Map(open.map((entry) => [entry.item.id, entry]));
    let before = done.at(-1)?.item.kind ?? last?.kind;
    const taken = [...state.done.from(count), ...state.open].map((item, index) => {
      const entry = known.get(item.id) ?? createEntry(item, gapBetween(before, item.kind));
      entry.item = item;
      entry.state = count + index < state.done.length ? "done" : "open";
      before = item.kind;
      return entry;
    });
    this.#entries = [...done, ...taken];
    this.#taken = { count: state.done.length, last: state.done.at(state.done.length - 1) };
  }

  /** Another chat than before. What stands of the old one stays as it is. */
  #begin(state: ChatState, width: number): void {
    const count = Math.max(0, state.done.length - resumedItemsShown);
    this.#taken = { count, last: state.done.at(count - 1) };
    for (const entry of this.#entries) entry.state = "done";
    if (count === 0) return;
    const text = `… ${formatCount(count)} earlier ${plural(count, "item")}: Ctrl-O shows them`;
    const lines = this.#deps.drawing.hint(text, width);
    const note = createEntry({ kind: "output", id: noteId, lines }, this.#entries.length === 0 ? [] : [""]);
    this.#entries = [...this.#entries, { ...note, state: "done" }];
  }

  #lay(entry: TailEntry, look: TailLook): void {
    const lines = this.#linesOf(entry, look);
    const at = countReadLines(entry.off, lines);
    const isSame = at === entry.off.length && lines[at - 1] === entry.off[at - 1];
    if (!isSame) {
      const isStale = entry.item.kind === "call" && isSettled(entry.item) && entry.width === look.width;
      entry.off = isStale ? [] : lines.slice(0, at);
    }
    entry.width = look.width;
    entry.shown = lines.slice(entry.off.length);
  }

  #linesOf(entry: TailEntry, { width, folds }: TailLook): readonly string[] {
    const { item, drawn } = entry;
    const fold = isUnfolded(folds, item) ? "unfolded" : "folded";
    const isKept = drawn?.item === item && drawn.width === width && drawn.fold === fold;
    const isMoving = item.kind === "retry" || entry.growing?.state === "behind";
    if (isKept && (!isMoving || isSettled(item))) return drawn.lines;
    const lines = [...entry.gap, ...this.#draw(entry, { width, fold })];
    entry.drawn = { item, width, fold, lines };
    return lines;
  }

  #draw(entry: TailEntry, look: { readonly width: number; readonly fold: "folded" | "unfolded" }): readonly string[] {
    const { item } = entry;
    const { drawing, now } = this.#deps;
    if (item.kind !== "text" || isSettled(item)) return drawing.item(item, { ...look, now: now() });
    entry.growing ??= drawing.growing();
    return entry.growing.lines(item.text, look.width);
  }
}

interface TailLook {
  readonly width: number;
  readonly folds: FoldState;
}

interface TailEntry {
  item: ChatItem;
  /** As in the chat: an item that is settled is open as long as one before it is. */
  state: "open" | "done";
  readonly gap: readonly string[];
  growing: StreamingLines | undefined;
  drawn: DrawnEntry | undefined;
  /** Lines of it that have left the screen, as they stood there. */
  off: readonly string[];
  /** Those that have not. */
  shown: readonly string[];
  width: number;
}

interface DrawnEntry {
  readonly item: ChatItem;
  readonly width: number;
  readonly fold: "folded" | "unfolded";
  readonly lines: readonly string[];
}

const createEntry = (item: ChatItem, gap: readonly string[]): TailEntry => ({
  item,
  state: "open",
  gap,
  growing: undefined,
  drawn: undefined,
  off: [],
  shown: [],
  width: 0,
});

/** Of the items that are done, how many have been taken over, and the last of them. */
interface SeenItems {
  readonly count: number | undefined;
  readonly last: ChatItem | undefined;
}

const nothingSeen: SeenItems = { count: undefined, last: undefined };

function isContinued({ count, last }: SeenItems, { done }: ChatState): boolean {
  if (count === undefined || count === 0) return count === 0 && done.length <= resumedItemsShown;
  return done.at(count - 1) === last;
}

/** No item has it. */
const noteId = -1;

/**
 * How many of these lines have been read already by whoever has read those: the first ones, as long as they are the same;
 * from there on, where a text was laid out anew, as many as hold no more characters. So nothing is left out, and of what was
 * laid out anew a line at most is seen twice.
 */
export function countReadLines(read: readonly string[], lines: readonly string[]): number {
  let at = 0;
  while (at < read.length && read[at] === lines[at]) at += 1;
  let left = read.slice(at).reduce((sum, line) => sum + countInk(line), 0);
  while (at < lines.length && left > 0) {
    left -= countInk(lines[at] ?? "");
    if (left < 0) return at;
    at += 1;
  }
  return at;
}

/** Characters of a text. Rules and the frames of tables are as long as there is room. */
const countInk = (line: string): number => stripTerminalSequences(line).replaceAll(/[\s\u2500-\u257F]/g, "").length;
