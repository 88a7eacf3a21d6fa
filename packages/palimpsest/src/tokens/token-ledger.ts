import type { Block } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../schema/brand.ts";
import { requestTokens, type Usage } from "../schema/usage.ts";
import type { Item } from "../transcript/item.ts";
import type { ResultReplacement, ViewWatch } from "../transcript/view-watch.ts";
import type { Calibration } from "./calibration.ts";
import {
  addBytes,
  type ByteCounts,
  contentClasses,
  measureBlock,
  noBytes,
  CategoryBytes,
  type CategoryCount,
} from "./byte-counts.ts";
import { defaultRates, type Rates, tokensFromBytes, isPlausibleUsage, countDocuments } from "./estimate-block.ts";
import {
  estimateFixedPart,
  type FixedBytes,
  type FixedFigure,
  type FixedPart,
  measureFixedPart,
  noFixedPart,
} from "./fixed-part.ts";
import { type Anchor, type FixedSize, LearnedUsage, type LearnedState, growthSince } from "./learned-usage.ts";
import { CounterCalibration, counterRates, type TextCounter } from "./text-counter.ts";

/**
 * The size of the context = the provider's last count + an estimate of what came since.
 *
 * The anchor is a reply with usage that can be believed: usually the newest; after an undo, the one whose view is
 * nearest. It is taken at the reply's FIRST entry: results that interleave with the rest of the reply come after it. The
 * reply itself is in the usage's output. Edits after the anchor count at once: what they hide is subtracted, by the same
 * estimate; an undo restores the earlier number.
 * Without an anchor (a new session, or right after a boundary) everything is estimated, at the rates learned from
 * counts, on top of the fixed part (system prompt, tools) that counts showed or that is known.
 *
 * A count by another tokenizer than the current model's is scaled by the known ratio of the two, and is then an estimate.
 *
 * With a tokenizer of the caller, its counts replace our estimate while they can be believed: they are checked against
 * our estimate of everything shown and against the provider's last count.
 *
 * Counts that another program recorded are of that program's requests. Once requests are ours, its fixed part and its
 * counts are ignored; the rates learned from them hold until there is a count of our own.
 */
export interface ContextSize {
  readonly tokens: Tokens;
  /** `usage`: counted by the provider up to the anchor. `counter`: counted by the caller's tokenizer. `estimate`: not counted. */
  readonly source: "usage" | "counter" | "estimate";
  readonly anchor: EntryId | undefined;
  /** The part that the provider has not counted. */
  readonly estimated: Tokens;
}

/** An implausible count of the provider: the estimate is used instead. */
export interface DoubtedUsage {
  readonly entry: EntryId;
  /** The provider's count of the request. */
  readonly counted: Tokens;
  readonly estimate: Tokens;
}

/** An implausible count of a whole request by the caller's tokenizer: our estimate is used instead. */
export interface DoubtedCounter {
  readonly counted: Tokens;
  /** The provider's count, or our estimate if there is none yet. */
  readonly expected: Tokens;
}

interface LedgerOptions {
  /** From the boundary that the view begins with. */
  readonly learned?: LearnedState;
  /** Creates the object that learns rates. Absent: a `Calibration`. */
  readonly calibrate?: () => Calibration;
  readonly counter?: TextCounter | undefined;
}

/** The interface of a ledger, whether it estimates or has an exact counter. */
export type ContextLedger = Pick<
  TokenLedger,
  | "size"
  | "estimate"
  | "estimateView"
  | "counter"
  | "rates"
  | "categories"
  | "doubtedUsage"
  | "doubtedCounter"
  | "learned"
  | "carries"
  | "sendsOwn"
  | "knownFixed"
  | "fixedTokens"
  | "fixedCountedBy"
>;

