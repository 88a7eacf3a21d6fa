import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { drawCallDetail } from "../draw/draw-call.ts";
import { cutLine } from "../draw/wrap-text.ts";
import { drawMarkdown } from "../draw/draw-markdown.ts";
import { type DrawingDep, gapBetween } from "../draw/draw-functions.ts";
import type { ChatItem, ItemId } from "../state/chat-item.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import type { Theme } from "../theme.ts";

export interface ItemLinesDeps extends ClockDep, DrawingDep {
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
export class ItemLines {
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
