import type { CacheControl, WireBlock } from "../schema/wire/block.ts";
import type { ReplyBlock } from "../schema/wire/reply.ts";
import type { CountRequest, MessagesRequest, WireMessage, WireTool } from "../schema/wire/request.ts";
import { canonicalBlock, canonicalTool } from "./canonical.ts";
import { hashOf } from "./hash.ts";
import type { ModelTraits } from "./model-traits.ts";
import type { Level, Lifetime, Prompt, PromptBlock } from "./prompt.ts";
import { promptSalts, type SaltInputs } from "./prompt-salts.ts";
import { Recent } from "./recent.ts";
import { knownBlocksMax } from "./limits.ts";
import type { Refusal } from "./refusal.ts";
import { countBlockTokens, countTokens, countToolTokens } from "./tokenizer.ts";

/** A thinking block on its way into the prompt, and the hash of everything before it. */
export interface ThinkingPlace {
  readonly block: Extract<WireBlock, { type: "thinking" | "redacted_thinking" }>;
  readonly path: string;
  readonly chainBefore: string;
}

/** `hiddenTokens`: of thinking whose words were left out of the reply and stand in its signature alone. */
export type ThinkingVerdict =
  | { readonly kind: "kept"; readonly hiddenTokens: number }
  | { readonly kind: "dropped" }
  | Refusal;

export interface PromptInputs extends SaltInputs {
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  /** Path of the block that the top-level `cache_control` marks. */
  readonly automatic: string | undefined;
  judgeThinking(place: ThinkingPlace): ThinkingVerdict;
}

export type PromptOutcome = { readonly kind: "prompt"; readonly prompt: Prompt } | Refusal;

/**
 * Makes prompts of requests. A block that has been seen before costs a look-up: by identity for callers in the same
 * process, who send the same message objects again; by its hash for those that come over HTTP.
 */
export class PromptReader {
  readonly #tokensByHash = new Recent<string, number>(knownBlocksMax);
  readonly #factsByBlock = new WeakMap<object, BlockFacts>();
  readonly #segmentByMessage = new WeakMap<object, Segment>();
  /** Blocks that had to be hashed because they were not known by identity. */
  hashed = 0;

