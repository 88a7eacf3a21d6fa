import type { Block } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../schema/brand.ts";
import { requestTokens, type Usage } from "../schema/usage.ts";
import type { Item } from "../transcript/item.ts";
import type { ResultReplacement, ViewWatch } from "../transcript/view-watch.ts";
import type { Calibration } from "./calibration.ts";
import { addBytes, type ByteCounts, contentClasses, measureBlock, noBytes } from "./byte-counts.ts";
import { CategoryBytes, type CategoryCount } from "./category-bytes.ts";
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
 * The size of the context = what the provider said last + an estimate of what came since.
 *
 * The anchor is a reply that carries usage which can be believed: mostly the newest, behind an undo the one whose view is
 * nearest. It is taken at the reply's FIRST entry: results that interleave with the rest of the reply come after it. The
 * reply itself is in the usage's output. Edits behind the anchor count at once: what they hide is taken off, by the same
 * estimate; an undo gives the number from before.
 * Without an anchor (a new session, or right behind a boundary) everything is estimated, at the rates that counts have
 * taught, on top of the fixed part (system prompt, tools) that they showed or that is known.
 *
 * A count by another tokenizer than that of the model that is asked now is scaled by what the two are known to differ in,
 * and is an estimate then.
 *
 * With a tokenizer of the caller's, what it says takes the place of our estimate, as long as it can be believed: by our
 * estimate of all that is shown, and by what the provider counted last.
 *
 * What another tool recorded was counted for that tool's requests. Once requests are ours, its fixed part and its counts
 * count for nothing; the rates that it taught hold until a count of ours has come.
 */
export interface ContextSize {
  readonly tokens: Tokens;
  /** `usage`: counted by the provider up to the anchor. `counter`: by the caller's tokenizer. `estimate`: by nobody. */
  readonly source: "usage" | "counter" | "estimate";
  readonly anchor: EntryId | undefined;
  /** What of it the provider has not counted. */
  readonly estimated: Tokens;
}

/** A count that the request can't have had: the estimate counts in its place. */
export interface DoubtedUsage {
  readonly entry: EntryId;
  /** What the provider said that the request had. */
  readonly counted: Tokens;
  readonly estimate: Tokens;
}

/** The caller's tokenizer says of a whole request what can't be: our estimate counts in its place. */
export interface DoubtedCounter {
  readonly counted: Tokens;
  /** What the provider says, or our estimate if it has said nothing yet. */
  readonly expected: Tokens;
}

interface LedgerOptions {
  /** What the boundary says that the view begins with. */
  readonly learned?: LearnedState;
  /** How rates are learned; by `Calibration` where it is absent. */
  readonly calibrate?: () => Calibration;
  readonly counter?: TextCounter | undefined;
}

