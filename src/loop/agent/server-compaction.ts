import type { Message } from "../../schema/block.ts";
import { serverSummaryBeta } from "../../schema/server-summary.ts";
import type { Numbers } from "../../settings/numbers.ts";
import type { Conversation } from "./conversation.ts";
import type { ServerAsks } from "./server-asks.ts";

/**
 * Whether the provider may be asked for the summary of this conversation: somebody turned it on, the policy compacts, and
 * the model offers it. Valid once `offersOf` has asked.
 */
export const canServerCompact = ({ cache }: Pick<Conversation, "cache">, { policy, switches }: Numbers): boolean =>
  switches["compact.server"].value && policy.compact !== undefined && cache?.offers?.has("compaction") === true;

/**
 * With every request of a conversation that the provider may compact: betas are part of what its cache is found by, so
 * that one of the compaction's alone would read nothing. Nothing else is asked beside it: edits can't be combined with it.
 */
export const serverCompactionAsks: ServerAsks = { params: {}, betas: [serverSummaryBeta] };

/** Betas without which the provider does not know what the messages hold, whatever is turned on by now. */
export const betasOf = (messages: readonly Message[]): readonly string[] => [
  ...(messages[0]?.content[0]?.type === "compaction" ? [serverSummaryBeta] : []),
  ...(messages.some(holdsMcpCall) ? [mcpBeta] : []),
];

/** Calls that the provider itself made of a tool server, recorded where it was asked to. */
const holdsMcpCall = ({ role, content }: Message): boolean =>
  role === "assistant" && content.some(({ type }) => type === "mcp_tool_use" || type === "mcp_tool_result");

const mcpBeta = "mcp-client-2025-11-20";
