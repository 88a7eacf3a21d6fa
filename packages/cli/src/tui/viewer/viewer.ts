import { ScrollView, type Terminal, TuiAltScreen, VStack } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { sanitizeLine } from "../draw/sanitize-text.ts";
import { cutLine } from "../draw/wrap-text.ts";
import type { DrawingDep } from "../draw/draw-functions.ts";
import type { Transcript } from "../chat-ui.ts";
import type { ChatItem } from "../state/chat-item.ts";
import type { ChatState } from "../state/chat-state.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import type { Theme, Colours } from "../theme.ts";
import { ItemList, viewerAction } from "./item-list.ts";
import { viewerRefreshMs, viewerSearchRows } from "../limits.ts";
import { GuardedTerminal } from "../screen/guarded-terminal.ts";

interface ViewerDeps extends ClockDep, DrawingDep {
  readonly terminal: Terminal;
  readonly theme: Theme;
  readonly cwd: string;
  /** Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
  /** Called when the user wants to go back to the chat. */
  readonly onClose: () => void;
}

/**
 * All items of a session in the alternate screen, for reading and unfolding. Of the chat's own session new items are
 * appended meanwhile; a transcript is read again now and then if it may grow.
 */
export class Viewer {
  readonly #deps: ViewerDeps;
  #opened: OpenViewer | undefined;

  constructor(deps: ViewerDeps) {
    this.#deps = deps;
  }

  open(state: ChatState): void {
    if (this.#opened !== undefined) return;
    const opened = { ...this.#build({ detail: this.#deps.detail }), closed: undefined };
    opened.list.show(state);
    this.#start(opened);
  }

  /** `closed` is called when it is no longer shown, for whatever reason. */
  openAt(place: Transcript, closed: () => void): void {
    if (this.#opened !== undefined) return;
    const { refresh } = place;
    const timer = refresh && setInterval(() => void this.#refresh(opened, refresh), viewerRefreshMs);
    const onClosed = (): void => {
      clearInterval(timer);
      closed();
    };
    const opened: OpenViewer = { ...this.#build(place), closed: onClosed };
    opened.list.showAt(place);
    this.#start(opened);
    opened.list.seek();
  }

  async #refresh(opened: OpenViewer, read: NonNullable<Transcript["refresh"]>): Promise<void> {
    const items = await read();
    if (items === undefined || this.#opened !== opened) return;
    opened.list.update(items);
    opened.tui.requestRender();
  }

  show(state: ChatState): void {
    if (this.#opened === undefined || this.#opened.closed !== undefined) return;
    this.#opened.list.show(state);
    this.#opened.tui.requestRender();
  }

  /** Returns to the main screen as it was. */
  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.list.close();
    opened?.tui.stop({ preserveScreen: true });
    opened?.closed?.();
  }

  #start(opened: OpenViewer): void {
    this.#opened = opened;
    opened.tui.start();
    opened.tui.renderNow();
  }

  #build({ detail, title = "", at }: Pick<Transcript, "detail" | "title" | "at">): Omit<OpenViewer, "closed"> {
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
    const list = new ItemList(
      { ...this.#deps, detail },
      {
        requestRender,
        scroll: () => ({ top: scroll.scrollTop, rows: scroll.viewportHeight }),
        scrollTo: (line) => scroll.scrollTo(line),
        grown: (lines, height) => {
          const { isFollowingEnd, scrollTop, viewportHeight } = scroll;
          scroll.updateLayout(height, viewportHeight, requestRender);
          if (!isFollowingEnd) scroll.scrollTo(scrollTop + lines);
          requestRender();
        },
      },
    );
    const scroll = new ScrollView(list, { follow: at === undefined ? "end" : "none", primary: true });
    const keys = title === "" ? keyHelp : `${sanitizeLine(title)} · ${keyHelp}`;
    const footer = {
      render: (width: number) => [cutLine(theme.dim(isSearching() ? searchKeyHelp : keys), { width, theme })],
      invalidate: () => {},
    };
    tui.setLayoutRoot(
      new VStack([
        { component: searchSpacer(isSearching), basis: "auto" },
        { component: scroll, grow: 1, shrink: 1, basis: 0 },
        { component: footer, basis: 1 },
      ]),
    );
    tui.addInputListener((data) => {
      if (isSearching()) return undefined;
      const action = viewerAction(data);
      if (action === undefined) return undefined;
      if (action === "close") onClose();
      else list.act(action);
      return { consume: true };
    });
    return { tui, list };
  }
}

interface OpenViewer {
  readonly tui: TuiAltScreen;
  readonly list: ItemList;
  /** Of a transcript. */
  readonly closed: (() => void) | undefined;
}

const keyHelp = "↑↓ select · Enter unfold · a all · / search · PgUp PgDn Home End · Esc back";
const searchKeyHelp =
  "letters are searched for, a and q too · Enter next · Shift-Enter previous · Esc closes the search";

/** Reserves rows for pi-tui's search box, which covers what is below it. */
const searchSpacer = (isSearching: () => boolean) => ({
  render: (): string[] => (isSearching() ? Array.from({ length: viewerSearchRows }, () => "") : []),
  invalidate: (): void => {},
});

/** Makes `/` begin a search, because older terminals cannot send pi-tui's key for it. */
class ViewerTerminal extends GuardedTerminal {
  readonly #isSearching: () => boolean;

  constructor(
    terminal: Terminal,
    { colours, isSearching }: { readonly colours: Colours; readonly isSearching: () => boolean },
  ) {
    super(terminal, colours);
    this.#isSearching = isSearching;
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    super.start((data) => onInput(data === "/" && !this.#isSearching() ? searchKey : data), onResize);
  }
}

/** Ctrl-Shift-F. */
const searchKey = "\u001B[102;6u";
