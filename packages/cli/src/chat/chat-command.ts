import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import type { FlagInput } from "../settings/flag-values.ts";
import type { ChatUi } from "../tui/chat-ui.ts";
import type { ChatAction } from "../tui/state/update-chat.ts";
import type { CommandContext } from "../program/command.ts";
import type { Answerer } from "../text/format.ts";
import type { SlashOutcome } from "../tui/slash/parse-slash.ts";

/** What a command of the chat may touch. No turn runs meanwhile. */
export interface ChatCommandContext {
  /** Environment, folder, styles and the command table; its streams belong to the terminal and are not written to. */
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly answerer: Answerer;
  readonly ui: ChatUi;
  /** Notices, printed lines and the events of a compaction go into the chat by this. */
  readonly act: (act: ChatAction) => void;
  /** Raised by Esc. */
  readonly signal: AbortSignal;
}

/** What becomes of the chat. */
export type ChatCommandOutcome =
  | { readonly kind: "stay" }
  /** This session is closed, and the chat goes on with another, or with the same under other flags. */
  | { readonly kind: "open"; readonly session: SessionChoice; readonly flags?: readonly FlagInput[] }
  | { readonly kind: "quit" };

export type SlashInput = Extract<SlashOutcome, { kind: "command" }>;

/** Expected failure is told to the person; what is thrown is a bug or the machine's refusal. */
export type ChatCommand = (slashed: SlashInput, chat: ChatCommandContext) => Promise<ChatCommandOutcome>;

/** The chat goes on as it is. */
export const stay: ChatCommandOutcome = { kind: "stay" };
