import type { Candidate, Collection } from "../ports/ranker.ts";
import { saturate, wordWeight, type Bm25Setting } from "./bm25.ts";
import { neighbourStemsMax } from "./limits.ts";

/** What the words of a neighbour count for a passage, by distance. What came before counts more than what follows. */
const weightByDistance: readonly (readonly [distance: number, weight: number])[] = [
  [-3, 0.1],
  [-2, 0.2],
  [-1, 0.4],
  [0, 1],
  [1, 0.3],
  [2, 0.15],
  [3, 0.1],
];

/** Neighbours at this distance or nearer count for `share`. */
const shareReach = 2;

const windowSetting: Bm25Setting = { saturation: 0.9, lengthShare: 0.75 };

export interface ScoredWindow {
  readonly passage: Candidate;
  /** The passage before it in its session, if it is a candidate. */
  readonly before: Candidate | undefined;
  /** BM25 of the passage with the words around it, from 0 to about 1.9 for any query. */
  readonly score: number;
  /** The share of the query's words, by weight, that are in the passage or near it. */
  readonly share: number;
}

/**
 * In a conversation the words of a question are often not in the answer but in what was said before it. So a passage has
 * the words of its neighbours too, at a lower weight; of a long neighbour no more than `neighbourStemsMax` stems have.
 */
export function scoreWindows(
  stems: readonly string[],
  { candidates, collection }: { readonly candidates: readonly Candidate[]; readonly collection: Collection },
): readonly ScoredWindow[] {
  const known = stems.filter((stem) => collection.passages.documentsWith(stem) > 0);
  const weights = known.map((stem) => wordWeight(collection.passages, stem));
  const scale = 1 / (weights.reduce((sum, weight) => sum + weight, 0) || 1);
  const meanLength = meanWindowLength(collection);
  const table = new CountTable(known, candidates);
  return candidates.map((passage) => {
    const length = table.sumWindow(passage) / meanLength;
    let score = 0;
    let share = 0;
    for (let stem = 0; stem < weights.length; stem += 1) {
      const weight = weights[stem] ?? 0;
      score += weight * saturate(table.sums[stem] ?? 0, length, windowSetting);
      if (table.near[stem] === 1) share += weight;
    }
    return { passage, before: table.before(passage), score: score * scale, share: share * scale };
  });
}

/** How often each candidate has each stem of the query. Arrays of numbers, because this is most of the cost of a ranking. */
class CountTable {
  /** Of the last window: the weighted count of each stem. */
  readonly sums: Float64Array;
  /** Of the last window: 1 for each stem within `shareReach`. */
  readonly near: Uint8Array;
  readonly #candidates: readonly Candidate[];
  /** Stem by stem, candidate by candidate. */
  readonly #counts: Uint16Array;
  /** By session and position. */
  readonly #numbers = new Map<string, Map<number, number>>();

  constructor(stems: readonly string[], candidates: readonly Candidate[]) {
    this.sums = new Float64Array(stems.length);
    this.near = new Uint8Array(stems.length);
    this.#candidates = candidates;
    this.#counts = new Uint16Array(stems.length * candidates.length);
    const numberByStem = new Map(stems.map((stem, number) => [stem, number]));
    for (const [number, passage] of candidates.entries()) {
      const row = number * stems.length;
      for (const stem of passage.stems) {
        const found = numberByStem.get(stem);
        if (found !== undefined) this.#counts[row + found] = (this.#counts[row + found] ?? 0) + 1;
      }
      const session = this.#numbers.get(passage.session);
      if (session === undefined) this.#numbers.set(passage.session, new Map([[passage.position, number]]));
      else session.set(passage.position, number);
    }
  }

  before({ session, position }: Candidate): Candidate | undefined {
    return this.#candidates[this.#numbers.get(session)?.get(position - 1) ?? -1];
  }

  /** Returns the weighted length, and leaves the rest in `sums` and `near`. */
  sumWindow({ session, position }: Candidate): number {
    const numbers = this.#numbers.get(session);
    this.sums.fill(0);
    this.near.fill(0);
    let length = 0;
    for (const [distance, weight] of weightByDistance) {
      const number = numbers?.get(position + distance);
      const stems = number === undefined ? undefined : this.#candidates[number]?.stems.length;
      if (number === undefined || stems === undefined) continue;
      const factor = distance === 0 || stems <= neighbourStemsMax ? weight : (weight * neighbourStemsMax) / stems;
      length += factor * stems;
      const row = number * this.sums.length;
      for (let stem = 0; stem < this.sums.length; stem += 1) {
        const count = this.#counts[row + stem] ?? 0;
        if (count === 0) continue;
        this.sums[stem] = (this.sums[stem] ?? 0) + factor * count;
        if (distance <= shareReach && distance >= -shareReach) this.near[stem] = 1;
      }
    }
    return length;
  }
}

/**
 * The mean over the collection. A neighbour at distance d is missing at the borders of a session, d times in each; how
 * long the passages are that stand there is not known, so they count as the mean.
 */
function meanWindowLength({ passages, cappedStems, sessions }: Collection): number {
  let total = passages.words;
  for (const [distance, weight] of weightByDistance) {
    if (distance === 0 || passages.documents === 0) continue;
    const missing = Math.min(1, (Math.abs(distance) * sessions.documents) / passages.documents);
    total += weight * cappedStems * (1 - missing);
  }
  return Math.max(1, total / Math.max(1, passages.documents));
}
