import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import type { FlagInput } from "../settings/flag-values.ts";
import type { ChatUi } from "../tui/chat-ui.ts";
import type { ChatAction } from "../tui/state/update-chat.ts";
import type { CommandContext } from "../program/command.ts";
import type { Answerer } from "../text/format.ts";
import type { SlashOutcome } from "../tui/slash/parse-slash.ts";

/** What a chat command may use. No turn runs meanwhile. */
export interface ChatCommandContext {
  /**
   * Environment, folder, styles and the command table. Its streams belong to the terminal and must not be written to.
   */
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly answerer: Answerer;
  readonly ui: ChatUi;
  /** Shows notices, printed lines and the events of a compaction in the chat. */
  readonly act: (act: ChatAction) => void;
  /** Aborted by Esc. */
  readonly signal: AbortSignal;
}

/** How the chat continues. */
export type ChatCommandOutcome =
  | { readonly kind: "stay" }
  /** This session is closed, and the chat continues with another, or with the same one under other flags. */
  | { readonly kind: "open"; readonly session: SessionChoice; readonly flags?: readonly FlagInput[] }
  | { readonly kind: "quit" };

export type SlashInput = Extract<SlashOutcome, { kind: "command" }>;

/** Reports expected failures to the user itself; it throws only for a bug or an error of the machine. */
export type ChatCommand = (slashed: SlashInput, chat: ChatCommandContext) => Promise<ChatCommandOutcome>;

/** The chat continues as it is. */
export const stay: ChatCommandOutcome = { kind: "stay" };
