import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import type { CacheControl } from "palimpsest/internal/schema/wire/cache-control";
import type { ReplyBlock } from "palimpsest/internal/schema/wire/reply-message";
import type { CountRequest, MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { canonicalBlock, canonicalTool, shortHash } from "./canonical-block.ts";
import { type CompactionBlock, isFailedCompaction } from "../compaction/compaction-block.ts";
import type { ModelTraits } from "./model-traits.ts";
import type { Prompt, Level } from "palimpsest/internal/cache/prompt";
import { type BlockFacts, type Segment, type BlockReplacements, PromptWalker } from "./prompt-walker.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import { knownBlocksMax, segmentsPerMessageMax } from "../limits.ts";
import type { Refusal } from "../refusal.ts";
import { isBefore, type RequestRendition } from "./request-rendition.ts";
import { countBlockTokens, countTokens, countToolTokens } from "./count-tokens.ts";
import { messageParameters } from "./prompt-parameters.ts";

/** A thinking block that is being added to the prompt, and the hash of everything that was sent before it. */
export interface ThinkingPlace {
  readonly block: Extract<WireBlock, { type: "thinking" | "redacted_thinking" }>;
  readonly path: string;
  readonly chainBefore: string;
}

/** `hiddenTokens`: for thinking whose text was left out of the reply and exists only in its signature. */
export type ThinkingVerdict =
  | { readonly kind: "kept"; readonly hiddenTokens: number }
  | { readonly kind: "dropped" }
  | Refusal;

interface PromptInput extends SaltInput {
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  /** Path of the block that the top-level `cache_control` marks. */
  readonly automatic: string | undefined;
  judgeThinking(place: ThinkingPlace): ThinkingVerdict;
  /** Absent if everything is shown as it was sent. */
  readonly rendering?: RequestRendition | undefined;
  /**
   * The past that thinking after a compaction is bound to. `header`: hash of the tools and the system prompt before it.
   */
  boundBehind(block: CompactionBlock, header: string): string;
}

type PromptOutcome = { readonly kind: "prompt"; readonly prompt: Prompt } | Refusal;

/**
 * Turns requests into prompts. A block that was seen before costs a lookup: by identity for callers in the same
 * process, which send the same message objects again; by its hash for callers over HTTP.
 */
export class PromptReader {
  readonly #tokensByHash = new LruMap<string, number>(knownBlocksMax);
  readonly #factsByBlock = new WeakMap<object, BlockFacts>();
  /** The last readings, newest first: an edited request is read as it was sent and again as it is shown. */
  readonly #segmentsByMessage = new WeakMap<object, readonly Segment[]>();
  /** Blocks that had to be hashed because they were not known by identity. */
  hashed = 0;

  read(inputs: PromptInput): PromptOutcome {
    const { request, traits } = inputs;
    const walk = new PromptWalker(traits);
    if ((request.tools ?? []).length > 0) walk.bringTools();
    for (const [at, tool] of (request.tools ?? []).entries()) {
      if (tool.defer_loading === true || isWebTool(tool)) continue;
      walk.add({ ...this.#tool(tool), level: "tools", path: `tools.${at}`, marker: tool.cache_control });
    }
    // Switching these on or off does not affect the cached tools: they stand between tools and system.
    for (const [at, tool] of (request.tools ?? []).entries())
      if (isWebTool(tool))
        walk.add({ ...this.#tool(tool), level: "system", path: `tools.${at}`, marker: tool.cache_control });
    for (const [at, block] of systemBlocks(request.system).entries())
      walk.add({ ...this.#facts(block, "system"), level: "system", path: `system.${at}`, marker: block.cache_control });
    const refused = this.#messages(walk, inputs);
    if (refused !== undefined) return refused;
    const blocks = walk.finishBlocks(inputs.automatic, request.cache_control?.ttl ?? "5m");
    const from = inputs.rendering?.from?.message ?? 0;
    const shown = from === 0 ? request : { ...request, messages: request.messages.slice(from) };
    const forced = request.tool_choice?.type === "any" || request.tool_choice?.type === "tool";
    const extra = forced ? Math.max(0, traits.toolTokens.forced - traits.toolTokens.auto) : 0;
    return {
      kind: "prompt",
      prompt: {
        blocks,
        tokens: walk.tokens + extra,
        boundChain: walk.boundChain,
        salts: promptSalts({ ...inputs, request: shown }),
      },
    };
  }

  #messages(walk: PromptWalker, inputs: PromptInput): Refusal | undefined {
    const { request, traits, rendering } = inputs;
    const { messages } = request;
    const header = walk.chain;
    const strippedBefore = traits.oldThinking === "stripped" ? lastUserSpeakingAt(messages) : -1;
    for (let at = rendering?.from?.message ?? 0; at < messages.length; at += 1) {
      const message = messages[at];
      if (message === undefined) break;
      const thinking = at < strippedBefore ? "stripped" : "judged";
      const instead = rendering?.touched.has(at) === true ? findReplacements(message, { at, rendering }) : undefined;
      const place = { at, thinking, instead } as const;
      const segments = this.#segmentsByMessage.get(message) ?? noSegments;
      const known = walk.findSegment(segments, place);
      if (known !== undefined) {
        walk.append(known);
        continue;
      }
      const from = walk.mark();
      const outcome = this.#message(walk, { message, at, thinking, inputs, header });
      if (typeof outcome === "object") return outcome;
      if (outcome === "special") continue;
      const older = segments.slice(0, segmentsPerMessageMax - 1);
      this.#segmentsByMessage.set(message, [walk.segmentSince(from, place), ...older]);
    }
    return undefined;
  }

  /** `special`: the verdict depends on more than the message, so the message is walked anew each time. */
  #message(walk: PromptWalker, place: MessagePlace): "plain" | "special" | Refusal {
    const { message, at, inputs } = place;
    const { rendering } = inputs;
    let outcome: "plain" | "special" = "plain";
    walk.speaker(message.role);
    const author = blockAuthor(message);
    for (const [index, block] of contentBlocks(message.content).entries()) {
      if (rendering !== undefined && isBefore({ message: at, block: index }, rendering)) continue;
      const path = `messages.${at}.content.${index}`;
      if (block.type === "thinking" || block.type === "redacted_thinking") {
        outcome = "special";
        const refused = this.#thinking(walk, { ...place, block, path });
        if (refused !== undefined) return refused;
        continue;
      }
      if (block.type === "compaction") {
        outcome = "special";
        this.#compaction(walk, { ...place, block, path });
        continue;
      }
      const sent = this.#facts(block, author);
      const shown = rendering?.shownByPath.get(path) ?? block;
      if (shown === "hidden") {
        walk.skip(sent.hash);
        continue;
      }
      if (shown.type === "tool_addition" && definesTool(shown)) walk.bringTools();
      const instead = shown === block ? {} : { ...this.#facts(shown, author), shown };
      walk.add({ ...sent, sentHash: sent.hash, ...instead, level: "messages", path, marker: findMarker(block) });
    }
    return outcome;
  }

  #thinking(walk: PromptWalker, { block, path, message, thinking, inputs }: ThinkingInMessage): Refusal | undefined {
    // Judged even if it is not shown: a wrong signature is refused anywhere.
    const verdict = inputs.judgeThinking({ block, path, chainBefore: walk.boundChain });
    if (verdict.kind === "refused") return verdict;
    if (thinking === "stripped" || verdict.kind === "dropped") return undefined;
    const facts = this.#facts(block, message.role);
    if (inputs.rendering?.shownByPath.get(path) === "hidden") walk.skip(facts.hash);
    else walk.add({ ...facts, level: "messages", path, marker: undefined, hiddenTokens: verdict.hiddenTokens });
    return undefined;
  }

  #compaction(walk: PromptWalker, { block, path, message, inputs, header }: CompactionInMessage): void {
    if (isFailedCompaction(block)) return;
    const shown = inputs.rendering?.shownByPath.get(path);
    const instead = shown === undefined || shown === "hidden" ? {} : { ...this.#facts(shown, message.role), shown };
    if (block.tool_changes?.some(definesTool) === true) walk.bringTools();
    const facts = this.#facts(block, message.role);
    walk.add({ ...facts, ...instead, level: "messages", path, marker: block.cache_control });
    walk.bindTo(inputs.boundBehind(block, header));
  }

  #facts(block: WireBlock, role: string): BlockFacts {
    const known = this.#factsByBlock.get(block);
    if (known !== undefined && known.role === role) return known;
    const hash = shortHash(`${role}:${canonicalBlock(block)}`);
    const facts = { hash, role, type: block.type, rawTokens: this.#tokens(hash, () => countBlockTokens(block)) };
    this.hashed += 1;
    this.#factsByBlock.set(block, facts);
    return facts;
  }

  #tool(tool: WireTool): BlockFacts {
    const known = this.#factsByBlock.get(tool);
    if (known !== undefined) return known;
    const hash = shortHash(canonicalTool(tool));
    const facts = { hash, role: "tool", type: "tool", rawTokens: this.#tokens(hash, () => countToolTokens(tool)) };
    this.hashed += 1;
    this.#factsByBlock.set(tool, facts);
    return facts;
  }

  #tokens(hash: string, count: () => number): number {
    const known = this.#tokensByHash.get(hash);
    if (known !== undefined) return known;
    const counted = count();
    this.#tokensByHash.set(hash, counted);
    return counted;
  }
}

/**
 * What one reply would add to the chain, block by block: thinking in the middle of a reply is bound to the part of the
 * reply before it.
 */
export const chainAfter = (chain: string, block: ReplyBlock): string =>
  shortHash(chain + shortHash(`assistant:${canonicalBlock(block)}`));

/** Whether the user speaks in a message: it holds more than results. */
export const isUserSpeaking = ({ role, content }: WireMessage): boolean =>
  role === "user" && (typeof content === "string" || content.some(({ type }) => type !== "tool_result"));

/** What a count leaves out: thinking before the newest message in which the user speaks. */
export function earlierThinkingTokens({ blocks }: Prompt, messages: readonly WireMessage[]): number {
  const lastUserAt = lastUserSpeakingAt(messages);
  return blocks
    .filter(({ type, path }) => type.endsWith("thinking") && Number(path.split(".")[1]) < lastUserAt)
    .reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tokens of a text for one model. */
export const countModelTokens = (text: string, { tokenizerFactor }: ModelTraits): number =>
  Math.ceil(countTokens(text) * tokenizerFactor);

interface MessagePlace {
  readonly message: WireMessage;
  readonly at: number;
  readonly thinking: "stripped" | "judged";
  readonly inputs: PromptInput;
  /** Hash of tools and system prompt. */
  readonly header: string;
}

interface ThinkingInMessage extends MessagePlace {
  readonly block: ThinkingPlace["block"];
  readonly path: string;
}

interface CompactionInMessage extends MessagePlace {
  readonly block: CompactionBlock;
  readonly path: string;
}

const isWebTool = ({ type }: WireTool): boolean => typeof type === "string" && /^web_(?:search|fetch)_\d/.test(type);

const systemBlocks = (system: MessagesRequest["system"]): readonly Extract<WireBlock, { type: "text" }>[] =>
  typeof system === "string" ? (system === "" ? [] : [{ type: "text", text: system }]) : (system ?? []);

/** A string is short for one text block. */
const contentBlocks = (content: WireMessage["content"]): readonly WireBlock[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** An effort that a message sets is in force from there on, so it is part of the block's identity. */
const blockAuthor = ({ role, output_config: config }: WireMessage): string =>
  config?.effort === null || config?.effort === undefined ? role : `${role}, ${config.effort} effort`;

/**
 * A marker on a part of a result or on a definition marks the block that holds it: parts have no position of their own.
 */
function findMarker(block: WireBlock): CacheControl | null | undefined {
  if (block.type === "thinking" || block.type === "redacted_thinking") return undefined;
  if (block.cache_control !== null && block.cache_control !== undefined) return block.cache_control;
  if (block.type === "tool_addition")
    return block.tool.type === "tool_definition" ? block.tool.definition.cache_control : undefined;
  if (block.type !== "tool_result" || typeof block.content === "string") return undefined;
  const marked = block.content?.findLast(
    (part) => part.type !== "browser_state" && part.cache_control !== null && part.cache_control !== undefined,
  );
  return marked?.type === "browser_state" ? undefined : marked?.cache_control;
}

const noSegments: readonly Segment[] = [];

const definesTool = ({ tool }: ToolChange): boolean => tool.type === "tool_definition";

const findReplacements = (
  { content }: WireMessage,
  { at, rendering }: { readonly at: number; readonly rendering: RequestRendition },
): BlockReplacements =>
  contentBlocks(content).map((_block, index) => rendering.shownByPath.get(`messages.${at}.content.${index}`));

const lastUserSpeakingAt = (messages: readonly WireMessage[]): number => messages.findLastIndex(isUserSpeaking);

interface SaltInput {
  readonly request: MessagesRequest | CountRequest;
  /** The registry's id: aliases of one model share its cache. */
  readonly modelId: string;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

/**
 * The invalidation table: a change of a value named at a level gives everything from that level on another cache entry.
 * Tools themselves, web tools and the system prompt are blocks and need no salt.
 */
function promptSalts({ request, modelId, workspace, betas }: SaltInput): Readonly<Record<Level, string>> {
  const tools = [workspace, modelId];
  const { hasCitations, images } = tallyContent(request);
  const system = [...tools, request.speed ?? "standard", hasCitations];
  const parameters = messageParameters(request, betas);
  const messages = [
    ...system,
    parameters.tool_choice,
    images,
    parameters.thinking,
    request.output_config?.effort ?? "high",
    request.output_config?.format ?? request.output_format ?? null,
    request.output_config?.task_budget ?? null,
    parameters.context_management,
    parameters.betas,
  ];
  return { tools: salt(tools), system: salt(system), messages: salt(messages) };
}

const salt = (parts: readonly unknown[]): string => shortHash(JSON.stringify(parts));

interface ContentTally {
  hasCitations: boolean;
  /** Adding or removing an image anywhere changes the prompt for all messages. */
  images: number;
}

/**
 * Counts blocks, and parts of results and documents, wherever they stand: in one pass, because a long conversation has
 * thousands.
 */
function tallyContent({ messages }: MessagesRequest | CountRequest): Readonly<ContentTally> {
  const tally: ContentTally = { hasCitations: false, images: 0 };
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const block of content) addTo(tally, block);
  }
  return tally;
}

function addTo(tally: ContentTally, part: WireBlock | WireResultPart): void {
  if (part.type === "image") tally.images += 1;
  if (part.type === "tool_result" && typeof part.content === "object")
    for (const inner of part.content) addTo(tally, inner);
  if (part.type !== "document" && part.type !== "search_result") return;
  if (part.citations?.enabled === true) tally.hasCitations = true;
  if (part.type === "document" && part.source.type === "content" && typeof part.source.content === "object")
    for (const inner of part.source.content) addTo(tally, inner);
}