  read(inputs: PromptInputs): PromptOutcome {
    const { request, traits } = inputs;
    const walk = new Walk(inputs);
    for (const [at, tool] of (request.tools ?? []).entries()) {
      if (tool.defer_loading === true || isWebTool(tool)) continue;
      walk.add({ ...this.#tool(tool), level: "tools", path: `tools.${at}`, marker: tool.cache_control });
    }
    // Switching these on or off leaves the cached tools alone: they stand between tools and system.
    for (const [at, tool] of (request.tools ?? []).entries())
      if (isWebTool(tool))
        walk.add({ ...this.#tool(tool), level: "system", path: `tools.${at}`, marker: tool.cache_control });
    for (const [at, block] of systemBlocks(request.system).entries())
      walk.add({ ...this.#facts(block, "system"), level: "system", path: `system.${at}`, marker: block.cache_control });
    const refused = this.#messages(walk, inputs);
    if (refused !== undefined) return refused;
    const blocks = walk.marked(inputs.automatic, request.cache_control?.ttl ?? "5m");
    const forced = request.tool_choice?.type === "any" || request.tool_choice?.type === "tool";
    const extra = forced ? Math.max(0, traits.toolTokens.forced - traits.toolTokens.auto) : 0;
    return { kind: "prompt", prompt: { blocks, tokens: walk.tokens + extra, salts: promptSalts(inputs) } };
  }

  #messages(walk: Walk, inputs: PromptInputs): Refusal | undefined {
    const { messages } = inputs.request;
    const strippedBefore = inputs.traits.oldThinking === "stripped" ? lastPersonAt(messages) : -1;
    for (const [at, message] of messages.entries()) {
      const thinking = at < strippedBefore ? "stripped" : "judged";
      const known = this.#segmentByMessage.get(message);
      if (known !== undefined && walk.fits(known, { at, thinking })) {
        walk.append(known);
        continue;
      }
      const from = walk.mark();
      const outcome = this.#message(walk, { message, at, thinking, inputs });
      if (typeof outcome === "object") return outcome;
      if (outcome === "plain") this.#segmentByMessage.set(message, walk.since(from, { at, thinking }));
    }
    return undefined;
  }

  /** `thinking`: the verdict on it depends on model and request, so the message is judged anew each time. */
  #message(walk: Walk, { message, at, thinking, inputs }: MessagePlace): "plain" | "thinking" | Refusal {
    let outcome: "plain" | "thinking" = "plain";
    walk.speaker(message.role);
    const author = authorOf(message);
    for (const [place, block] of contentBlocks(message.content).entries()) {
      const path = `messages.${at}.content.${place}`;
      if (block.type === "thinking" || block.type === "redacted_thinking") {
        // Also where it is not shown: a signature that is wrong is refused wherever it stands.
        outcome = "thinking";
        const verdict = inputs.judgeThinking({ block, path, chainBefore: walk.chain });
        if (verdict.kind === "refused") return verdict;
        if (thinking === "stripped" || verdict.kind === "dropped") continue;
        walk.add(
          { ...this.#facts(block, message.role), level: "messages", path, marker: undefined },
          verdict.hiddenTokens,
        );
        continue;
      }
      walk.add({ ...this.#facts(block, author), level: "messages", path, marker: markerOf(block) });
    }
    return outcome;
  }

  #facts(block: WireBlock, role: string): BlockFacts {
    const known = this.#factsByBlock.get(block);
    if (known !== undefined && known.role === role) return known;
    const hash = hashOf(`${role}:${canonicalBlock(block)}`);
    const facts = { hash, role, type: block.type, rawTokens: this.#tokens(hash, () => countBlockTokens(block)) };
    this.hashed += 1;
    this.#factsByBlock.set(block, facts);
    return facts;
  }

  #tool(tool: WireTool): BlockFacts {
    const known = this.#factsByBlock.get(tool);
    if (known !== undefined) return known;
    const hash = hashOf(canonicalTool(tool));
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

/** What one reply would add to the chain, block by block: thinking made in the middle of a reply is bound to what the reply said before it. */
export const chainAfter = (chain: string, block: ReplyBlock): string =>
  hashOf(chain + hashOf(`assistant:${canonicalBlock(block)}`));

/** What a count leaves out: thinking before the newest message in which a person speaks. */
export function earlierThinkingTokens({ blocks }: Prompt, messages: readonly WireMessage[]): number {
  const person = lastPersonAt(messages);
  return blocks
    .filter(({ type, path }) => type.endsWith("thinking") && Number(path.split(".")[1]) < person)
    .reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tokens of a text for one model. */
export const modelTokens = (text: string, { tokenizerFactor }: ModelTraits): number =>
  Math.ceil(countTokens(text) * tokenizerFactor);

interface BlockFacts {
  readonly hash: string;
  readonly role: string;
  readonly type: string;
  readonly rawTokens: number;
}

interface MessagePlace {
  readonly message: WireMessage;
  readonly at: number;
  readonly thinking: "stripped" | "judged";
  readonly inputs: PromptInputs;
}

interface SegmentPlace {
  readonly at: number;
  readonly thinking: "stripped" | "judged";
}

/** The blocks of one message, valid again where it stands behind the same chain in the same place. */
interface Segment extends SegmentPlace {
  readonly chainBefore: string;
  readonly tokensBefore: number;
  readonly speakerBefore: string;
  readonly speaker: string;
  readonly factor: number;
  readonly blocks: readonly PromptBlock[];
}

interface Added extends BlockFacts {
  readonly level: Level;
  readonly path: string;
  readonly marker: CacheControl | null | undefined;
}

/** A turn costs a few tokens beyond its content. */
const turnTokens = 3;

class Walk {
  readonly #blocks: PromptBlock[] = [];
  readonly #traits: ModelTraits;
  #speaker = "";
  #newSpeaker = false;
  chain = "";
  tokens = 0;

  constructor({ traits }: PromptInputs) {
    this.#traits = traits;
  }

  speaker(role: string): void {
    this.#newSpeaker = role !== this.#speaker;
    this.#speaker = role;
  }

  add({ hash, level, path, type, rawTokens, marker }: Added, hiddenTokens = 0): void {
    // Not on thinking, which a count leaves out.
    const opens = level === "messages" && this.#newSpeaker && !type.endsWith("thinking");
    const turn = opens ? turnTokens : 0;
    const tools = type === "tool" && this.#blocks.length === 0 ? this.#traits.toolTokens.auto : 0;
    if (opens) this.#newSpeaker = false;
    const tokens = Math.ceil(rawTokens * this.#traits.tokenizerFactor) + hiddenTokens + turn + tools;
    this.chain = hashOf(this.chain + hash);
    this.tokens += tokens;
    const breakpoint = marker === null || marker === undefined ? undefined : (marker.ttl ?? "5m");
    this.#blocks.push({
      level,
      path,
      type,
      hash,
      chain: this.chain,
      tokens,
      tokensUpTo: this.tokens,
      ...(breakpoint === undefined ? {} : { breakpoint }),
    });
  }

  mark(): SegmentStart {
    return { count: this.#blocks.length, chain: this.chain, tokens: this.tokens, speaker: this.#speaker };
  }

  since(start: SegmentStart, place: SegmentPlace): Segment {
    return {
      ...place,
      chainBefore: start.chain,
      tokensBefore: start.tokens,
      speakerBefore: start.speaker,
      speaker: this.#speaker,
      factor: this.#traits.tokenizerFactor,
      blocks: this.#blocks.slice(start.count),
    };
  }

  fits(segment: Segment, place: SegmentPlace): boolean {
    return (
      segment.at === place.at &&
      segment.thinking === place.thinking &&
      segment.chainBefore === this.chain &&
      segment.tokensBefore === this.tokens &&
      segment.speakerBefore === this.#speaker &&
      segment.factor === this.#traits.tokenizerFactor
    );
  }

  append({ blocks, speaker }: Segment): void {
    for (const block of blocks) this.#blocks.push(block);
    this.#speaker = speaker;
    const last = blocks.at(-1);
    if (last === undefined) return;
    this.chain = last.chain;
    this.tokens = last.tokensUpTo;
  }

  marked(path: string | undefined, lifetime: Lifetime): readonly PromptBlock[] {
    const at = path === undefined ? -1 : this.#blocks.findLastIndex((block) => block.path === path);
    const block = this.#blocks[at];
    if (block !== undefined) this.#blocks[at] = { ...block, breakpoint: lifetime };
    return withServerResults(this.#blocks);
  }
}

interface SegmentStart {
  readonly count: number;
  readonly chain: string;
  readonly tokens: number;
  readonly speaker: string;
}

/** Where a request asks for caching at all, the API marks every result of a server tool by itself. */
function withServerResults(blocks: PromptBlock[]): readonly PromptBlock[] {
  if (!blocks.some(({ breakpoint }) => breakpoint !== undefined)) return blocks;
  return blocks.some(isUnmarkedServerResult)
    ? blocks.map((block) => (isUnmarkedServerResult(block) ? { ...block, breakpoint: "5m" } : block))
    : blocks;
}

const isUnmarkedServerResult = ({ type, breakpoint }: PromptBlock): boolean =>
  breakpoint === undefined && type !== "tool_result" && type.endsWith("_tool_result");

const isWebTool = ({ type }: WireTool): boolean => typeof type === "string" && /^web_(?:search|fetch)_\d/.test(type);

const systemBlocks = (system: MessagesRequest["system"]): readonly Extract<WireBlock, { type: "text" }>[] =>
  typeof system === "string" ? (system === "" ? [] : [{ type: "text", text: system }]) : (system ?? []);

/** A string is short for one text block. */
const contentBlocks = (content: WireMessage["content"]): readonly WireBlock[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Effort that a message sets holds from there on: it is part of what stands there. */
const authorOf = ({ role, output_config: config }: WireMessage): string =>
  config?.effort === null || config?.effort === undefined ? role : `${role}, ${config.effort} effort`;

/** A marker on a part of a result marks the result: parts have no position of their own. */
function markerOf(block: WireBlock): CacheControl | null | undefined {
  if (block.type === "thinking" || block.type === "redacted_thinking") return undefined;
  if (block.cache_control !== null && block.cache_control !== undefined) return block.cache_control;
  if (block.type !== "tool_result" || typeof block.content === "string") return undefined;
  const marked = block.content?.findLast(
    (part) => part.type !== "browser_state" && part.cache_control !== null && part.cache_control !== undefined,
  );
  return marked?.type === "browser_state" ? undefined : marked?.cache_control;
}

/** The newest message in which a person speaks: one that holds more than results. */
const lastPersonAt = (messages: readonly WireMessage[]): number =>
  messages.findLastIndex(
    ({ role, content }) =>
      role === "user" && (typeof content === "string" || content.some(({ type }) => type !== "tool_result")),
  );
