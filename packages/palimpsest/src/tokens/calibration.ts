import type { Tokens } from "../schema/brand.ts";
import { type ByteCounts, type ContentClass, contentClasses } from "./byte-counts.ts";
import { defaultRates, type Rates, uncalibratedPadding } from "./estimate-block.ts";

/**
 * Rates learned from observed growth. Each observation says that these bytes, by class, made the context grow by this
 * many tokens. The rates are the least-squares solution over all observations. Older ones fade, and each is weighted by
 * its size, so that a large result does not dominate. The padded default rate serves as one observation of each class:
 * it decides if nothing else is known, and soon has little weight once there are real observations.
 */
export class Calibration {
  /** Normal equations: `#products[i][j]` sums byte i × byte j, `#growth[i]` sums byte i × tokens. */
  readonly #products: number[][];
  readonly #growth: number[];
  #observations = 0;
  #rates: Rates | undefined;

  constructor({ observations, products, growth }: CalibrationState = { observations: 0, products: {}, growth: {} }) {
    this.#observations = observations;
    this.#products = learnedClasses.map((row) => learnedClasses.map((column) => products[row]?.[column] ?? 0));
    this.#growth = learnedClasses.map((name) => growth[name] ?? 0);
  }

  /** A calibration that is created from this continues with exactly the same numbers. */
  get state(): CalibrationState {
    return {
      observations: this.#observations,
      products: recordByClass(this.#products, (row) =>
        row.some((sum) => sum !== 0) ? recordByClass(row, nonZero) : undefined,
      ),
      growth: recordByClass(this.#growth, nonZero),
    };
  }

  get observations(): number {
    return this.#observations;
  }

  get rates(): Rates {
    return (this.#rates ??= this.#solve());
  }

  /** The same without padding and margin: for content that is subtracted, when too high a rate would be unsafe. */
  get lowRates(): Rates {
    if (this.#observations === 0) return defaultRates;
    const { rates } = this;
    return mapRates((name) => rates[name] / margin);
  }

  observe(counts: ByteCounts, growth: Tokens): void {
    const { rates } = this;
    const expected = contentClasses.reduce((sum, name) => sum + counts[name] * rates[name], 0);
    // Growth that the content can't explain has another cause: text that is never logged, or history that was dropped.
    if (expected < observedTokensMin || growth > expected * oddRatioMax || growth < expected / oddRatioMax) return;
    this.#observations += 1;
    this.#rates = undefined;
    for (const [row, name] of learnedClasses.entries()) {
      this.#growth[row] = (this.#growth[row] ?? 0) * fading + (counts[name] * growth) / expected;
      for (const [column, other] of learnedClasses.entries()) {
        const products = this.#products[row];
        if (products !== undefined)
          products[column] = (products[column] ?? 0) * fading + (counts[name] * counts[other]) / expected;
      }
    }
  }

  /** Converts the rates to another tokenizer, which takes this many times the tokens for the same bytes. */
  scale(ratio: number): void {
    this.#rates = undefined;
    for (const [at, sum] of this.#growth.entries()) this.#growth[at] = sum * ratio;
  }

  #solve(): Rates {
    const matrix = this.#products.map((row, at) =>
      row.map((value, column) => value + (at === column ? priorWeight(at) : 0)),
    );
    const right = this.#growth.map((value, at) => value + priorWeight(at) * priorRate(at));
    const solved = solveSymmetric(matrix, right);
    const factor = this.#observations === 0 ? 1 : margin;
    return mapRates((_, at) => factor * clampRate(solved[at] ?? priorRate(at), priorRate(at)));
  }
}

/** What was learned, by class. Classes that were never observed are left out: another version may have other classes. */
export interface CalibrationState {
  readonly observations: number;
  readonly products: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly growth: Readonly<Record<string, number>>;
}

const recordByClass = <Value, Kept>(
  values: readonly Value[],
  keep: (value: Value) => Kept | undefined,
): Record<string, Kept> =>
  Object.fromEntries(
    values.flatMap((value, at) => {
      const kept = keep(value);
      const name = learnedClasses[at];
      return kept === undefined || name === undefined ? [] : [[name, kept]];
    }),
  );

const nonZero = (sum: number): number | undefined => (sum === 0 ? undefined : sum);

/** `counted` has no rate, because it is already in tokens. */
const learnedClasses = contentClasses.filter((name) => name !== "counted");

const fading = 0.99;
/** Less growth is not worth learning from: reminders and other unlogged text would be most of it. */
const observedTokensMin = 50;
const oddRatioMax = 4;
/** An estimate that is a little too high warns a little too early; one that is too low fails a request. */
const margin = 1.03;
/** Weight of a class's default rate, in tokens. */
const priorTokens = 100;

const priorRate = (at: number): number => defaultRates[learnedClasses[at] ?? "prose"] * uncalibratedPadding;
/** Counts the default rate as an observation of `priorTokens`: bytes² / tokens, on the scale of the sums. */
const priorWeight = (at: number): number => priorTokens / priorRate(at) ** 2;
/** No tokenizer differs by more than this: a rate outside the range means that the observations contradict each other. */
const clampRate = (rate: number, usual: number): number => Math.min(3 * usual, Math.max(usual / 3, rate));

/** Gaussian elimination; the prior on the diagonal keeps the matrix positive definite. */
function solveSymmetric(matrix: number[][], right: number[]): number[] {
  const size = right.length;
  const at = (row: number, column: number): number => matrix[row]?.[column] ?? 0;
  for (let pivot = 0; pivot < size; pivot += 1) {
    for (let row = pivot + 1; row < size; row += 1) {
      const factor = at(row, pivot) / at(pivot, pivot);
      if (factor === 0) continue;
      matrix[row] = (matrix[row] ?? []).map((value, column) => value - factor * at(pivot, column));
      right[row] = (right[row] ?? 0) - factor * (right[pivot] ?? 0);
    }
  }
  const solved: number[] = Array.from({ length: size }, () => 0);
  for (let row = size - 1; row >= 0; row -= 1) {
    let rest = right[row] ?? 0;
    for (let column = row + 1; column < size; column += 1) rest -= at(row, column) * (solved[column] ?? 0);
    solved[row] = rest / at(row, row);
  }
  return solved;
}

const mapRates = (value: (name: ContentClass, at: number) => number): Rates => {
  const [prose = 0, code = 0, numbers = 0, json = 0, cjk = 0, base64 = 0, emoji = 0, media = 0] =
    learnedClasses.map(value);
  return { prose, code, numbers, json, cjk, base64, emoji, media, counted: 0 };
};
