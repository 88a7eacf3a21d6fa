import type { Terminal } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { ChatUi } from "../chat-ui.ts";
import type { TrustAsk } from "../../agent/pending-trust.ts";
import type { ApproveAsk, ServerDecision } from "../dialog/approve.ts";
import type { TrustDecision } from "../dialog/trust.ts";
import type { FileListDep, PauseDep } from "../input/files.ts";
import type { InputHistory } from "../input/history.ts";
import type { ChatItem } from "../state/chat-item.ts";
import type { ItemDetail } from "../state/item-detail.ts";
import type { Colours } from "../theme/theme.ts";
import type { ScreenHost } from "./host.ts";
import type { Narrowing } from "./refit.ts";

export interface ScreenDeps extends ClockDep, FileListDep, PauseDep {
  readonly terminal: Terminal;
  /** Where the agent works: files below it are named from there. */
  readonly cwd: string;
  readonly colours: Colours;
  readonly narrowing: Narrowing;
  readonly host: ScreenHost;
  /** Asked for once, and waited for by nobody: the prompt is there first. Undefined where there is none. */
  readonly history: () => Promise<InputHistory | undefined>;
  /** What an item of the chat unfolds into. Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
}

/** A chat in a terminal. Its lines stay in the terminal's scrollback, before and after. */
export interface Screen extends ChatUi {
  start(): void;
  /** Leaves the terminal as it was found, below what was said. Must not reject, and may be called twice. */
  stop(): Promise<void>;
  /** Lines of a statusline command, styled and printable; none takes them away. */
  setStatusline(lines: readonly string[]): void;
  /** What is typed and not sent. */
  readonly typed: string;
  /** Which of the servers that a project defines may be used; in their order. */
  approve(ask: ApproveAsk, signal: AbortSignal): Promise<readonly ServerDecision[]>;
  /** Whether the project's own settings count. */
  trust(ask: TrustAsk, signal: AbortSignal): Promise<TrustDecision>;
}