export class TokenLedger implements ViewWatch {
  /** The initial state, also used when the view is reported anew. */
  readonly #seed: LearnedState;
  readonly #createLearned: (state: LearnedState) => LearnedUsage;
  #ours: LearnedUsage;
  #foreign: LearnedUsage;
  #sendsOwn = false;
  #shown = noBytes();
  #documents = 0;
  #fixedBytes: FixedBytes = measureFixedPart(noFixedPart);
  #countedFixed: FixedFigure | undefined;
  /** Items up to this position were reported before, or were moved since. */
  #oldUntil = -1;
  #newest = -1;
  /** Bytes that edits hide in the view, and the position of each edit. */
  #savings: { readonly since: number; readonly saved: ByteCounts }[] = [];
  #item: Item | undefined;
  /** The summary of the newest boundary in force. */
  #summary: Item | undefined;
  #doubted: (DoubtedUsage & { readonly reply: string }) | undefined;
  readonly #counter: TextCounter | undefined;
  /** Set if the provider's newest count contradicts the caller's tokenizer. */
  #counterConflict: DoubtedCounter | undefined;
  readonly #byCategory = new CategoryBytes();

  constructor({ learned = {}, counter, calibrate }: LedgerOptions = {}) {
    const isBelieved = (): boolean => this.doubtedCounter === undefined;
    this.#counter = counter;
    this.#createLearned = (state) =>
      new LearnedUsage(
        state,
        counter === undefined ? calibrate : () => new CounterCalibration(state.calibration, isBelieved),
      );
    this.#seed = counter === undefined ? learned : countedState(learned);
    this.#ours = this.#createLearned(this.#seed);
    this.#foreign = this.#createLearned({});
  }

