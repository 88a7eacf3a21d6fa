import type { Candidate, Embedder, RankedPassage, Ranker, RankRequest } from "../ports/ranker.ts";
import { rankPassages, sortBest } from "./rank-passages.ts";

interface DefaultRankerOptions {
  /** Off by default: none is part of this package. */
  readonly embedder?: Embedder | undefined;
}

/** What a cosine of 1 adds to a score, whose other parts add up to about 15. */
const cosineWeight = 10;

/** Ranks by words, speakers, times and sessions; with an embedder also by the likeness of query and passage. */
export function createDefaultRanker({ embedder }: DefaultRankerOptions = {}): Ranker {
  if (embedder === undefined) return { name: "words", rank: async (request) => rankPassages(request) };
  return {
    name: "words and vectors",
    rank: async (request) => {
      const ranked = rankPassages(request);
      const cosines = await cosinesByKey(embedder, request);
      return cosines === undefined ? ranked : addCosines(ranked, { cosines, candidates: request.candidates });
    },
  };
}

function addCosines(
  ranked: readonly RankedPassage[],
  { cosines, candidates }: { readonly cosines: ReadonlyMap<number, number>; readonly candidates: readonly Candidate[] },
): readonly RankedPassage[] {
  const passageByKey = new Map(candidates.map((passage) => [passage.key, passage]));
  return sortBest(
    ranked.flatMap(({ key, score }) => {
      const passage = passageByKey.get(key);
      return passage === undefined ? [] : [{ passage, score: score + cosineWeight * (cosines.get(key) ?? 0) }];
    }),
  );
}

/** Undefined if the embedder fails. */
async function cosinesByKey(
  embedder: Embedder,
  { query, candidates }: RankRequest,
): Promise<ReadonlyMap<number, number> | undefined> {
  const unknown = candidates.filter(({ vector }) => vector?.length !== embedder.dims);
  try {
    const [asked, ...embedded] = await embedder.embed([query, ...unknown.map(({ text }) => text)]);
    if (asked === undefined) return undefined;
    const vectorByKey = new Map(unknown.map(({ key }, number) => [key, embedded[number]]));
    return new Map(candidates.map(({ key, vector }) => [key, cosine(asked, vectorByKey.get(key) ?? vector)]));
  } catch {
    return undefined;
  }
}

function cosine(left: Float32Array, right: Float32Array | undefined): number {
  if (right === undefined) return 0;
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (const [at, value] of left.entries()) {
    const other = right[at] ?? 0;
    product += value * other;
    leftSquares += value * value;
    rightSquares += other * other;
  }
  const lengths = Math.sqrt(leftSquares * rightSquares);
  return lengths === 0 ? 0 : product / lengths;
}