/** What others ask of a ledger, whether it estimates or an exact counter counts for it. */
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
  /** Where it begins, whenever the view is told anew. */
  readonly #seed: LearnedState;
  readonly #fresh: (state: LearnedState) => LearnedUsage;
  #own: LearnedUsage;
  #foreign: LearnedUsage;
  #sendsOwn = false;
  /** Everything shown. */
  #shown = noBytes();
  #documents = 0;
  #fixedBytes: FixedBytes = measureFixedPart(noFixedPart);
  #countedFixed: FixedFigure | undefined;
  /** Items up to here were told before, or moved since. */
  #oldUntil = -1;
  #newest = -1;
  #decided: { readonly since: number; readonly saved: ByteCounts }[] = [];
  #item: Item | undefined;
  /** Of the newest boundary in force. */
  #summary: Item | undefined;
  #doubted: (DoubtedUsage & { readonly reply: string }) | undefined;
  readonly #counter: TextCounter | undefined;
  /** By the newest count of the provider. */
  #contradicted: DoubtedCounter | undefined;
  readonly #byCategory = new CategoryBytes();

  constructor({ learned = {}, counter, calibrate }: LedgerOptions = {}) {
    const isBelieved = (): boolean => this.doubtedCounter === undefined;
    this.#counter = counter;
    this.#fresh = (state) =>
      new LearnedUsage(
        state,
        counter === undefined ? calibrate : () => new CounterCalibration(state.calibration, isBelieved),
      );
    this.#seed = counter === undefined ? learned : countedState(learned);
    this.#own = this.#fresh(this.#seed);
    this.#foreign = this.#fresh({});
  }

  get #learned(): LearnedUsage {
    return this.#inModelTokens(this.#sendsOwn || this.#own.hasCounts ? this.#own : this.#foreign);
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
    // What was taken off can't have been more than what was there.
    const least = Math.min(counted, this.fixedTokens + tokensFromBytes(this.#shown, calibration.lowRates));
    const total = tokens(Math.round(Math.max(least, counted + estimated)));
    return how === "scaled"
      ? { tokens: total, source: "estimate", anchor: undefined, estimated: total }
      : { tokens: total, source: "usage", anchor: anchor.entry, estimated };
  }

  /** The same with nothing taken from the provider's newest count: what can be compared with a view that nobody has counted. */
  get estimate(): Tokens {
    return tokens(this.fixedTokens + tokensFromBytes(this.#shown, this.rates));
  }

  /** What a view of these blocks has, as long as nobody has counted it. */
  estimateView(blocks: Iterable<Block>): Tokens {
    const bytes = noBytes();
    for (const block of blocks) addBytes(bytes, this.#measure(block));
    return tokens(this.fixedTokens + tokensFromBytes(bytes, this.rates));
  }

  /** By which a block of the view is counted as long as nobody has counted it: as good as now. */
  get counter(): (block: Block) => number {
    const { rates } = this;
    return (block) => tokensFromBytes(this.#measure(block), rates);
  }

  #measure(block: Block): ByteCounts {
    const counts = measureBlock(block);
    counts.counted = this.#counter?.block(block) ?? 0;
    return counts;
  }

  /** Until a count of our own has come, what another tool's requests showed of the conversation is the best there is. */
  get rates(): Rates {
    const learned = this.#learned;
    const isUntaught = learned.calibration.observations === 0 && !learned.hasCounts;
    return isUntaught ? this.#inModelTokens(this.#foreign).conversationRates : learned.calibration.rates;
  }

  get categories(): ReadonlyMap<string, CategoryCount> {
    return this.#byCategory.counts;
  }

  /** The newest count that was not believed; undefined where all were. */
  get doubtedUsage(): DoubtedUsage | undefined {
    return this.#doubted;
  }

  /** What the caller's tokenizer says of the view, if that is not believed. */
  get doubtedCounter(): DoubtedCounter | undefined {
    if (this.#counter === undefined) return undefined;
    if (this.#contradicted !== undefined) return this.#contradicted;
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

  /** What is learned of our own requests, for whoever opens the log at a boundary that is written now. */
  get learned(): LearnedState {
    return this.#own.state;
  }

  /**
   * Says what requests carry besides the view; `counted` where an exact counter has counted it. Of an estimate only the
   * bytes are kept: it is made anew as the rates are learned.
   */
  carries(part: FixedPart, counted?: FixedFigure): void {
    this.#fixedBytes = measureFixedPart(part, this.#counter?.text);
    this.#countedFixed = counted?.counter === "estimate" ? undefined : counted;
  }

  /** Requests are ours from now on, and carry nothing that is not known: what others' requests showed counts for nothing. */
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

  /** `usage`: the provider's counts showed the fixed part. Otherwise the counter that the known pieces come from. */
  get fixedCountedBy(): string {
    return this.#fixed.countedBy;
  }

  get #fixed(): FixedSize {
    return this.#learned.fixedPart(this.knownFixed, { complete: this.#knowsFixed });
  }

  /** Of our own requests all that they carry is known. */
  get #knowsFixed(): boolean {
    return this.#sendsOwn && this.#fixedBytes.pieces.length > 0;
  }

  /** Other tools or another prompt than the anchor's request had. */
  #fixedGrowth({ carried }: Anchor): number {
    if (carried === undefined || carried === this.#fixedBytes) return 0;
    const { rates } = this;
    return estimateFixedPart(this.#fixedBytes, rates).tokens - estimateFixedPart(carried, rates).tokens;
  }

  reset(structureAt: number, history: "anew" | "goes-on"): void {
    this.#shown = noBytes();
    this.#documents = 0;
    this.#decided = [];
    this.#byCategory.reset();
    this.#summary = undefined;
    if (history === "goes-on") {
      this.#oldUntil = this.#newest;
      for (const learned of [this.#own, this.#foreign]) learned.keepAnchor();
      return;
    }
    this.#own = this.#fresh(this.#seed);
    this.#foreign = this.#fresh({});
    this.#doubted = undefined;
    this.#contradicted = undefined;
    this.#oldUntil = structureAt;
    this.#newest = structureAt;
  }

  item(item: Item): void {
    this.#item = item;
    if (item.summary === true && item.at >= (this.#summary?.at ?? item.at)) this.#summary = item;
    if (item.at <= this.#oldUntil) return;
    this.#newest = Math.max(this.#newest, item.at);
    if (item.usage === undefined) return;
    const learned = item.foreign === true ? this.#foreign : this.#own;
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
    this.#decided.push({ since: instead.since, saved });
  }

  hidden(block: Block): void {
    const counts = this.#measure(block);
    addBytes(this.#shown, counts, -1);
    this.#documents -= countDocuments(block);
    this.#byCategory.remove(block, counts);
  }

  /** The provider counts it no more, and neither do we: else every count behind it would seem too small for what it counts. */
  withheld(block: Block, since: number): void {
    this.hidden(block);
    this.#decided.push({ since, saved: this.#measure(block) });
  }

  released(block: Block): void {
    const counts = this.#measure(block);
    addBytes(this.#shown, counts);
    this.#byCategory.add(block, counts, this.#item);
  }

  /** Whose reply this block is of, where it is told for the first time. */
  #anchorOf(entry: EntryId): Anchor | undefined {
    const item = this.#item;
    if (item?.entry !== entry || item.role !== "assistant" || item.at <= this.#oldUntil) return undefined;
    const { newest } = item.foreign === true ? this.#foreign : this.#own;
    return newest?.reply === (item.messageId ?? item.entry) ? newest : undefined;
  }

  /** A new count: where it can be believed it is the anchor from here on. */
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
    // Told at once, a view already shows what edits behind this reply hid; the request still held it.
    const later = this.#decided.filter(({ since }) => since > at);
    for (const { saved } of later) addBytes(base, saved);
    const carried = learned === this.#own && this.#knowsFixed ? this.#fixedBytes : undefined;
    const estimate = this.#sum(base, { carried, rates: defaultRates });
    const counted = requestTokens(usage);
    const ours = carried === undefined ? "conversation" : "all";
    const covers = learned === this.#foreign ? "log" : ours;
    const isBelieved = isPlausibleUsage({ counted, estimate, covers, documents: this.#documents });
    this.#doubted = isBelieved ? undefined : { entry, reply, counted, estimate };
    if (!isBelieved) return;
    const byCounter = this.#sum(base, { carried, rates: counterRates });
    const agrees = isPlausibleUsage({ counted, estimate: byCounter, covers, documents: this.#documents });
    this.#contradicted = agrees ? undefined : { counted: byCounter, expected: counted };
    learned.take({ entry, reply, usage, model, base, carried, summary: this.#summary?.entry });
  }
}

/** A request of before there was a tokenizer says nothing of what it counts. */
const countedState = ({ request, ...learned }: LearnedState): LearnedState =>
  request?.bytes["counted"] === undefined ? learned : { ...learned, request };

/** Too much is safe where something is added, too little where something is taken off. */
function estimateGrowth(since: ByteCounts, calibration: Calibration): number {
  const { rates, lowRates } = calibration;
  let sum = 0;
  for (const name of contentClasses) sum += since[name] * (since[name] < 0 ? lowRates[name] : rates[name]);
  return Math.ceil(sum);
}
