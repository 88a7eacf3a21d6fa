import type { Block } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../schema/brand.ts";
import { contextTokens, requestTokens, type Usage } from "../schema/usage.ts";
import type { Item } from "../transcript/item.ts";
import type { ShownInstead, ViewWatch } from "../transcript/watch.ts";
import type { Calibration } from "./calibration.ts";
import { addBytes, type ByteCounts, contentClasses, measureBlock, noBytes } from "./content.ts";
import { CategoryBytes, type CategoryCount } from "./categories.ts";
import { type Rates, tokensOf } from "./estimate.ts";
import {
  estimateFixedPart,
  type FixedBytes,
  type FixedFigure,
  type FixedPart,
  measureFixedPart,
  noFixedPart,
} from "./fixed-part.ts";

/**
 * The size of the context = what the provider said last + an estimate of what came since.
 *
 * The anchor is the newest reply that carries usage and stands behind the last change of structure. It is taken at the
 * reply's FIRST entry: results that interleave with the rest of the reply come after it. The reply itself is in the
 * usage's output. Edits behind the anchor count at once: what they hide is taken off, by the same estimate.
 * Without an anchor (a new session, or right behind a boundary) everything is estimated, on top of the fixed part
 * (system prompt, tools) that earlier anchors showed, or that is known where they showed none or too little.
 */
export interface ContextSize {
  readonly tokens: Tokens;
  /** `usage`: counted by the provider up to the anchor. `estimate`: nothing counted holds for this view. */
  readonly source: "usage" | "estimate";
  readonly anchor: EntryId | undefined;
  /** What of it is estimated. */
  readonly estimated: Tokens;
}

interface Anchor {
  readonly entry: EntryId;
  readonly reply: string;
  usage: Usage;
  /** What the view held when the request was sent, as far as it is not shown any more: edits behind the anchor. */
  readonly base: ByteCounts;
}

interface LearnedFixed {
  /** What the request had over the estimate of its conversation. */
  readonly tokens: number;
  /**
   * 0: the conversation was at most half of the request, so that an error of its estimate counts for little. From there
   * it grows with the conversation's share; 1: the estimate took up all of the request, and nothing was learned.
   */
  readonly blur: number;
}

export class TokenLedger implements ViewWatch {
  readonly #calibration: Calibration;
  /** Everything shown. */
  #shown = noBytes();
  /** Blocks of the anchor's own reply: its output, counted already. */
  #ofReply = noBytes();
  #anchor: Anchor | undefined;
  #learnedFixed: LearnedFixed;
  #fixedBytes: FixedBytes = measureFixedPart(noFixedPart);
  #countedFixed: FixedFigure | undefined;
  #structureAt = -1;
  #decided: { readonly since: number; readonly saved: ByteCounts }[] = [];
  #item: Item | undefined;
  readonly #byCategory = new CategoryBytes();

  constructor(calibration: Calibration, fixedTokens: Tokens = tokens(0)) {
    this.#calibration = calibration;
    this.#learnedFixed = { tokens: fixedTokens, blur: fixedTokens > 0 ? 0 : 1 };
  }

