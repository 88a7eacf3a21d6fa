/** The public names of `palimpsest/loop`: a turn with tools, and its forks. */
export type { AgentDeps } from "../context/deps.ts";
export type { ConversationContext } from "../context/conversation.ts";
export { ConversationForks } from "./conversation-forks.ts";
export { runTurn, type TurnInput } from "./run-turn.ts";
