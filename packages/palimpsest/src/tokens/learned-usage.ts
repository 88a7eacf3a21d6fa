import { type EntryId, type Tokens, tokens } from "../schema/brand.ts";
import { contextTokens, requestTokens, type Usage } from "../schema/usage.ts";
import { Calibration, type CalibrationState } from "./calibration.ts";
import { addBytes, type ByteCounts, contentClasses, noBytes } from "./byte-counts.ts";
import { defaultRates, type Rates, scaleRates, tokensFromBytes } from "./estimate-block.ts";
import type { FixedBytes, FixedFigure } from "./fixed-part.ts";
import { conversationRatioMin, earlierAnchorsMax, wholeRequestRatioMax, wholeRequestRatioMin } from "./limits.ts";
import { tokenizerRatio } from "./model-name.ts";

/** A count of the provider, and what it was counted for. */
export interface Anchor {
  readonly entry: EntryId;
  readonly reply: string;
  usage: Usage;
  /** Who counted: another model's tokenizer may count otherwise. */
  readonly model: string | undefined;
  /** What the view held when the request was sent. */
  readonly base: ByteCounts;
  /** What the view has held of the reply since: its output, counted already. */
  readonly ofReply: ByteCounts;
  /** What was known then of the fixed part; undefined where nothing was. */
  readonly carried: FixedBytes | undefined;
  /** The summary that the view began with then: counts of before a boundary are none of what is behind it. */
  readonly summary: EntryId | undefined;
}

/** A request that the provider counted, and its conversation: what it had more than that was the fixed part. */
interface CountedRequest {
  readonly tokens: number;
  /** What of it the provider added: it is no text, and the same by any tokenizer. */
  readonly addedTokens: number;
  readonly bytes: ByteCounts;
}

/** As a boundary keeps it, so that whoever opens the log there counts as the one who wrote it did. */
export interface LearnedState {
  /** In whose tokens; undefined where nobody said. */
  readonly model?: string | undefined;
  readonly calibration?: CalibrationState | undefined;
  readonly request?:
    | {
        readonly tokens: number;
        readonly addedTokens?: number | undefined;
        readonly bytes: Readonly<Record<string, number>>;
      }
    | undefined;
}

/** What the provider's counts have shown of one client's requests: the rates, the fixed part, and the newest count. */
export class LearnedUsage {
  readonly calibration: Calibration;
  /** Rates and the request are in this model's tokens. */
  #model: string | undefined;
  /** The newest count. */
  #anchor: Anchor | undefined;
  /** The newest of each view before the one that is told now, oldest first. */
  #earlier: Anchor[] = [];
  /** Of all counted requests the one that shows the fixed part best. */
  #request: CountedRequest | undefined;

  constructor({ model, calibration, request }: LearnedState, calibrate = () => new Calibration(calibration)) {
    this.#model = model;
    this.calibration = calibrate();
    if (request !== undefined) {
      const { tokens: counted, addedTokens: added = 0, bytes } = request;
      this.#request = { tokens: counted, addedTokens: added, bytes: bytesFrom(bytes) };
    }
  }