  get size(): ContextSize {
    const { rates } = this.#calibration;
    if (this.#anchor === undefined) {
      const total = tokens(this.fixedTokens + tokensOf(this.#shown, rates));
      return { tokens: total, source: "estimate", anchor: undefined, estimated: total };
    }
    const since = { ...this.#shown };
    addBytes(since, this.#anchor.base, -1);
    addBytes(since, this.#ofReply, -1);
    const counted = contextTokens(this.#anchor.usage);
    const estimated = growthOf(since, this.#calibration);
    // What was taken off can't have been more than what was there.
    const least = Math.min(counted, this.fixedTokens + tokensOf(this.#shown, this.#calibration.lowRates));
    const total = tokens(Math.round(Math.max(least, counted + estimated)));
    return { tokens: total, source: "usage", anchor: this.#anchor.entry, estimated };
  }

  /** The same with nothing taken from the provider's counts: what can be compared with a view that nobody has counted. */
  get estimate(): Tokens {
    return tokens(this.fixedTokens + tokensOf(this.#shown, this.#calibration.rates));
  }

  get rates(): Rates {
    return this.#calibration.rates;
  }

  get categories(): ReadonlyMap<string, CategoryCount> {
    return this.#byCategory.counts;
  }

  /**
   * Says what requests carry besides the view; `counted` where an exact counter has counted it. Of an estimate only the
   * bytes are kept: it is made anew as the rates are learned.
   */
  carries(part: FixedPart, counted?: FixedFigure): void {
    this.#fixedBytes = measureFixedPart(part);
    this.#countedFixed = counted?.counter === "estimate" ? undefined : counted;
  }

  /** What requests showed of the fixed part before anything that this ledger was told of. What it learned itself counts more. */
  showedFixed(fixedTokens: Tokens): void {
    if (this.#learnedFixed.tokens === 0) this.#learnedFixed = { tokens: fixedTokens, blur: 0 };
  }

  /** What is known of the fixed part, piece by piece. */
  get knownFixed(): FixedFigure {
    const { observations, rates } = this.#calibration;
    return this.#countedFixed ?? estimateFixedPart(this.#fixedBytes, observations === 0 ? undefined : rates);
  }

  /**
   * System prompt, tools and the like. What requests showed, where that is more than what is known: clients send what
   * nobody logs. Where it is less, an exact count beats it, since it rests on an estimate of the conversation; of two
   * estimates the known pieces weigh the more, the more the request was blurred.
   */
  get fixedTokens(): Tokens {
    const { tokens: learned, blur } = this.#learnedFixed;
    const known = this.knownFixed;
    if (learned >= known.tokens) return tokens(learned);
    if (known.counter !== "estimate") return known.tokens;
    return tokens(Math.round(learned + blur * (known.tokens - learned)));
  }

  /** `usage`: the provider's counts showed the fixed part. Otherwise the counter that the known pieces come from. */
  get fixedCountedBy(): string {
    const { tokens: learned, blur } = this.#learnedFixed;
    const known = this.knownFixed;
    if (learned >= known.tokens) return learned > 0 ? "usage" : known.counter;
    return known.counter === "estimate" && blur === 0 ? "usage" : known.counter;
  }

  reset(structureAt: number): void {
    this.#shown = noBytes();
    this.#ofReply = noBytes();
    this.#anchor = undefined;
    this.#decided = [];
    this.#byCategory.reset();
    this.#structureAt = structureAt;
  }

  item(item: Item): void {
    this.#item = item;
    if (item.usage === undefined || item.at <= this.#structureAt) return;
    const reply = item.messageId ?? item.entry;
    if (this.#anchor?.reply === reply) {
      if (item.usage.output > this.#anchor.usage.output) this.#anchor.usage = item.usage;
      return;
    }
    this.#drop(item.entry, reply, item.usage);
  }

  shown(block: Block, entry: EntryId, instead?: ShownInstead): void {
    const counts = measureBlock(block);
    addBytes(this.#shown, counts);
    this.#byCategory.add(block, counts, this.#item);
    if (this.#isOfReply(entry)) addBytes(this.#ofReply, counts);
    if (instead === undefined) return;
    const saved = measureBlock(instead.of);
    addBytes(saved, counts, -1);
    this.#decided.push({ since: instead.since, saved });
  }

  hidden(block: Block): void {
    const counts = measureBlock(block);
    addBytes(this.#shown, counts, -1);
    this.#byCategory.remove(block, counts);
  }

  /** The provider counts it no more, and neither do we: else every count behind it would seem too small for what it counts. */
  deletedInCache(block: Block, since: number): void {
    this.hidden(block);
    this.#decided.push({ since, saved: measureBlock(block) });
  }

  undeletedInCache(block: Block): void {
    const counts = measureBlock(block);
    addBytes(this.#shown, counts);
    this.#byCategory.add(block, counts, this.#item);
  }

  #isOfReply(entry: EntryId): boolean {
    const item = this.#item;
    return item?.entry === entry && item.role === "assistant" && this.#anchor?.reply === (item.messageId ?? item.entry);
  }

  /** A new anchor: learn from the way from the last one, and start again from here. */
  #drop(entry: EntryId, reply: string, usage: Usage): void {
    const at = this.#item?.at ?? 0;
    const base = { ...this.#shown };
    // Told from the beginning, a view already shows what edits behind this reply hid; the request still held it.
    const later = this.#decided.filter(({ since }) => since > at);
    for (const { saved } of later) addBytes(base, saved);
    this.#learn(base, requestTokens(usage));
    this.#learnFixed(requestTokens(usage), tokensOf(base, this.#calibration.rates));
    this.#anchor = { entry, reply, usage, base };
    this.#ofReply = noBytes();
  }

  /** The less of a request is conversation, the better it shows the fixed part: long requests only blur it. */
  #learnFixed(request: Tokens, conversation: Tokens): void {
    const blur = request === 0 ? 1 : Math.min(1, Math.max(0, (2 * conversation) / request - 1));
    if (blur > 0 && this.#learnedFixed.tokens > 0) return;
    this.#learnedFixed = { tokens: Math.max(0, request - conversation), blur };
  }

  #learn(base: ByteCounts, request: Tokens): void {
    if (this.#anchor === undefined) return;
    const since = { ...base };
    addBytes(since, this.#anchor.base, -1);
    addBytes(since, this.#ofReply, -1);
    this.#calibration.observe(since, tokens(request - contextTokens(this.#anchor.usage)));
  }
}

/** Too much is safe where something is added, too little where something is taken off. */
function growthOf(since: ByteCounts, calibration: Calibration): Tokens {
  const { rates, lowRates } = calibration;
  let sum = 0;
  for (const name of contentClasses) sum += since[name] * (since[name] < 0 ? lowRates[name] : rates[name]);
  return tokens(Math.ceil(sum));
}
