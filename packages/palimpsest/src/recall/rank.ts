import { queryTermsMax } from "./limits.ts";
import type { Postings } from "./postings.ts";
import type { Query } from "./query.ts";
import type { Term } from "./terms.ts";

/** BM25's usual saturation: the second time a term occurs counts half of the first. */
const saturation = 1.2;
/** How much a long passage is held against it; little, as passages are of one length or shorter. */
const lengthShare = 0.3;

export interface Ranked {
  /** The number of the text. */
  readonly text: number;
  /** Its best passage. */
  readonly passage: number;
  readonly score: number;
}

/** What each of a query's terms is worth: the rarer, the more. Of many only the rarest count that are there at all. */
export function weightsOf(query: Query, postings: Postings): ReadonlyMap<Term, number> {
  const weighed = query.terms.map((term): [Term, number] => {
    const count = postings.of(term).length / 2;
    return [term, Math.log(1 + (postings.passages - count + 0.5) / (count + 0.5))];
  });
  if (weighed.length <= queryTermsMax) return new Map(weighed);
  const there = weighed.filter(([term]) => postings.of(term).length > 0);
  return new Map(there.toSorted(([, one], [, two]) => two - one).slice(0, queryTermsMax));
}

/** Texts by their best passage (BM25 over passages), in no order. */
export function rankTexts(postings: Postings, weights: ReadonlyMap<Term, number>): readonly Ranked[] {
  const scores = new Map<number, number>();
  for (const [term, weight] of weights) {
    const posting = postings.of(term);
    for (let at = 0; at < posting.length; at += 2) {
      const passage = posting[at] ?? 0;
      const count = posting[at + 1] ?? 0;
      const length = postings.passage(passage).terms / postings.termsMean;
      const worth =
        (weight * count * (saturation + 1)) / (count + saturation * (1 - lengthShare + lengthShare * length));
      scores.set(passage, (scores.get(passage) ?? 0) + worth);
    }
  }
  const bestByText = new Map<number, Ranked>();
  for (const [passage, score] of scores) {
    const { text } = postings.passage(passage);
    const best = bestByText.get(text);
    if (best === undefined || score > best.score || (score === best.score && passage < best.passage))
      bestByText.set(text, { text, passage, score });
  }
  return [...bestByText.values()];
}
