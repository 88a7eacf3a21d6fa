import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import type { FlagInput } from "../settings/flags.ts";
import type { ChatUi } from "../tui/chat-ui.ts";
import type { ChatAct } from "../tui/state/chat-state.ts";
import type { CommandContext } from "../command.ts";
import type { Answerer } from "../compact/simulated.ts";

/** What a command of the chat may touch. No turn runs meanwhile. */
export interface ChatCommandContext {
  /** Environment, folder, styles and the command table; its streams belong to the terminal and are not written to. */
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly answerer: Answerer;
  readonly ui: ChatUi;
  /** Notices, printed lines and the events of a compaction go into the chat by this. */
  readonly act: (act: ChatAct) => void;
  /** Raised by Esc. */
  readonly signal: AbortSignal;
}

/** What becomes of the chat. */
export type ChatCommandOutcome =
  | { readonly kind: "stay" }
  /** This session is closed, and the chat goes on with another, or with the same under other flags. */
  | { readonly kind: "open"; readonly session: SessionChoice; readonly flags?: readonly FlagInput[] }
  | { readonly kind: "quit" };
