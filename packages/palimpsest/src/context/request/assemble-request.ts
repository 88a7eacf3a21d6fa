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
      /** Its betas that do not affect the cache key. */
      readonly besideCache: readonly string[];
      readonly breakpoints: readonly Breakpoint[];
      /** Live: valid until the next append. */
      readonly messages: readonly Message[];
      readonly tokens: Tokens;
      /** What it will write to the cache; undefined if that is not modelled. */
      readonly marks: PlannedBreakpoints | undefined;
    }
  | { readonly kind: "not-sendable"; readonly why: NotSendable }
  | { readonly kind: "over-limit"; readonly tokens: Tokens; readonly limit: Tokens };

/** Assembles the next request of a conversation. The cost is what is new since the last one, and a copy of the message list. */
export function assembleRequest(conversation: Conversation, { settings, at, ending }: AssembleInput): AssembleOutcome {
  const { thresholds, outputTokensMax, policy } = settings;
  const { line, baseline, pieces, written, images, mark } = conversation;
  const next = line.next(ending === undefined ? {} : { ending });
  if (next.kind === "not-sendable") return next;
  const used = line.usedTokens;
  if (used >= thresholds.blocking) return { kind: "over-limit", tokens: used, limit: thresholds.blocking };
  const { messages } = images.guard(next.messages, { countMax: imagesMax(thresholds.window) });
  const { model, tools, systemBlocks: system, thinking } = baseline;
  const inventory = line.editable?.inventory;
  const markInput = { messages, policy, at, fixedTokens: line.fixedTokens, rates: ratesByLifetime(conversation.known) };
  const marks = inventory === undefined ? undefined : conversation.cache?.marks(inventory, markInput);
  const lifetimes = marks === undefined ? conversation.lifetimes : { fixed: marks.lifetime, rolling: marks.lifetime };
  const places = { written: written.places(messages), lifetimes, frontier: marks?.frontier };
  const breakpoints = mark({ tools, system, messages, ...places }, policy.marks);
  const isClearable = (tool: string): boolean => inventory?.isClearable(tool) === true;
  const server = serverOptions(conversation, { settings, isClearable, messages, withheld: next.withheld });
  const betas = [
    ...new Set([...baseline.betas, ...wireModel(model).betas, ...server.betas, ...messageBetas(messages)]),
  ];
  const maxTokens = Math.min(outputTokensMax.tokens, replyRoom(thresholds.window - used, line.uncountedTokens));
  const request: ModelRequest = {
    model,
    maxTokens,
    tools,
    system,
    messages: [...messages],
    breakpoints,
    thinking,
    params: { ...server.params, stream: true },
    pieces,
    betas,
  };
  const { besideCache } = server;
  return { kind: "request", request, besideCache, breakpoints, messages, tokens: tokens(used), marks };
}

/**
 * Some providers refuse a request that has no room for its whole reply. A margin therefore allows for uncounted content
 * to be larger than estimated, unless that would take more than half of the room from the reply. A small window may leave
 * less than `outputTokensMin`.
 */
function replyRoom(left: number, uncountedTokens: number): number {
  const margin = outputMarginTokens + uncountedTokens * uncountedMarginShare;
  const least = Math.min(left, Math.max(outputTokensMin, left / 2));
  return Math.max(1, Math.floor(Math.max(left - margin, least)));
}

interface RequestServerInput extends Pick<ServerOptionsInput, "isClearable" | "messages" | "withheld"> {
  readonly settings: ResolvedSettings;
}

/** The server options of a request of this conversation. A fork has those of its parent's rules. */
export function serverOptions(
  conversation: Conversation,
  { settings, ...input }: RequestServerInput,
): RequestServerOptions {
  const { cache, inheritedAsks, baseline, layers } = conversation;
  if (cache === undefined) return { ...(inheritedAsks ?? noServerOptions), besideCache: [] };
  const { policy, switches } = settings;
  const tools = baseline.tools.map(({ name }) => name);
  return cache.server.ask(layers, { policy, isOn: (name) => switches[name].value, tools, ...input });
}

/** Betas that the provider needs to understand the messages, whatever is turned on now. */
const messageBetas = (messages: readonly Message[]): readonly string[] => [
  ...(messages[0]?.content[0]?.type === "compaction" ? [serverSummaryBeta] : []),
  ...(holdMcpCall(messages) ? [mcpBeta] : []),
];

/** Do they hold calls that the provider itself made to an MCP server? Plain loops: it looks at every block of each request. */
function holdMcpCall(messages: readonly Message[]): boolean {
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const { type } of content) if (type === "mcp_tool_use" || type === "mcp_tool_result") return true;
  }
  return false;
}

const mcpBeta = "mcp-client-2025-11-20";

interface AssembleInput {
  readonly settings: ResolvedSettings;
  /** When it is sent. */
  readonly at: Millis;
  /** What it ends with; `user` if absent. */
  readonly ending?: "user" | "reply" | undefined;
}

export type AssembledRequest = Extract<AssembleOutcome, { kind: "request" }>;

/** The parts of the request that matter to the cache. */
export function toSentRequest(at: Millis, { conversation, assembled }: PendingRequest): SentRequest {
  const { model, tools, systemBlocks: system, thinking } = conversation.baseline;
  const {
    messages,
    request: { betas },
    marks,
    besideCache,
  } = assembled;
  const lifetime = marks?.lifetime ?? conversation.lifetimes.rolling;
  const cacheBetas = betas.filter((beta) => !besideCache.includes(beta));
  return { model, tools, system, thinking, betas: cacheBetas, messages, lifetime, at };
}

export interface PendingRequest {
  readonly conversation: Conversation;
  readonly assembled: AssembledRequest;
}

/**
 * The tokens that must be written to the cache again: everything after the first difference. For an edit the place of the
 * difference is not known, so all messages count.
 */
export function countRewrittenTokens({ messages, tokens: all }: AssembledRequest, cause: BreakCause): Tokens {
  if (cause.kind !== "message" && cause.kind !== "edit") return all;
  const changed = messages.slice(cause.kind === "edit" ? 0 : cause.message).flatMap(({ content }) => content);
  return tokens(
    Math.min(
      all,
      changed.reduce((sum, block) => sum + estimateBlock(block), 0),
    ),
  );
}
