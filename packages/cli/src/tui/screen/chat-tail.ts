import { type Component, stripTerminalSequences } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { type ChatItem, isSettled } from "../state/chat-item.ts";
import { type ChatState, type FoldState, isUnfolded } from "../state/chat-state.ts";
import { type DrawingDep, type StreamingLines, gapBetween } from "../draw/draw-functions.ts";
import { resumedItemsShown } from "../limits.ts";

/**
 * The end of the chat: what is on the screen or may still change. Lines that have scrolled off the screen belong to the
 * terminal: they are not drawn again, and a done item is forgotten when all its lines have scrolled off. So the cost of a
 * frame depends on what is visible, however long the chat is.
 */
export class ChatTail implements Component {
  readonly #deps: DrawingDep & ClockDep;
  #state: ChatState | undefined;
  #entries: readonly TailEntry[] = [];
  #seen: SeenItems = nothingSeen;

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
    this.#readState(state, width);
    for (const entry of this.#entries) this.#layOut(entry, { width, folds: state.folds });
    this.#forget();
    return this.#entries.flatMap(({ shown }) => shown);
  }

  /** The first `lines` lines have left the screen. Returns how many of them belonged to the chat. */
  markScrolledOff(lines: number): number {
    let remaining = lines;
    for (const entry of this.#entries) {
      const off = entry.shown.slice(0, remaining);
      remaining -= off.length;
      entry.off = [...entry.off, ...off];
      entry.shown = entry.shown.slice(off.length);
      if (remaining === 0) break;
    }
    this.#forget();
    return lines - remaining;
  }

  /**
   * Releases a done item that is partly off the screen: the terminal has rewrapped it, and drawing it again would show its
   * first part twice. Returns how many of its lines stay on the screen.
   */
  releaseHalfGone(): number {
    const [first] = this.#entries;
    if (first?.state !== "done" || first.off.length === 0) return 0;
    return this.markScrolledOff(first.shown.length);
  }

  /** Releases all done items, so that something else can write below them. */
  releaseDone(): void {
    const done = this.#entries.filter(({ state }) => state === "done");
    this.markScrolledOff(done.reduce((lines, { shown }) => lines + shown.length, 0));
  }

  #forget(): void {
    this.#entries = this.#entries.filter(({ state, shown }) => shown.length > 0 || state === "open");
  }

  #readState(state: ChatState, width: number): void {
    if (!isContinued(this.#seen, state)) this.#startChat(state, width);
    const { count = 0, last } = this.#seen;
    const done = this.#entries.filter((entry) => entry.state === "done");
    const open = this.#entries.filter((entry) => entry.state === "open");
    const openById = new Map(open.map((entry) => [entry.item.id, entry]));
    let lastKind = done.at(-1)?.item.kind ?? last?.kind;
    const entries = [...state.done.from(count), ...state.open].map((item, index) => {
      const entry = openById.get(item.id) ?? createEntry(item, gapBetween(lastKind, item.kind));
      entry.item = item;
      entry.state = count + index < state.done.length ? "done" : "open";
      lastKind = item.kind;
      return entry;
    });
    this.#entries = [...done, ...entries];
    this.#seen = { count: state.done.length, last: state.done.at(state.done.length - 1) };
  }

  /** Starts another chat. What is drawn of the old one stays as it is. */
  #startChat(state: ChatState, width: number): void {
    const count = Math.max(0, state.done.length - resumedItemsShown);
    this.#seen = { count, last: state.done.at(count - 1) };
    for (const entry of this.#entries) entry.state = "done";
    if (count === 0) return;
    const text = `… ${formatCount(count)} earlier ${plural(count, "item")}: Ctrl-O shows them`;
    const lines = this.#deps.drawing.hint(text, width);
    const note = createEntry({ kind: "output", id: noteId, lines }, this.#entries.length === 0 ? [] : [""]);
    this.#entries = [...this.#entries, { ...note, state: "done" }];
  }

  #layOut(entry: TailEntry, look: TailLook): void {
    const lines = this.#linesFor(entry, look);
    const at = countReadLines(entry.off, lines);
    const isSame = at === entry.off.length && lines[at - 1] === entry.off[at - 1];
    if (!isSame) {
      const isStale = entry.item.kind === "call" && isSettled(entry.item) && entry.width === look.width;
      entry.off = isStale ? [] : lines.slice(0, at);
    }
    entry.width = look.width;
    entry.shown = lines.slice(entry.off.length);
  }

  #linesFor(entry: TailEntry, { width, folds }: TailLook): readonly string[] {
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
  /** As in the chat state: a settled item is open as long as one before it is. */
  state: "open" | "done";
  readonly gap: readonly string[];
  growing: StreamingLines | undefined;
  drawn: DrawnEntry | undefined;
  /** Its lines that have left the screen, as they were drawn. */
  off: readonly string[];
  /** Its lines that are still on the screen. */
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

/** How many done items have been read from the state, and the last of them. */
interface SeenItems {
  readonly count: number | undefined;
  readonly last: ChatItem | undefined;
}

const nothingSeen: SeenItems = { count: undefined, last: undefined };

function isContinued({ count, last }: SeenItems, { done }: ChatState): boolean {
  if (count === undefined || count === 0) return count === 0 && done.length <= resumedItemsShown;
  return done.at(count - 1) === last;
}

/** No item has this id. */
const noteId = -1;

/**
 * How many of `lines` the user has already read, if they have read `read`: the first ones, as long as they are equal; after
 * that, because the text was laid out again, as many as hold no more characters than were read. So nothing is left out, and
 * at most one line appears twice.
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

/** Counts visible characters without rules and table frames, whose length depends on the width. */
const countInk = (line: string): number => stripTerminalSequences(line).replaceAll(/[\s\u2500-\u257F]/g, "").length;
