import { type EntryId, type Tokens, tokens } from "../schema/brand.ts";
import { contextTokens, requestTokens, type Usage } from "../schema/usage.ts";
import { Calibration, type CalibrationState } from "./calibration.ts";
import { addBytes, type ByteCounts, contentClasses, noBytes } from "./byte-counts.ts";
import { defaultRates, type Rates, scaleRates, tokensFromBytes } from "./estimate-block.ts";
import type { FixedBytes, FixedFigure } from "./fixed-part.ts";
import { conversationRatioMin, earlierAnchorsMax, wholeRequestRatioMax, wholeRequestRatioMin } from "./limits.ts";
import { tokenizerRatio } from "./known-models.ts";

/** A count of the provider, and the view that it was counted for. */
export interface Anchor {
  readonly entry: EntryId;
  readonly reply: string;
  usage: Usage;
  /** The model that counted: another model's tokenizer may count differently. */
  readonly model: string | undefined;
  /** The view's content when the request was sent. */
  readonly base: ByteCounts;
  /** Content of the reply in the view since then, which `usage.output` already counts. */
  readonly ofReply: ByteCounts;
  /** What was known of the fixed part at that time; undefined if nothing was. */
  readonly carried: FixedBytes | undefined;
  /** The summary that the view began with at that time: counts from before a boundary do not apply after it. */
  readonly summary: EntryId | undefined;
}

/** A request that the provider counted, and the bytes of its conversation: the difference was the fixed part. */
interface CountedRequest {
  readonly tokens: number;
  /** The provider's overhead in it, which is the same for every tokenizer. */
  readonly addedTokens: number;
  readonly bytes: ByteCounts;
}

/** As a boundary stores it, so that a reader who starts there counts like the writer. */
export interface LearnedState {
  /** The model whose tokens these are; undefined if unknown. */
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

/** What was learned from the provider's counts of one client's requests: the rates, the fixed part, and the newest count. */
export class LearnedUsage {
  readonly calibration: Calibration;
  /** Rates and the request are in this model's tokens. */
  #model: string | undefined;
  #anchor: Anchor | undefined;
  /** The newest count of each earlier view, oldest first. */
  #earlier: Anchor[] = [];
  /** The counted request that shows the fixed part most clearly. */
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

