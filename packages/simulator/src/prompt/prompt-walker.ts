import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { CacheControl } from "palimpsest/internal/schema/wire/cache-control";
import { shortHash } from "./canonical-block.ts";
import type { ModelTraits } from "./model-traits.ts";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { Level, PromptBlock } from "palimpsest/internal/cache/prompt";

export interface BlockFacts {
  readonly hash: string;
  readonly role: string;
  readonly type: string;
  readonly rawTokens: number;
}

interface SegmentPlace {
  readonly at: number;
  readonly thinking: "stripped" | "judged";
  /** Undefined if the whole message is shown as it was sent. */
  readonly instead: BlockReplacements | undefined;
}

/** For each block of a message, what is shown in its place. */
export type BlockReplacements = readonly (WireBlock | "hidden" | undefined)[];

/** The blocks of one message, valid again if it stands after the same chain in the same place. */
export interface Segment extends SegmentPlace {
  readonly chainBefore: string;
  readonly boundBefore: string | undefined;
  readonly bound: string | undefined;
  readonly tokensBefore: number;
  readonly speakerBefore: string;
  readonly speaker: string;
  /** Whether nothing of the speaker's turn has been shown so far. */
  readonly newSpeaker: boolean;
  readonly hasTools: boolean;
  /** Tokens for the presence of tools, if its first block carries them. */
  readonly toolTokensBefore: number;
  readonly factor: number;
  readonly blocks: readonly PromptBlock[];
}

interface AddedBlock extends BlockFacts {
  readonly level: Level;
  readonly path: string;
  readonly marker: CacheControl | null | undefined;
  /** Hash of what was sent in its place, if that is something else. */
  readonly sentHash?: string;
  /** What is shown, if it is not what was sent. */
  readonly shown?: WireBlock;
  /** Tokens of thinking whose text is not shown. */
  readonly hiddenTokens?: number;
}

/** Overhead of a turn beyond its content. */
const turnTokens = 3;

/**
 * Builds a prompt from a request's blocks. It keeps two hashes: `chain` of what the model is shown, by which the cache
 * knows a prefix, and `boundChain` of what was sent, to which thinking is bound. They are equal until something that
 * was sent is shown differently or not at all.
 */
export class PromptWalker {
  readonly #blocks: PromptBlock[] = [];
  readonly #traits: ModelTraits;
  #speaker = "";
  #newSpeaker = false;
  #hasTools = false;
  /** What the presence of tools costs, once, with the next block. */
  #toolTokens = 0;
  /** Undefined as long as it is the same as `chain`. */
  #bound: string | undefined;
  chain = "";
  tokens = 0;

  constructor(traits: ModelTraits) {
    this.#traits = traits;
  }

  get boundChain(): string {
    return this.#bound ?? this.chain;
  }

  /** Records something that was sent but is not shown. */
  skip(sentHash: string): void {
    this.#bound = shortHash(this.boundChain + sentHash);
  }

  /** From here on thinking is bound to a past other than the one shown: the one that a compaction replaces. */
  bindTo(chain: string): void {
    this.#bound = chain;
  }

  /** From here on the model can call a tool. */
  bringTools(): void {
    if (this.#hasTools) return;
    this.#hasTools = true;
    this.#toolTokens = this.#traits.toolTokens.auto;
  }

  speaker(role: string): void {
    if (role === this.#speaker) return;
    this.#newSpeaker = true;
    this.#speaker = role;
  }

  add({ hash, sentHash = hash, shown, level, path, type, rawTokens, marker, hiddenTokens = 0 }: AddedBlock): void {
    // Not on thinking, which a count leaves out.
    const opens = level === "messages" && this.#newSpeaker && !type.endsWith("thinking");
    const turn = opens ? turnTokens : 0;
    if (opens) this.#newSpeaker = false;
    const tokens = Math.ceil(rawTokens * this.#traits.tokenizerFactor) + hiddenTokens + turn + this.#toolTokens;
    this.#toolTokens = 0;
    if (this.#bound !== undefined || sentHash !== hash) this.skip(sentHash);
    this.chain = shortHash(this.chain + hash);
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
      ...(shown === undefined ? {} : { shown }),
      ...(breakpoint === undefined ? {} : { breakpoint }),
    });
  }

  mark(): SegmentStart {
    const { chain, tokens } = this;
    const toolTokens = this.#toolTokens;
    return { count: this.#blocks.length, chain, bound: this.#bound, tokens, speaker: this.#speaker, toolTokens };
  }

  segmentSince(start: SegmentStart, place: SegmentPlace): Segment {
    return {
      ...place,
      chainBefore: start.chain,
      boundBefore: start.bound,
      bound: this.#bound,
      tokensBefore: start.tokens,
      speakerBefore: start.speaker,
      speaker: this.#speaker,
      newSpeaker: this.#newSpeaker,
      hasTools: this.#hasTools,
      toolTokensBefore: start.toolTokens,
      factor: this.#traits.tokenizerFactor,
      blocks: this.#blocks.slice(start.count),
    };
  }

  findSegment(segments: readonly Segment[], place: SegmentPlace): Segment | undefined {
    for (const segment of segments) if (this.#fits(segment, place)) return segment;
    return undefined;
  }

  #fits(segment: Segment, place: SegmentPlace): boolean {
    return (
      segment.at === place.at &&
      segment.thinking === place.thinking &&
      segment.chainBefore === this.chain &&
      segment.boundBefore === this.#bound &&
      segment.tokensBefore === this.tokens &&
      segment.speakerBefore === this.#speaker &&
      segment.toolTokensBefore === this.#toolTokens &&
      segment.factor === this.#traits.tokenizerFactor &&
      isSameReplacement(segment.instead, place.instead)
    );
  }

  append({ blocks, speaker, newSpeaker, hasTools, bound }: Segment): void {
    for (const block of blocks) this.#blocks.push(block);
    this.#speaker = speaker;
    this.#newSpeaker = newSpeaker;
    this.#hasTools = hasTools;
    this.#bound = bound;
    const last = blocks.at(-1);
    if (last === undefined) return;
    this.#toolTokens = 0;
    this.chain = last.chain;
    this.tokens = last.tokensUpTo;
  }

  finishBlocks(path: string | undefined, lifetime: Lifetime): readonly PromptBlock[] {
    const at = path === undefined ? -1 : this.#blocks.findLastIndex((block) => block.path === path);
    const block = this.#blocks[at];
    if (block !== undefined) this.#blocks[at] = { ...block, breakpoint: lifetime };
    return withServerResults(this.#blocks);
  }
}

interface SegmentStart {
  readonly count: number;
  readonly chain: string;
  readonly bound: string | undefined;
  readonly tokens: number;
  readonly speaker: string;
  readonly toolTokens: number;
}

/** Placeholders are the same objects from request to request. */
const isSameReplacement = (one: BlockReplacements | undefined, other: BlockReplacements | undefined): boolean =>
  one === other || (one?.length === other?.length && one?.every((shown, at) => shown === other?.[at]) === true);

/** If a request asks for caching at all, the API marks every result of a server tool by itself. */
function withServerResults(blocks: PromptBlock[]): readonly PromptBlock[] {
  if (!blocks.some(({ breakpoint }) => breakpoint !== undefined)) return blocks;
  return blocks.some(isUnmarkedServerResult)
    ? blocks.map((block) => (isUnmarkedServerResult(block) ? { ...block, breakpoint: "5m" } : block))
    : blocks;
}

const isUnmarkedServerResult = ({ type, breakpoint }: PromptBlock): boolean =>
  breakpoint === undefined && type !== "tool_result" && type.endsWith("_tool_result");
