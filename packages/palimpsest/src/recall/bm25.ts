import type { Field } from "../ports/ranker.ts";

/** How soon more occurrences of a word stop to count (`k1`), and how much length counts against a document (`b`). */
export interface Bm25Setting {
  readonly saturation: number;
  readonly lengthShare: number;
}

/** The weight of a word: the fewer documents have it, the higher. */
export function wordWeight<Word>(field: Field<Word>, word: Word): number {
  const withIt = Math.min(field.documentsWith(word), field.documents);
  return Math.log(1 + (field.documents - withIt + 0.5) / (withIt + 0.5));
}

/** What `count` occurrences of a word of weight 1 add. `length` is relative to the mean of its field. */
export function saturate(count: number, length: number, { saturation, lengthShare }: Bm25Setting): number {
  if (count === 0) return 0;
  return (count * (saturation + 1)) / (count + saturation * (1 - lengthShare + lengthShare * length));
}

export interface CountedDocument<Word = string> {
  readonly length: number;
  /** How often the document has each word of the query. */
  readonly countByWord: ReadonlyMap<Word, number>;
}

export function bm25<Word>(
  document: CountedDocument<Word>,
  { field, setting }: { readonly field: Field<Word>; readonly setting: Bm25Setting },
): number {
  const length = field.words === 0 ? 1 : (document.length * field.documents) / field.words;
  let score = 0;
  for (const [word, count] of document.countByWord) score += wordWeight(field, word) * saturate(count, length, setting);
  return score;
}
