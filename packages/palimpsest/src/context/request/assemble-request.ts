import type { Breakpoint } from "../../cache/breakpoint.ts";
import type { BreakCause, SentRequest } from "../../cache/break-detector.ts";
import { imagesMax } from "../../layers/1-offload/limits.ts";
import type { RequestServerOptions } from "../../layers/server/known-server.ts";
import { noServerOptions, type ServerOptionsInput } from "../../layers/server/server-use.ts";
import type { ModelRequest } from "../../ports/model-port.ts";
import { type Message, serverSummaryBeta } from "../../schema/block.ts";
import { type Millis, tokens, type Tokens } from "../../schema/brand.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { wireModel } from "../../tokens/known-models.ts";
import type { NotSendable } from "../../transcript/fold.ts";
import { outputMarginTokens, outputTokensMin, uncountedMarginShare } from "../limits.ts";
import type { Conversation } from "../conversation.ts";
import type { PlannedBreakpoints } from "../../cache/breakpoint-planner.ts";
import { ratesByLifetime } from "../../cache/cache-rates.ts";

export type AssembleOutcome =
  | {
      readonly kind: "request";
      readonly request: ModelRequest;
      /** Betas of it that are no part of what the cache knows a prefix by. */
      readonly besideCache: readonly string[];
      readonly breakpoints: readonly Breakpoint[];
      /** Live: valid until the next append. */
      readonly messages: readonly Message[];
      readonly tokens: Tokens;
      /** What it will leave in the cache; undefined where nobody reckons with that. */
      readonly marks: PlannedBreakpoints | undefined;
    }
  | { readonly kind: "not-sendable"; readonly why: NotSendable }
  | { readonly kind: "over-limit"; readonly tokens: Tokens; readonly limit: Tokens };

/** The next request of a conversation. Costs what is new since the last one, and a copy of the list of messages. */
export function assembleRequest(conversation: Conversation, { numbers, at }: AssembleInput): AssembleOutcome {
  const { thresholds, outputTokensMax, policy } = numbers;
  const { line, baseline, pieces, written, images, mark } = conversation;
  const next = line.next();
  if (next.kind === "not-sendable") return next;
  const used = line.usedTokens;
  if (used >= thresholds.blocking) return { kind: "over-limit", tokens: used, limit: thresholds.blocking };
  const { messages } = images.guard(next.messages, { countMax: imagesMax(thresholds.window) });
  const { model, tools, systemBlocks: system, thinking } = baseline;
  const inventory = line.editable?.inventory;
  const marking = { messages, policy, at, fixedTokens: line.fixedTokens, rates: ratesByLifetime(conversation.known) };
  const marks = inventory === undefined ? undefined : conversation.cache?.marks(inventory, marking);
  const lifetimes = marks === undefined ? conversation.lifetimes : { fixed: marks.lifetime, rolling: marks.lifetime };
  const places = { written: written.places(messages), lifetimes, frontier: marks?.frontier };
  const breakpoints = mark({ tools, system, messages, ...places }, policy.marks);
  const isClearable = (tool: string): boolean => inventory?.isClearable(tool) === true;
  const asks = serverAsks(conversation, { numbers, isClearable, messages, withheld: next.withheld });
  const betas = [...new Set([...baseline.betas, ...wireModel(model).betas, ...asks.betas, ...messageBetas(messages)])];
  const maxTokens = Math.min(outputTokensMax.tokens, replyRoom(thresholds.window - used, line.uncountedTokens));
  const request: ModelRequest = {
    model,
    maxTokens,
    tools,
    system,
    messages: [...messages],
    breakpoints,
    thinking,
    params: { ...asks.params, stream: true },
    pieces,
    betas,
  };
  const { besideCache } = asks;
  return { kind: "request", request, besideCache, breakpoints, messages, tokens: tokens(used), marks };
}

/**
 * Some providers refuse a request that has no room for all of its reply. So what nobody has counted may turn out to be larger,
 * as far as that leaves the reply half of the room; and in a small window less is left than is worth asking for.
 */
function replyRoom(left: number, uncountedTokens: number): number {
  const margin = outputMarginTokens + uncountedTokens * uncountedMarginShare;
  const least = Math.min(left, Math.max(outputTokensMin, left / 2));
  return Math.max(1, Math.floor(Math.max(left - margin, least)));
}

interface ServerAskInput extends Pick<ServerOptionsInput, "isClearable" | "messages" | "withheld"> {
  readonly numbers: ResolvedSettings;
}

/** What a request of this conversation asks of the server besides a reply. A fork asks what its parent asks by rule. */
export function serverAsks(conversation: Conversation, { numbers, ...asking }: ServerAskInput): RequestServerOptions {
  const { cache, inheritedAsks, baseline, layers } = conversation;
  if (cache === undefined) return { ...(inheritedAsks ?? noServerOptions), besideCache: [] };
  const { policy, switches } = numbers;
  const tools = baseline.tools.map(({ name }) => name);
  return cache.server.ask(layers, { policy, isOn: (name) => switches[name].value, tools, ...asking });
}

/** Betas without which the provider does not know what the messages hold, whatever is turned on by now. */
const messageBetas = (messages: readonly Message[]): readonly string[] => [
  ...(messages[0]?.content[0]?.type === "compaction" ? [serverSummaryBeta] : []),
  ...(messages.some(holdsMcpCall) ? [mcpBeta] : []),
];

/** Calls that the provider itself made of a tool server, recorded where it was asked to. */
const holdsMcpCall = ({ role, content }: Message): boolean =>
  role === "assistant" && content.some(({ type }) => type === "mcp_tool_use" || type === "mcp_tool_result");

const mcpBeta = "mcp-client-2025-11-20";

interface AssembleInput {
  readonly numbers: ResolvedSettings;
  /** When it is sent. */
  readonly at: Millis;
}

export type AssembledRequest = Extract<AssembleOutcome, { kind: "request" }>;

/** The request as the cache sees it. */
export function toSentRequest(at: Millis, { conversation, assembled }: PendingRequest): SentRequest {
  const { model, tools, systemBlocks: system, thinking } = conversation.baseline;
  const {
    messages,
    request: { betas },
    marks,
    besideCache,
  } = assembled;
  const lifetime = marks?.lifetime ?? conversation.lifetimes.rolling;
  const known = betas.filter((beta) => !besideCache.includes(beta));
  return { model, tools, system, thinking, betas: known, messages, lifetime, at };
}

export interface PendingRequest {
  readonly conversation: Conversation;
  readonly assembled: AssembledRequest;
}

/** What has to be written again: everything behind the first difference. Which that is, an edit does not tell: all messages at most. */
export function countRewrittenTokens({ messages, tokens: all }: AssembledRequest, cause: BreakCause): Tokens {
  if (cause.kind !== "message" && cause.kind !== "edit") return all;
  const behind = messages.slice(cause.kind === "edit" ? 0 : cause.message).flatMap(({ content }) => content);
  return tokens(
    Math.min(
      all,
      behind.reduce((sum, block) => sum + estimateBlock(block), 0),
    ),
  );
}
