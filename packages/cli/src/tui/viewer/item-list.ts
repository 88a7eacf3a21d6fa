import { type Component, isKeyRelease, matchesKey } from "@earendil-works/pi-tui";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { gapBetween, type DrawingDep } from "../draw/draw-functions.ts";
import { type ChatItem, type CompactionItem, isFoldable, isSettled, type ItemId } from "../state/chat-item.ts";
import { type ChatState, applyFold, type FoldState, isUnfolded } from "../state/chat-state.ts";
import type { Transcript } from "../chat-ui.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import { viewerContextLines, viewerFirstLines, viewerSliceLines } from "../limits.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { drawCallDetail } from "../draw/draw-call.ts";
import { cutLine } from "../draw/wrap-text.ts";
import { drawMarkdown } from "../draw/draw-markdown.ts";
import type { Theme } from "../theme.ts";

interface ItemListDeps extends ItemLinesDeps {
  /** Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
}

/** The scrolling window around the list. */
interface ListWindow {
  readonly requestRender: () => void;
  readonly scroll: () => { readonly top: number; readonly rows: number };
  readonly scrollTo: (line: number) => void;
  /** This many lines were added at the top: the window must keep showing the same lines. */
  readonly grown: (lines: number, height: number) => void;
}

/**
 * All items of a chat as lines, with a gutter that marks the selected one. The newest are drawn when it opens, the older ones
 * backwards in slices, so that keys are not delayed. A frame only joins lines that are drawn already.
 */
export class ItemList implements Component {
  readonly #deps: ItemListDeps;
  readonly #window: ListWindow;
  readonly #lines: ItemLines;
  readonly #detailById = new Map<ItemId, ItemDetail | undefined>();
  readonly #originalById = new Map<ItemId, readonly ChatItem[]>();
  #items: readonly ChatItem[] = [];
  #doneCount = 0;
  /** Index of the first item that is drawn. */
  #from = 0;
  #width = 0;
  #height = 0;
  #folds: FoldState = { rest: "folded", others: new Set() };
  #selected: ItemId | undefined;
  /** To be scrolled to as soon as it is drawn. */
  #sought: ItemId | undefined;
  #firstLineById: ReadonlyMap<ItemId, number> = new Map();
  #slice: NodeJS.Immediate | undefined;

  constructor(deps: ItemListDeps, window: ListWindow) {
    this.#deps = deps;
    this.#window = window;
    this.#lines = new ItemLines(deps);
  }

  show({ done, open }: ChatState): void {
    this.#items = [...this.#items.slice(0, this.#doneCount), ...done.from(this.#doneCount), ...open];
    this.#doneCount = done.length;
    this.#selected ??= this.#items.findLast(isFoldable)?.id;
  }

  /** The items of a transcript, at one of them or at the end. */
  showAt({ items, at }: Pick<Transcript, "items" | "at">): void {
    this.#items = items;
    this.#selected = at ?? items.findLast(isFoldable)?.id;
    this.#sought = at;
    this.#folds = { rest: "folded", others: new Set(at === undefined ? [] : [at]) };
  }