  get #learned(): LearnedUsage {
    return this.#inModelTokens(this.#sendsOwn || this.#ours.hasCounts ? this.#ours : this.#foreign);
  }

  #inModelTokens(learned: LearnedUsage): LearnedUsage {
    const { model } = this.#fixedBytes;
    if (model !== undefined) learned.convertTo(model);
    return learned;
  }

  get size(): ContextSize {
    const learned = this.#learned;
    const anchor = learned.nearest(this.#shown, this.#summary?.entry);
    if (anchor === undefined) {
      const total = this.estimate;
      return {
        tokens: total,
        source: this.#believesCounter ? "counter" : "estimate",
        anchor: undefined,
        estimated: total,
      };
    }
    const { calibration } = learned;
    const since = growthSince(anchor, this.#shown);
    const { tokens: counted, counted: how } = learned.anchoredTokens(anchor);
    const estimated = tokens(estimateGrowth(since, calibration) + this.#fixedGrowth(anchor));
    // No more can be subtracted than was there.
    const least = Math.min(counted, this.fixedTokens + tokensFromBytes(this.#shown, calibration.lowRates));
    const total = tokens(Math.round(Math.max(least, counted + estimated)));
    return how === "scaled"
      ? { tokens: total, source: "estimate", anchor: undefined, estimated: total }
      : { tokens: total, source: "usage", anchor: anchor.entry, estimated };
  }

  /** The size without using the provider's newest count, so that it is comparable with a view that was not counted. */
  get estimate(): Tokens {
    return tokens(this.fixedTokens + tokensFromBytes(this.#shown, this.rates));
  }

  /** The estimated size of a view of these blocks. */
  estimateView(blocks: Iterable<Block>): Tokens {
    const bytes = noBytes();
    for (const block of blocks) addBytes(bytes, this.#measure(block));
    return tokens(this.fixedTokens + tokensFromBytes(bytes, this.rates));
  }

  /** Estimates a block of the view, with the current rates. */
  get counter(): (block: Block) => number {
    const { rates } = this;
    return (block) => tokensFromBytes(this.#measure(block), rates);
  }

  #measure(block: Block): ByteCounts {
    const counts = measureBlock(block);
    counts.counted = this.#counter?.block(block) ?? 0;
    return counts;
  }

  /** Until there is a count of our own, the rates from another program's requests are the best available. */
  get rates(): Rates {
    const learned = this.#learned;
    const hasLearnedNothing = learned.calibration.observations === 0 && !learned.hasCounts;
    return hasLearnedNothing ? this.#inModelTokens(this.#foreign).conversationRates : learned.calibration.rates;
  }

  get categories(): ReadonlyMap<string, CategoryCount> {
    return this.#byCategory.counts;
  }

  /** Set if the newest count of the provider is not believed. */
  get doubtedUsage(): DoubtedUsage | undefined {
    return this.#doubted;
  }

  /** The count of the view by the caller's tokenizer, if it is not believed. */
  get doubtedCounter(): DoubtedCounter | undefined {
    if (this.#counter === undefined) return undefined;
    if (this.#counterConflict !== undefined) return this.#counterConflict;
    const counted = this.#sum(this.#shown, { carried: this.#fixedBytes, rates: counterRates });
    const estimate = this.#sum(this.#shown, { carried: this.#fixedBytes, rates: defaultRates });
    return isPlausibleUsage({ counted, estimate, covers: "all", documents: this.#documents })
      ? undefined
      : { counted, expected: estimate };
  }

  get #believesCounter(): boolean {
    return this.#counter !== undefined && this.doubtedCounter === undefined;
  }

  #sum(
    bytes: ByteCounts,
    { carried, rates }: { readonly carried: FixedBytes | undefined; readonly rates: Rates },
  ): Tokens {
    const fixed = carried === undefined ? 0 : estimateFixedPart(carried, rates).tokens;
    return tokens(fixed + tokensFromBytes(bytes, rates));
  }

  /** What was learned from our own requests, to be stored in a boundary that is written now. */
  get learned(): LearnedState {
    return this.#ours.state;
  }

  /**
   * Sets what requests contain besides the view. `counted`: the figure of an exact counter, if there is one. Of an
   * estimate only the bytes are kept, because it changes as the rates are learned.
   */
  carries(part: FixedPart, counted?: FixedFigure): void {
    this.#fixedBytes = measureFixedPart(part, this.#counter?.text);
    this.#countedFixed = counted?.counter === "estimate" ? undefined : counted;
  }

  /** From now on requests are ours and contain nothing unknown: what other programs' requests showed is ignored. */
  sendsOwn(): void {
    this.#sendsOwn = true;
  }

  /** What is known of the fixed part, piece by piece. */
  get knownFixed(): FixedFigure {
    const { observations, rates } = this.#learned.calibration;
    if (this.#believesCounter) return { ...estimateFixedPart(this.#fixedBytes, counterRates), counter: "counter" };
    return this.#countedFixed ?? estimateFixedPart(this.#fixedBytes, observations === 0 ? undefined : rates);
  }

  /** System prompt, tools and the like. */
  get fixedTokens(): Tokens {
    return this.#fixed.tokens;
  }

  /** `usage`: the fixed part is derived from the provider's counts. Otherwise the counter of the known pieces. */
  get fixedCountedBy(): string {
    return this.#fixed.countedBy;
  }

  get #fixed(): FixedSize {
    return this.#learned.fixedPart(this.knownFixed, { complete: this.#knowsFixed });
  }

  /** Whether everything that our requests contain is known. */
  get #knowsFixed(): boolean {
    return this.#sendsOwn && this.#fixedBytes.pieces.length > 0;
  }

  /** Change in size of tools and prompt since the anchor's request. */
  #fixedGrowth({ carried }: Anchor): number {
    if (carried === undefined || carried === this.#fixedBytes) return 0;
    const { rates } = this;
    return estimateFixedPart(this.#fixedBytes, rates).tokens - estimateFixedPart(carried, rates).tokens;
  }

  reset(structureAt: number, history: "anew" | "goes-on"): void {
    this.#shown = noBytes();
    this.#documents = 0;
    this.#savings = [];
    this.#byCategory.reset();
    this.#summary = undefined;
    if (history === "goes-on") {
      this.#oldUntil = this.#newest;
      for (const learned of [this.#ours, this.#foreign]) learned.keepAnchor();
      return;
    }
    this.#ours = this.#createLearned(this.#seed);
    this.#foreign = this.#createLearned({});
    this.#doubted = undefined;
    this.#counterConflict = undefined;
    this.#oldUntil = structureAt;
    this.#newest = structureAt;
  }

  item(item: Item): void {
    this.#item = item;
    if (item.summary === true && item.at >= (this.#summary?.at ?? item.at)) this.#summary = item;
    if (item.at <= this.#oldUntil) return;
    this.#newest = Math.max(this.#newest, item.at);
    if (item.usage === undefined) return;
    const learned = item.foreign === true ? this.#foreign : this.#ours;
    const reply = item.messageId ?? item.entry;
    if (learned.newest?.reply === reply) {
      if (item.usage.output > learned.newest.usage.output) learned.newest.usage = item.usage;
    } else if (this.#doubted?.reply !== reply) this.#count(learned, { ...item, reply, usage: item.usage });
  }

  shown(block: Block, entry: EntryId, instead?: ResultReplacement): void {
    const counts = this.#measure(block);
    addBytes(this.#shown, counts);
    this.#documents += countDocuments(block);
    this.#byCategory.add(block, counts, this.#item);
    const anchor = this.#anchorOf(entry);
    if (anchor !== undefined) addBytes(anchor.ofReply, counts);
    if (instead === undefined) return;
    const saved = this.#measure(instead.of);
    addBytes(saved, counts, -1);
    this.#savings.push({ since: instead.since, saved });
  }

  hidden(block: Block): void {
    const counts = this.#measure(block);
    addBytes(this.#shown, counts, -1);
    this.#documents -= countDocuments(block);
    this.#byCategory.remove(block, counts);
  }

  /** The provider no longer counts the block, so it is subtracted here too: otherwise every later count would seem too small. */
  withheld(block: Block, since: number): void {
    this.hidden(block);
    this.#savings.push({ since, saved: this.#measure(block) });
  }

  released(block: Block): void {
    const counts = this.#measure(block);
    addBytes(this.#shown, counts);
    this.#documents += countDocuments(block);
    this.#byCategory.add(block, counts, this.#item);
  }

  /** The anchor whose reply contains this block, if the block is reported for the first time. */
  #anchorOf(entry: EntryId): Anchor | undefined {
    const item = this.#item;
    if (item?.entry !== entry || item.role !== "assistant" || item.at <= this.#oldUntil) return undefined;
    const { newest } = item.foreign === true ? this.#foreign : this.#ours;
    return newest?.reply === (item.messageId ?? item.entry) ? newest : undefined;
  }

  /** Takes a new count: if it is believed, it becomes the anchor. */
  #count(
    learned: LearnedUsage,
    {
      entry,
      reply,
      usage,
      model,
    }: { readonly entry: EntryId; readonly model?: string | undefined; readonly reply: string; readonly usage: Usage },
  ): void {
    const at = this.#item?.at ?? 0;
    const base = { ...this.#shown };
    // A view that is reported at once already lacks what later edits hid, but this request still contained it.
    const later = this.#savings.filter(({ since }) => since > at);
    for (const { saved } of later) addBytes(base, saved);
    const carried = learned === this.#ours && this.#knowsFixed ? this.#fixedBytes : undefined;
    const estimate = this.#sum(base, { carried, rates: defaultRates });
    const counted = requestTokens(usage);
    const ownCoverage = carried === undefined ? "conversation" : "all";
    const covers = learned === this.#foreign ? "log" : ownCoverage;
    const isBelieved = isPlausibleUsage({ counted, estimate, covers, documents: this.#documents });
    this.#doubted = isBelieved ? undefined : { entry, reply, counted, estimate };
    if (!isBelieved) return;
    const counterTokens = this.#sum(base, { carried, rates: counterRates });
    const agrees = isPlausibleUsage({ counted, estimate: counterTokens, covers, documents: this.#documents });
    this.#counterConflict = agrees ? undefined : { counted: counterTokens, expected: counted };
    learned.take({ entry, reply, usage, model, base, carried, summary: this.#summary?.entry });
  }
}

/** Drops a request from before there was a tokenizer, because it has no count by the tokenizer. */
const countedState = ({ request, ...learned }: LearnedState): LearnedState =>
  request?.bytes["counted"] === undefined ? learned : { ...learned, request };

/** It is safe to overestimate what is added and to underestimate what is removed. */
function estimateGrowth(since: ByteCounts, calibration: Calibration): number {
  const { rates, lowRates } = calibration;
  let sum = 0;
  for (const name of contentClasses) sum += since[name] * (since[name] < 0 ? lowRates[name] : rates[name]);
  return Math.ceil(sum);
}
