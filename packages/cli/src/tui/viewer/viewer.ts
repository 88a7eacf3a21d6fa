import { ScrollView, type Terminal, TuiAltScreen, VStack } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { sanitizeLine } from "../draw/sanitize-text.ts";
import { cutLine } from "../draw/wrap-text.ts";
import type { DrawingDep } from "../draw/draw-functions.ts";
import type { ChatItem } from "../state/chat-item.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import type { Theme, Colours } from "../theme.ts";
import { ItemList, type ItemsInView, viewerAction } from "./item-list.ts";
import { viewerSearchRows } from "../limits.ts";
import { GuardedTerminal } from "../screen/guarded-terminal.ts";

interface ViewerDeps extends ClockDep, DrawingDep {
  readonly terminal: Terminal;
  readonly theme: Theme;
  readonly cwd: string;
  /** Called when the user wants to go back to the chat. */
  readonly onClose: () => void;
}

/** What a viewer shows. */
export interface ViewerContent {
  /** `chat`: the conversation itself. `other`: one beside it. */
  readonly of: "chat" | "other";
  /** Stands before the keys; empty for the chat. */
  readonly title: string;
  readonly items: ItemsInView;
  /** Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
  /** Called once, whoever closes it. */
  readonly onClosed?: () => void;
}

/** All items of a conversation in the alternate screen, for reading and unfolding. New items are appended meanwhile. */
export class Viewer {
  readonly #deps: ViewerDeps;
  #opened: OpenViewer | undefined;

  constructor(deps: ViewerDeps) {
    this.#deps = deps;
  }

  open(content: ViewerContent): void {
    if (this.#opened !== undefined) return;
    const opened = this.#build(content);
    this.#opened = opened;
    opened.list.show(content.items);
    opened.tui.start();
    opened.tui.renderNow();
  }

  /** Does nothing while it shows something else. */
  show(of: ViewerContent["of"], items: ItemsInView): void {
    if (this.#opened?.content.of !== of) return;
    this.#opened.list.show(items);
    this.#opened.tui.requestRender();
  }

  /** Returns to the main screen as it was. */
  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.list.close();
    opened?.tui.stop({ preserveScreen: true });
    opened?.content.onClosed?.();
  }

  #build(content: ViewerContent): OpenViewer {
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
      { ...this.#deps, detail: content.detail },
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
    const scroll = new ScrollView(list, { follow: "end", primary: true });
    const keys = content.title === "" ? keyHelp : `${sanitizeLine(content.title)} · ${keyHelp}`;
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
    return { tui, list, content };
  }
}

interface OpenViewer {
  readonly tui: TuiAltScreen;
  readonly list: ItemList;
  readonly content: ViewerContent;
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