  /** The same items, with what has changed since. Settled ones are not drawn again. */
  update(items: readonly ChatItem[]): void {
    const before = this.#items;
    this.#items = items.map((item, index) => {
      const known = before[index];
      return known?.id === item.id && known.kind === item.kind && isSettled(known) ? known : item;
    });
  }

  /** Call it when the window has its size. */
  seek(): void {
    const index = this.#items.findIndex(({ id }) => id === this.#sought);
    if (index === -1 || index < this.#from) return;
    this.#sought = undefined;
    const before = this.#items.slice(this.#from, index);
    const lines = before.reduce(
      (sum, item, at) => sum + this.#heightAt(this.#from + at, item),
      this.#from === 0 ? 0 : 1,
    );
    this.#window.scrollTo(lines - viewerContextLines);
  }

  close(): void {
    clearImmediate(this.#slice);
    this.#width = 0;
  }

  act(action: Exclude<ViewerAction, "close">): void {
    const selected = this.#selected ?? 0;
    const foldable = this.#items.slice(this.#from).filter(isFoldable);
    switch (action) {
      case "previous":
        return this.#select(foldable.findLast(({ id }) => id < selected));
      case "next":
        return this.#select(foldable.find(({ id }) => id > selected));
      case "fold":
        this.#folds = applyFold(this.#folds, { kind: "fold", item: selected });
        return this.#window.requestRender();
      case "fold-all":
        this.#folds = applyFold(this.#folds, { kind: "fold-all" });
        return this.#window.requestRender();
    }
  }

  invalidate(): void {
    this.#lines.clear();
  }

  render(width: number): string[] {
    if (width !== this.#width) this.#start(width);
    const lines = this.#from === 0 ? [] : [this.#missingLine()];
    const firstLineById = new Map<ItemId, number>();
    for (let index = this.#from; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item === undefined) break;
      lines.push(...gapBetween(this.#items[index - 1]?.kind, item.kind));
      firstLineById.set(item.id, lines.length);
      const drawn = this.#drawItem(item);
      if (item.id === this.#selected) lines.push(...drawn.map(this.#lines.selected));
      else for (const line of drawn) lines.push(line);
    }
    this.#firstLineById = firstLineById;
    this.#height = lines.length;
    this.#loadVisible();
    return lines;
  }

  #missingLine(): string {
    return this.#deps.theme.dim(`  … ${formatCount(this.#from)} earlier ${plural(this.#from, "item")}`);
  }

  #start(width: number): void {
    this.#width = width;
    this.#lines.clear();
    this.#from = this.#items.length;
    this.#drawBack(viewerFirstLines);
    this.#scheduleSlice();
  }

  /** Draws older items until there are enough new lines. Returns how many lines were added. */
  #drawBack(linesMin: number): number {
    let added = 0;
    while (this.#from > 0 && added < linesMin) {
      this.#from -= 1;
      const item = this.#items[this.#from];
      if (item === undefined) continue;
      added += this.#heightAt(this.#from, item);
    }
    return added;
  }

  #heightAt(index: number, item: ChatItem): number {
    return gapBetween(this.#items[index - 1]?.kind, item.kind).length + this.#drawItem(item).length;
  }

  #scheduleSlice(): void {
    clearImmediate(this.#slice);
    if (this.#from === 0) return;
    this.#slice = setImmediate(() => {
      const drawn = this.#drawBack(viewerSliceLines);
      // With the last slice, the line that counts the missing items disappears.
      const added = this.#from === 0 ? drawn - 1 : drawn;
      this.#height += added;
      this.#window.grown(added, this.#height);
      this.seek();
      this.#scheduleSlice();
    });
  }

  #select(item: ChatItem | undefined): void {
    if (item === undefined) return;
    this.#selected = item.id;
    const line = this.#firstLineById.get(item.id) ?? 0;
    const { top, rows } = this.#window.scroll();
    if (line < top + viewerContextLines) this.#window.scrollTo(line - viewerContextLines);
    else if (line >= top + rows) this.#window.scrollTo(line - Math.floor(rows / 2));
    this.#window.requestRender();
  }

  #drawItem(item: ChatItem): readonly string[] {
    const isOpen = isUnfolded(this.#folds, item);
    const detail = isOpen ? this.#detailById.get(item.id) : undefined;
    const original = detail === undefined || item.kind !== "compacted" ? noItems : this.#originalItems(item, detail);
    return this.#lines.draw(item, { width: this.#width, fold: isOpen ? "unfolded" : "folded", detail, original });
  }

  /** Computed once: nothing before a boundary can change. */
  #originalItems({ id, covers }: CompactionItem, detail: ItemDetail): readonly ChatItem[] {
    const cached = this.#originalById.get(id);
    if (cached !== undefined) return cached;
    const shown = this.#items.filter((item) => item.id >= covers.from && item.id < covers.to);
    const original = shown.length === 0 && detail.kind === "summary" ? detail.original : shown;
    this.#originalById.set(id, original);
    return original;
  }

  /** Each detail is a read of the log, so only those near the visible part are loaded. */
  #loadVisible(): void {
    const { top, rows } = this.#window.scroll();
    for (const item of this.#items.slice(this.#from)) {
      if (!hasDetail(item) || !isSettled(item) || !isUnfolded(this.#folds, item)) continue;
      const line = this.#firstLineById.get(item.id) ?? 0;
      const isNear = line < top + 2 * rows && line + this.#drawItem(item).length >= top - rows;
      if (isNear && !this.#detailById.has(item.id)) void this.#load(item);
    }
  }

  async #load(item: ChatItem): Promise<void> {
    this.#detailById.set(item.id, undefined);
    this.#detailById.set(item.id, await this.#deps.detail(item));
    this.#window.requestRender();
  }
}

