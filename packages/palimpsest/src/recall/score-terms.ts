import type { Candidate, Field } from "../ports/ranker.ts";
import { saturate, wordWeight, type Bm25Setting } from "./bm25.ts";
import { queryTermsMax } from "./limits.ts";
import { flattenText, parseQuery } from "./parse-query.ts";
import { eachTerm, type Term } from "./term.ts";

const termSetting: Bm25Setting = { saturation: 1.2, lengthShare: 0.3 };

/** How the terms of a query (identifiers, paths, words as written) fit a passage. */
export interface ScoredTerms {
  readonly passage: Candidate;
  /** BM25 of the passage, from 0 to about 2.2 for any query. */
  readonly score: number;
  /** The share of the query's terms, by weight, that are in the call that the passage answers. */
  readonly call: number;
  /** The largest share that one line has. */
  readonly line: number;
  /** Whether the passage has the whole query as written, ignoring case and space. */
  readonly whole: 0 | 1;
}

export function scoreTerms(
  query: string,
  { candidates, field }: { readonly candidates: readonly Candidate[]; readonly field: Field<Term> },
): readonly ScoredTerms[] {
  const { terms, whole } = parseQuery(query);
  const weights = new Map(
    terms
      .filter((term) => field.documentsWith(term) > 0)
      .map((term): [Term, number] => [term, wordWeight(field, term)])
      .toSorted(([, left], [, right]) => right - left)
      .slice(0, queryTermsMax),
  );
  const weightSum = weights.values().reduce((sum, weight) => sum + weight, 0);
  const scale = weightSum === 0 ? 0 : 1 / weightSum;
  const meanLength = Math.max(1, field.words / Math.max(1, field.documents));
  return candidates.map((passage) => {
    const { countByTerm, length, bestLine } = countTerms(passage.text, weights);
    let score = 0;
    for (const [term, count] of countByTerm)
      score += (weights.get(term) ?? 0) * saturate(count, length / meanLength, termSetting);
    return {
      passage,
      score: score * scale,
      call: passage.call === undefined ? 0 : weighText(passage.call, weights) * scale,
      line: bestLine * scale,
      whole:
        bestLine > 0 && whole !== "" && flattenText(passage.text.replaceAll(/["“”]/g, " ")).includes(whole) ? 1 : 0,
    };
  });
}

interface TermCounts {
  /** Only the query's terms. */
  readonly countByTerm: ReadonlyMap<Term, number>;
  /** Of all terms. */
  readonly length: number;
  /** The highest total weight of distinct terms in a line. */
  readonly bestLine: number;
}

function countTerms(text: string, weights: ReadonlyMap<Term, number>): TermCounts {
  const countByTerm = new Map<Term, number>();
  const inLine = new Set<Term>();
  let length = 0;
  let bestLine = 0;
  for (let from = 0; from < text.length;) {
    const found = text.indexOf("\n", from);
    const to = found === -1 ? text.length : found;
    let lineWeight = 0;
    inLine.clear();
    eachTerm({ text, from, to }, (term) => {
      length += 1;
      const weight = weights.get(term);
      if (weight === undefined) return;
      countByTerm.set(term, (countByTerm.get(term) ?? 0) + 1);
      if (inLine.has(term)) return;
      inLine.add(term);
      lineWeight += weight;
    });
    bestLine = Math.max(bestLine, lineWeight);
    from = to + 1;
  }
  return { countByTerm, length, bestLine };
}

/** The total weight of the distinct terms in a text. */
function weighText(text: string, weights: ReadonlyMap<Term, number>): number {
  const seen = new Set<Term>();
  eachTerm({ text }, (term) => seen.add(term));
  let weight = 0;
  for (const term of seen) weight += weights.get(term) ?? 0;
  return weight;
}
