import type { Slashed } from "../../tui/slash/parse.ts";
import type { ChatCommandContext, ChatCommandOutcome } from "../chat-command.ts";

export type SlashedCommand = Extract<Slashed, { kind: "command" }>;

/** Expected failure is told to the person; what is thrown is a bug or the machine's refusal. */
export type ChatCommand = (slashed: SlashedCommand, chat: ChatCommandContext) => Promise<ChatCommandOutcome>;

/** The chat goes on as it is. */
export const stay: ChatCommandOutcome = { kind: "stay" };