  /** From here on the results are in this model's tokens: they are scaled if its tokenizer differs. */
  convertTo(model: string): void {
    const ratio = tokenizerRatio(this.#model, model);
    this.#model = model;
    if (ratio === 1) return;
    this.calibration.scale(ratio);
    if (this.#request === undefined) return;
    const { tokens: counted, addedTokens: added } = this.#request;
    this.#request = { ...this.#request, tokens: Math.round(scaleCount(counted, added, ratio)) };
  }

  /** The tokens of the anchor's request and reply, in the current model's tokens. */
  anchoredTokens({ usage, model, carried }: Anchor): AnchoredTokens {
    const ratio = tokenizerRatio(model, this.#model);
    const counted = contextTokens(usage);
    if (ratio === 1) return { tokens: counted, counted: "by-provider" };
    return { tokens: Math.round(scaleCount(counted, sumAddedTokens(carried), ratio)), counted: "scaled" };
  }

  /** The count whose view is nearest to this one: after an undo that is the count from before the edit. */
  nearest(shown: ByteCounts, summary: EntryId | undefined): Anchor | undefined {
    const candidates = [...(this.#anchor === undefined ? [] : [this.#anchor]), ...this.#earlier.toReversed()];
    const { rates } = this.calibration;
    let nearest: { readonly anchor: Anchor; readonly distance: number } | undefined;
    for (const anchor of candidates) {
      if (anchor.summary !== summary) continue;
      const since = growthSince(anchor, shown);
      const distance = contentClasses.reduce((sum, name) => sum + Math.abs(since[name]) * rates[name], 0);
      if (nearest === undefined || distance < nearest.distance) nearest = { anchor, distance };
    }
    return nearest?.anchor;
  }

  /**
   * The rates at which fixed part and conversation add up to the newest counted request. Growth between two requests also
   * contains what a client sends and never logs, so the plain rates overestimate a whole conversation.
   */
  get conversationRates(): Rates {
    const { rates } = this.calibration;
    const anchor = this.#anchor;
    if (anchor === undefined || this.#request === undefined) return rates;
    const conversation = this.anchoredTokens(anchor).tokens - anchor.usage.output - this.#shownFixed(this.#request);
    const ratio = conversation / Math.max(1, tokensFromBytes(anchor.base, rates));
    return scaleRates(rates, Math.min(1, Math.max(conversationRatioMin, ratio)));
  }

  /** Called when the view changes: keeps the count of the old view in case an undo brings it back. */
  keepAnchor(): void {
    if (this.#anchor === undefined || this.#earlier.at(-1) === this.#anchor) return;
    this.#earlier = [...this.#earlier, this.#anchor].slice(-earlierAnchorsMax);
  }

  /**
   * Takes a count that is believed. Learns from the growth since the last one; from the first one, learns from the
   * whole request if its fixed part is known.
   */
  take(anchor: Omit<Anchor, "ofReply">): void {
    if (anchor.model !== undefined) this.convertTo(anchor.model);
    const request = requestTokens(anchor.usage);
    if (this.#anchor !== undefined && this.#anchor.summary === anchor.summary) {
      // The difference between counts of two tokenizers is not only growth.
      if (tokenizerRatio(this.#anchor.model, anchor.model) === 1) this.#learnFromGrowth(this.#anchor, anchor);
    } else if (this.calibration.observations === 0 && anchor.carried !== undefined)
      this.#learnFromWhole(anchor.base, { carried: anchor.carried, request });
    this.#anchor = { ...anchor, ofReply: noBytes() };
    const counted = { tokens: request, addedTokens: sumAddedTokens(anchor.carried), bytes: anchor.base };
    if (this.#request === undefined || this.#blur(counted) <= this.#blur(this.#request)) this.#request = counted;
  }

  /**
   * The size of system prompt, tools and the like, from a counted request and from their known pieces. `complete`: the
   * known pieces are everything that is sent, so both figures estimate the same. Otherwise the request's figure wins if
   * it is higher, because clients send text that is not logged. If it is lower, an exact count of the pieces wins, since
   * the request's figure rests on an estimate of the conversation. Of two estimates, the known pieces get more weight the
   * more the conversation blurred the request.
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
   * How unreliably a request shows the fixed part. 0: the conversation was at most half of it, so that the error of its
   * estimate matters little. From there it grows with the conversation's share. 1: the estimate takes up the whole
   * request, which then shows nothing.
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

/** `scaled`: converted by the known ratio of two models' tokenizers. */
interface AnchoredTokens {
  readonly tokens: number;
  readonly counted: "by-provider" | "scaled";
}

const sumAddedTokens = (carried: FixedBytes | undefined): number =>
  (carried?.pieces ?? []).reduce((sum, piece) => sum + piece.addedTokens, 0);

/** Converts a count to another tokenizer, except for the provider's overhead. */
const scaleCount = (counted: number, added: number, ratio: number): number =>
  added + Math.max(0, counted - added) * ratio;

/** What a view holds beyond what was counted; negative for classes of which it holds less. */
export function growthSince({ base, ofReply }: Anchor, shown: ByteCounts): ByteCounts {
  const since = { ...shown };
  addBytes(since, base, -1);
  addBytes(since, ofReply, -1);
  return since;
}

export interface FixedSize {
  readonly tokens: Tokens;
  /** `usage`: derived from the provider's counts. Otherwise the counter of the known pieces. */
  readonly countedBy: string;
}

const nonZeroBytes = (bytes: ByteCounts): Record<string, number> =>
  Object.fromEntries(contentClasses.flatMap((name) => (bytes[name] === 0 ? [] : [[name, bytes[name]]])));

function bytesFrom(stored: Readonly<Record<string, number>>): ByteCounts {
  const bytes = noBytes();
  for (const name of contentClasses) bytes[name] = stored[name] ?? 0;
  return bytes;
}
