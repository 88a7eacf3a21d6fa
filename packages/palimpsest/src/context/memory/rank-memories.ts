import type { RankMemories } from "../../memory/directory/relevant-memories.ts";
import type { Memory } from "../../ports/memories.ts";
import { bm25 } from "../../recall/bm25.ts";
import { stemText } from "../../recall/stem.ts";
import { collectTerms } from "../../recall/term.ts";

/**
 * Ranks without a model: BM25 over name, description and type. A memory that shares only one common word with a long message
 * has nothing to do with it: it must share two, or one that stands in its name, and score half as high as the best.
 */
export const rankMemories: RankMemories = (message, memories) => {
  const query = new Set(splitWords(message));
  const documents = memories.map((memory) => readDocument(memory, query));
  const field = {
    documents: documents.length,
    words: documents.reduce((sum, { length }) => sum + length, 0),
    documentsWith: (word: string) => documents.filter(({ countByWord }) => countByWord.has(word)).length,
  };
  const scored = documents
    .filter((document) => isRelated(document))
    .map((document) => ({ document, score: bm25(document, { field, setting }) }))
    .toSorted((one, other) => other.score - one.score);
  const best = scored[0]?.score ?? 0;
  return Promise.resolve(
    scored.filter(({ score }) => score >= best * shareOfBest).map(({ document: { memory } }) => memory),
  );
};

/** The usual values for short texts. */
const setting = { saturation: 1.2, lengthShare: 0.5 };
const shareOfBest = 0.5;

interface MemoryDocument {
  readonly memory: Memory;
  readonly length: number;
  readonly countByWord: ReadonlyMap<string, number>;
  readonly nameHits: number;
}

function readDocument(memory: Memory, query: ReadonlySet<string>): MemoryDocument {
  const name = splitWords(memory.name);
  const words = [...name, ...splitWords(memory.description), ...splitWords(memory.type ?? "")];
  const countByWord = new Map<string, number>();
  for (const word of words) if (query.has(word)) countByWord.set(word, (countByWord.get(word) ?? 0) + 1);
  return { memory, length: words.length, countByWord, nameHits: name.filter((word) => query.has(word)).length };
}

const isRelated = ({ countByWord, nameHits }: MemoryDocument): boolean => countByWord.size >= 2 || nameHits > 0;

/** Stems of English words, and the terms of every other script. */
const splitWords = (text: string): readonly string[] => [
  ...stemText(text),
  ...collectTerms(text.replaceAll(/[\p{ASCII}]+/gu, " ")).map((term) => `#${term}`),
];
