import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { CacheRates } from "palimpsest/internal/cache/cache-rates";

export interface RatesByLifetime {
  readonly "5m": CacheRates;
  readonly "1h": CacheRates;
}

/** The costs of a run, in tokens at the base input price. */
export class SpendTracker {
  readonly #rates: RatesByLifetime;
  readonly #headerTokens: number;
  calls = 0;
  uncachedTokens = 0;
  cacheWriteTokens = 0;
  /** The part of `cacheWriteTokens` that was written for an hour. */
  cacheWrite1hTokens = 0;
  cacheReadTokens = 0;
  outputTokens = 0;
  inputCost = 0;
  /** The part of `inputCost` for tokens that were read from the cache. */
  readCost = 0;
  headerCost = 0;
  headerReadCost = 0;
  outputCost = 0;
  refetchCost = 0;

  constructor({ rates, headerTokens }: { readonly rates: RatesByLifetime; readonly headerTokens: number }) {
    this.#rates = rates;
    this.#headerTokens = headerTokens;
  }

  get cost(): number {
    return this.inputCost + this.outputCost + this.refetchCost;
  }

  request(usage: UsageSplit, header: "with-header" | "without-header" = "with-header"): void {
    const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = usage;
    const short = this.#rates["5m"];
    const long = this.#rates["1h"];
    this.calls += 1;
    this.uncachedTokens += inputTokens;
    this.cacheReadTokens += cacheReadTokens;
    this.cacheWriteTokens += cacheWrite5mTokens + cacheWrite1hTokens;
    this.cacheWrite1hTokens += cacheWrite1hTokens;
    this.inputCost +=
      inputTokens + short.read * cacheReadTokens + short.write * cacheWrite5mTokens + long.write * cacheWrite1hTokens;
    this.readCost += short.read * cacheReadTokens;
    if (header === "with-header") this.#chargeHeader(usage);
  }

  /** A request to another model without any cache. `rate`: its input price. */
  otherModel(inputTokens: number, rate: number): void {
    this.calls += 1;
    this.uncachedTokens += inputTokens;
    this.inputCost += rate * inputTokens;
  }

  #chargeHeader({ cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens }: UsageSplit): void {
    const { "5m": short, "1h": long } = this.#rates;
    const read = Math.min(cacheReadTokens, this.#headerTokens);
    const missRate = cacheWrite1hTokens > 0 ? long.write : cacheWrite5mTokens > 0 ? short.write : 1;
    this.headerCost += short.read * read + missRate * (this.#headerTokens - read);
    this.headerReadCost += short.read * read;
  }

  output(tokens: number, rate = this.#rates["5m"].output): void {
    this.outputTokens += tokens;
    this.outputCost += tokens * rate;
  }

  /** Charges for a cleared result that was needed: its tokens are written again, and one more round reads the whole context. */
  refetch({
    tokens,
    contextTokens,
    write,
  }: {
    readonly tokens: number;
    readonly contextTokens: number;
    readonly write: number;
  }): void {
    this.refetchCost += write * tokens + this.#rates["5m"].read * contextTokens;
  }
}