  get state(): LearnedState {
    const request = this.#request;
    return {
      ...(this.#model === undefined || !this.hasCounts ? {} : { model: this.#model }),
      ...(this.calibration.observations === 0 ? {} : { calibration: this.calibration.state }),
      ...(request === undefined
        ? {}
        : {
            request: {
              tokens: request.tokens,
              ...(request.addedTokens === 0 ? {} : { addedTokens: request.addedTokens }),
              bytes: nonZeroBytes(request.bytes),
            },
          }),
    };
  }

  get hasCounts(): boolean {
    return this.#request !== undefined;
  }

  get newest(): Anchor | undefined {
    return this.#anchor;
  }

  /** What was learned is wanted in this model's tokens from here on: where its tokenizer is another, it is scaled. */
  convertTo(model: string): void {
    const ratio = tokenizerRatio(this.#model, model);
    this.#model = model;
    if (ratio === 1) return;
    this.calibration.scale(ratio);
    if (this.#request === undefined) return;
    const { tokens: counted, addedTokens: added } = this.#request;
    this.#request = { ...this.#request, tokens: Math.round(scaleCount(counted, added, ratio)) };
  }

  /** What the anchor's request and its reply have by the tokenizer that counts now. */
  anchoredTokens({ usage, model, carried }: Anchor): AnchoredTokens {
    const ratio = tokenizerRatio(model, this.#model);
    const counted = contextTokens(usage);
    if (ratio === 1) return { tokens: counted, counted: "by-provider" };
    return { tokens: Math.round(scaleCount(counted, sumAddedTokens(carried), ratio)), counted: "scaled" };
  }

  /** The count whose view is nearest to this one: behind an undo that is the count from before the edit. */
  nearest(shown: ByteCounts, summary: EntryId | undefined): Anchor | undefined {
    const candidates = [...(this.#anchor === undefined ? [] : [this.#anchor]), ...this.#earlier.toReversed()];
    const { rates } = this.calibration;
    let nearest: { readonly anchor: Anchor; readonly apart: number } | undefined;
    for (const anchor of candidates) {
      if (anchor.summary !== summary) continue;
      const since = growthSince(anchor, shown);
      const apart = contentClasses.reduce((sum, name) => sum + Math.abs(since[name]) * rates[name], 0);
      if (nearest === undefined || apart < nearest.apart) nearest = { anchor, apart };
    }
    return nearest?.anchor;
  }

  /**
   * The rates at which the newest counted request is its fixed part and its conversation. Growth between two requests also
   * holds what a client sends and never logs, so that the plain rates make a whole conversation too large.
   */
  get conversationRates(): Rates {
    const { rates } = this.calibration;
    const anchor = this.#anchor;
    if (anchor === undefined || this.#request === undefined) return rates;
    const conversation = this.anchoredTokens(anchor).tokens - anchor.usage.output - this.#shownFixed(this.#request);
    const ratio = conversation / Math.max(1, tokensFromBytes(anchor.base, rates));
    return scaleRates(rates, Math.min(1, Math.max(conversationRatioMin, ratio)));
  }

  /** The view becomes another: what was counted for this one is kept for when it comes back. */
  keepAnchor(): void {
    if (this.#anchor === undefined || this.#earlier.at(-1) === this.#anchor) return;
    this.#earlier = [...this.#earlier, this.#anchor].slice(-earlierAnchorsMax);
  }

  /** A count that is believed. Learns from the way since the last one; from the first all that the request held, if that is known. */
  take(anchor: Omit<Anchor, "ofReply">): void {
    if (anchor.model !== undefined) this.convertTo(anchor.model);
    const request = requestTokens(anchor.usage);
    if (this.#anchor !== undefined && this.#anchor.summary === anchor.summary) {
      // Between counts of two tokenizers there is more than growth.
      if (tokenizerRatio(this.#anchor.model, anchor.model) === 1) this.#learnFromGrowth(this.#anchor, anchor);
    } else if (this.calibration.observations === 0 && anchor.carried !== undefined)
      this.#learnFromWhole(anchor.base, { carried: anchor.carried, request });
    this.#anchor = { ...anchor, ofReply: noBytes() };
    const counted = { tokens: request, addedTokens: sumAddedTokens(anchor.carried), bytes: anchor.base };
    if (this.#request === undefined || this.#blur(counted) <= this.#blur(this.#request)) this.#request = counted;
  }

  /**
   * System prompt, tools and the like, by a request that was counted and by what is known of them. `complete`: nothing is
   * sent that is not known, so that the two are estimates of the same. Otherwise what a request showed counts where it
   * is more: clients send what nobody logs. Where it is less, an exact count beats it, since it rests on an estimate of
   * the conversation; of two estimates the known pieces weigh the more, the more the conversation blurred the request.
   */
  fixedPart(known: FixedFigure, { complete }: { readonly complete: boolean }): FixedSize {
    const { counter } = known;
    if (this.#request === undefined) return { tokens: known.tokens, countedBy: counter };
    const shown = this.#shownFixed(this.#request);
    const blur = this.#blur(this.#request);
    const isMore = shown >= known.tokens;
    if (isMore && (!complete || blur === 0)) return { tokens: tokens(shown), countedBy: shown > 0 ? "usage" : counter };
    if (counter !== "estimate") return { tokens: known.tokens, countedBy: counter };
    const blended = tokens(Math.round(shown + blur * (known.tokens - shown)));
    return { tokens: blended, countedBy: blur === 0 ? "usage" : counter };
  }

  #shownFixed({ tokens: request, bytes }: CountedRequest): number {
    return Math.max(0, request - tokensFromBytes(bytes, this.calibration.rates));
  }

  /**
   * 0: the conversation was at most half of the request, so that an error of its estimate counts for little. From there
   * it grows with the conversation's share; 1: the estimate takes up all of the request, and nothing was shown.
   */
  #blur({ tokens: request, bytes }: CountedRequest): number {
    const conversation = tokensFromBytes(bytes, this.calibration.rates);
    return request === 0 ? 1 : Math.min(1, Math.max(0, (2 * conversation) / request - 1));
  }

  #learnFromGrowth(before: Anchor, { base, usage }: Pick<Anchor, "base" | "usage">): void {
    const since = growthSince(before, base);
    this.calibration.observe(since, tokens(requestTokens(usage) - requestTokens(before.usage) - before.usage.output));
  }

  #learnFromWhole(
    base: ByteCounts,
    { carried, request }: { readonly carried: FixedBytes; readonly request: Tokens },
  ): void {
    const bytes = { ...base };
    for (const piece of carried.pieces) addBytes(bytes, piece.bytes);
    const measured = request - sumAddedTokens(carried);
    const ratio = measured / Math.max(1, tokensFromBytes(bytes, defaultRates));
    if (ratio >= wholeRequestRatioMin && ratio <= wholeRequestRatioMax)
      this.calibration.observe(bytes, tokens(measured));
  }
}

/** `scaled`: by what the tokenizers of two models are known to differ in. */
interface AnchoredTokens {
  readonly tokens: number;
  readonly counted: "by-provider" | "scaled";
}

const sumAddedTokens = (carried: FixedBytes | undefined): number =>
  (carried?.pieces ?? []).reduce((sum, piece) => sum + piece.addedTokens, 0);

/** A count by another tokenizer, but for what a provider adds. */
const scaleCount = (counted: number, added: number, ratio: number): number =>
  added + Math.max(0, counted - added) * ratio;

/** What a view holds beyond what was counted; negative where it holds less. */
export function growthSince({ base, ofReply }: Anchor, shown: ByteCounts): ByteCounts {
  const since = { ...shown };
  addBytes(since, base, -1);
  addBytes(since, ofReply, -1);
  return since;
}

export interface FixedSize {
  readonly tokens: Tokens;
  /** `usage`: the provider's counts showed it. Otherwise the counter that the known pieces come from. */
  readonly countedBy: string;
}

const nonZeroBytes = (bytes: ByteCounts): Record<string, number> =>
  Object.fromEntries(contentClasses.flatMap((name) => (bytes[name] === 0 ? [] : [[name, bytes[name]]])));

function bytesFrom(stored: Readonly<Record<string, number>>): ByteCounts {
  const bytes = noBytes();
  for (const name of contentClasses) bytes[name] = stored[name] ?? 0;
  return bytes;
}
