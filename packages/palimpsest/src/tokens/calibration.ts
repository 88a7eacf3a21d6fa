import type { Tokens } from "../schema/brand.ts";
import { type ByteCounts, type ContentClass, contentClasses } from "./byte-counts.ts";
import { defaultRates, type Rates, uncalibratedPadding } from "./estimate-block.ts";

/**
 * Rates learned from observed growth. Each observation says: these bytes, by class, made the context grow by so many
 * tokens. The rates are the least-squares solution over all of them, older ones fading, each weighed by its size, so
 * that a large result does not drown the rest. The default rate, padded, stands in as one observation of each class:
 * it decides where nothing else is known and soon counts for little where something is.
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

  /** Goes on from here, number for number. */
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

  /** The same without padding and margin: for what is taken off, where too much would be unsafe. */
  get lowRates(): Rates {
    if (this.#observations === 0) return defaultRates;
    const { rates } = this;
    return mapRates((name) => rates[name] / margin);
  }

  observe(counts: ByteCounts, grown: Tokens): void {
    const { rates } = this;
    const expected = contentClasses.reduce((sum, name) => sum + counts[name] * rates[name], 0);
    // Growth that its content can't explain came from elsewhere: text that is never logged, or history that was dropped.
    if (expected < observedTokensMin || grown > expected * oddRatioMax || grown < expected / oddRatioMax) return;
    this.#observations += 1;
    this.#rates = undefined;
    for (const [row, name] of learnedClasses.entries()) {
      this.#growth[row] = (this.#growth[row] ?? 0) * fading + (counts[name] * grown) / expected;
      for (const [column, other] of learnedClasses.entries()) {
        const products = this.#products[row];
        if (products !== undefined)
          products[column] = (products[column] ?? 0) * fading + (counts[name] * counts[other]) / expected;
      }
    }
  }

  /** Another tokenizer takes this many times the tokens for the same bytes: what was learned of one holds for the other. */
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

/** What was learned, by class, without the classes that were never seen: another version may know others. */
export interface CalibrationState {
  readonly observations: number;
  readonly products: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly growth: Readonly<Record<string, number>>;
}

const recordByClass = <Value, Kept>(
  values: readonly Value[],
  kept: (value: Value) => Kept | undefined,
): Record<string, Kept> =>
  Object.fromEntries(
    values.flatMap((value, at) => {
      const one = kept(value);
      const name = learnedClasses[at];
      return one === undefined || name === undefined ? [] : [[name, one]];
    }),
  );

const nonZero = (sum: number): number | undefined => (sum === 0 ? undefined : sum);

/** What a tokenizer has counted has no rate. */
const learnedClasses = contentClasses.filter((name) => name !== "counted");

const fading = 0.99;
/** Too little to learn from: reminders and other unlogged text would be most of it. */
const observedTokensMin = 50;
const oddRatioMax = 4;
/** An estimate that is a little too high warns a little too early; one that is too low fails a request. */
const margin = 1.03;
/** Tokens that the default rate of a class is worth. */
const priorTokens = 100;

const priorRate = (at: number): number => defaultRates[learnedClasses[at] ?? "prose"] * uncalibratedPadding;
/** As if the default had been observed on this many tokens: bytes² / tokens, in the scale of the sums. */
const priorWeight = (at: number): number => priorTokens / priorRate(at) ** 2;
/** No tokenizer is this far off: beyond it the observations contradict each other. */
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