const noItems: readonly ChatItem[] = [];
const hasDetail = ({ kind }: ChatItem): boolean => kind === "call" || kind === "compacted";

type ViewerAction = "close" | "previous" | "next" | "fold" | "fold-all";

/** Undefined if the key scrolls, searches or has no meaning here. */
export function viewerAction(data: string): ViewerAction | undefined {
  if (isKeyRelease(data)) return undefined;
  return viewerKeys.find(({ key }) => matchesKey(data, key))?.act;
}

const viewerKeys = [
  { key: "escape", act: "close" },
  { key: "q", act: "close" },
  { key: "ctrl+o", act: "close" },
  { key: "ctrl+c", act: "close" },
  { key: "up", act: "previous" },
  { key: "k", act: "previous" },
  { key: "down", act: "next" },
  { key: "j", act: "next" },
  { key: "enter", act: "fold" },
  { key: "space", act: "fold" },
  { key: "a", act: "fold-all" },
] as const;

interface ItemLinesDeps extends ClockDep, DrawingDep {
  readonly theme: Theme;
  readonly cwd: string;
}

interface ItemView {
  readonly width: number;
  readonly fold: "folded" | "unfolded";
  readonly detail: ItemDetail | undefined;
  /** What a boundary replaces. Compared by identity, so pass the same array while the content is the same. */
  readonly original: readonly ChatItem[];
}

/** Draws items behind a gutter, and caches the lines until the item or its view changes. */
class ItemLines {
  readonly #deps: ItemLinesDeps;
  readonly #drawnById = new Map<ItemId, DrawnItem>();

  constructor(deps: ItemLinesDeps) {
    this.#deps = deps;
  }

  clear(): void {
    this.#drawnById.clear();
  }

  draw(item: ChatItem, view: ItemView): readonly string[] {
    const cached = this.#drawnById.get(item.id);
    if (cached?.item === item && isSameView(cached.view, view)) return cached.lines;
    const lines = this.#draw(item, { ...view, width: Math.max(1, view.width - gutter.length) }).map(
      (line) => gutter + line,
    );
    this.#drawnById.set(item.id, { item, view, lines });
    return lines;
  }

  /** The line with the mark of a selected item. */
  readonly selected = (line: string): string => `${this.#deps.theme.accent("▌")}${line.slice(1)}`;

  #draw(item: ChatItem, { width, fold, detail, original }: ItemView): readonly string[] {
    const { theme, cwd, drawing, now } = this.#deps;
    if (detail?.kind === "call" && item.kind === "call")
      return drawCallDetail({ ...detail, call: item }, { width, theme, cwd });
    const lines = drawing.item(item, { width, fold, now: now() });
    const summary = detail?.kind === "summary" ? ["", ...drawMarkdown(detail.text, { width, theme })] : [];
    return [...lines, ...summary, ...this.#drawOriginal(original, width)];
  }

  #drawOriginal(original: readonly ChatItem[], width: number): readonly string[] {
    const { theme, drawing, now } = this.#deps;
    if (original.length === 0) return [];
    const bar = `${theme.dim("│")} `;
    const look = { width: Math.max(1, width - barColumns), fold: "unfolded", now: now() } as const;
    const lines = original.flatMap((item, index) => [
      ...gapBetween(original[index - 1]?.kind, item.kind),
      ...drawing.item(item, look),
    ]);
    const title = cutLine(theme.dim("What it stands for, as it was said:"), { width, theme });
    return ["", title, ...lines.map((line) => bar + line)];
  }
}

interface DrawnItem {
  readonly item: ChatItem;
  readonly view: ItemView;
  readonly lines: readonly string[];
}

const isSameView = (one: ItemView, other: ItemView): boolean =>
  one.width === other.width &&
  one.fold === other.fold &&
  one.detail === other.detail &&
  one.original === other.original;

const gutter = "  ";
const barColumns = 2;
