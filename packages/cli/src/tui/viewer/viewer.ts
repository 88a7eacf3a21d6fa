import { ScrollView, type Terminal, TuiAltScreen, VStack } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import { cut } from "../draw/lines.ts";
import type { DrawingDep } from "../screen/drawing.ts";
import type { ChatItem } from "../state/chat-item.ts";
import type { ChatState } from "../state/chat-shape.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import type { Theme } from "../theme/theme.ts";
import { ItemList } from "./item-list.ts";
import { searchRoom } from "./search-room.ts";
import { viewerActOf } from "./viewer-keys.ts";
import { ViewerTerminal } from "./viewer-terminal.ts";

export interface ViewerDeps extends ClockDep, DrawingDep {
  readonly terminal: Terminal;
  readonly theme: Theme;
  readonly cwd: string;
  /** Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
  /** The person wants to go back. */
  readonly onClose: () => void;
}

/** All items of a session in the alternate screen, to be looked at and unfolded. What goes on meanwhile comes in below. */
export class Viewer {
  readonly #deps: ViewerDeps;
  #opened: Opened | undefined;

  constructor(deps: ViewerDeps) {
    this.#deps = deps;
  }

  open(state: ChatState): void {
    if (this.#opened !== undefined) return;
    const opened = this.#build();
    this.#opened = opened;
    opened.list.show(state);
    opened.tui.start();
    opened.tui.renderNow();
  }

  show(state: ChatState): void {
    this.#opened?.list.show(state);
    this.#opened?.tui.requestRender();
  }

  /** Back on the screen as it was. */
  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.list.close();
    opened?.tui.stop({ preserveScreen: true });
  }

  #build(): Opened {
    const { theme, terminal, onClose } = this.#deps;
    const isSearching = (): boolean => tui.hasOverlay();
    const tui = new TuiAltScreen(
      new ViewerTerminal(terminal, { colours: theme.colours, isSearching }),
      true,
      undefined,
      {
        mouse: false,
      },
    );
    const requestRender = (): void => {
      if (this.#opened?.tui === tui) tui.requestRender();
    };
    const list = new ItemList(this.#deps, {
      requestRender,
      scroll: () => ({ top: scroll.scrollTop, rows: scroll.viewportHeight }),
      scrollTo: (line) => scroll.scrollTo(line),
      grown: (lines, height) => {
        const { isFollowingEnd, scrollTop, viewportHeight } = scroll;
        scroll.updateLayout(height, viewportHeight, requestRender);
        if (!isFollowingEnd) scroll.scrollTo(scrollTop + lines);
        requestRender();
      },
    });
    const scroll = new ScrollView(list, { follow: "end", primary: true });
    const footer = {
      render: (width: number) => [cut(theme.dim(isSearching() ? searchKeysText : keysText), { width, theme })],
      invalidate: () => {},
    };
    tui.setLayoutRoot(
      new VStack([
        { component: searchRoom(isSearching), basis: "auto" },
        { component: scroll, grow: 1, shrink: 1, basis: 0 },
        { component: footer, basis: 1 },
      ]),
    );
    tui.addInputListener((data) => {
      if (isSearching()) return undefined;
      const act = viewerActOf(data);
      if (act === undefined) return undefined;
      if (act === "close") onClose();
      else list.act(act);
      return { consume: true };
    });
    return { tui, list };
  }
}

interface Opened {
  readonly tui: TuiAltScreen;
  readonly list: ItemList;
}

const keysText = "↑↓ select · Enter unfold · a all · / search · PgUp PgDn Home End · Esc back";
const searchKeysText =
  "letters are searched for, a and q too · Enter next · Shift-Enter previous · Esc closes the search";
