import type { SessionId } from "palimpsest/internal/schema/brand";
import type { ChatHandlers, ChatUi } from "../tui/chat-ui.ts";
import type { TrustAsk } from "../agent/pending-trust.ts";
import type { ApproveAsk, ServerDecision } from "../tui/dialog/approve.ts";
import type { TrustDecision } from "../tui/dialog/trust.ts";

/** Who shows a chat, from its first line to its last. */
export interface ChatFront extends ChatUi {
  start(): void;
  /** Leaves the terminal as it was found. Must not reject. */
  stop(): Promise<void>;
  /** Lines of a statusline command, styled and printable; none takes them away. */
  setStatusline?(lines: readonly string[]): void;
  /** What is typed and not sent; absent where nobody can tell. */
  readonly typed?: string;
  /** Which of the servers that a project defines may be used; in their order. Absent where nobody is there to be asked. */
  approve?(ask: ApproveAsk, signal: AbortSignal): Promise<readonly ServerDecision[]>;
  /** Whether the project's own settings count. Absent where nobody is there to be asked. */
  trust?(ask: TrustAsk, signal: AbortSignal): Promise<TrustDecision>;
}

export interface FrontHandlers extends ChatHandlers {
  /** Resolves when nothing runs: at once, where nothing does. */
  rest(): Promise<void>;
  /** That is open now. */
  readonly session: SessionId;
}
