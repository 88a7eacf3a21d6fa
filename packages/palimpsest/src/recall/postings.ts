import { eachTerm, type Term, collectTerms } from "./term.ts";
import { safeCutIndex } from "../text/safe-cut-index.ts";
import { passageChars, queryTermsMax, queryCharsMax, queryPhrasesMax } from "./limits.ts";
import { escapeRegExp } from "../text/fill-template.ts";

/** A passage with the number of its text. */
interface StoredPassage extends Passage {
  readonly text: number;
  /** The number of its terms. */
  readonly terms: number;
}

interface NewPassage extends Passage {
  readonly within: string;
  /** The number of the text. */
  readonly text: number;
}

/** Which passages have a term, and how often. Numbers are assigned in order and never change. */
export class Postings {
  /** Passage, count, passage, count …, by term. */
  readonly #byTerm = new Map<Term, number[]>();
  readonly #stored: StoredPassage[] = [];
  readonly #only: ReadonlySet<Term> | undefined;
  #passages = 0;
  #terms = 0;

  /** With `only`, no other terms are kept, nor passages without any of them. */
  constructor(only?: ReadonlySet<Term>) {
    this.#only = only;
  }

  /** The number of passages added, including those that are not kept. */
  get passages(): number {
    return this.#passages;
  }

  get termsMean(): number {
    return this.#passages === 0 ? 0 : this.#terms / this.#passages;
  }

  /** Says whether the passage is kept. */
  add({ within, from, to, text }: NewPassage): "kept" | "passed-over" {
    const number = this.#stored.length;
    let terms = 0;
    let kept = 0;
    eachTerm({ text: within, from, to }, (term) => {
      terms += 1;
      if (this.#only !== undefined && !this.#only.has(term)) return;
      kept += 1;
      this.#count(term, number);
    });
    this.#passages += 1;
    this.#terms += terms;
    if (kept === 0) return "passed-over";
    this.#stored.push({ from, to, text, terms });
    return "kept";
  }

  /** Passage, count, passage, count …, in the order of the passages. */
  of(term: Term): readonly number[] {
    return this.#byTerm.get(term) ?? [];
  }

  passage(number: number): StoredPassage {
    const found = this.#stored[number];
    if (found === undefined) throw new RangeError(`there is no passage ${number}`);
    return found;
  }

  #count(term: Term, passage: number): void {
    const posting = this.#byTerm.get(term);
    if (posting === undefined) {
      this.#byTerm.set(term, [passage, 1]);
      return;
    }
    const last = posting.length - 1;
    if (posting[last - 1] === passage) posting[last] = (posting[last] ?? 0) + 1;
    else posting.push(passage, 1);
  }
}

export interface Passage {
  readonly from: number;
  readonly to: number;
}

/** Splits a text into pieces of about a screenful: at the end of a line, else between words, else anywhere. */
export function* splitPassages(text: string): Generator<Passage> {
  for (let from = 0; from < text.length;) {
    const to = cutBefore(text, from);
    yield { from, to };
    from = to;
  }
}

function cutBefore(text: string, from: number): number {
  const limit = from + passageChars;
  if (limit >= text.length) return text.length;
  const line = text.lastIndexOf("\n", limit - 1);
  if (line >= from) return line + 1;
  const word = text.lastIndexOf(" ", limit - 1);
  return word >= from ? word + 1 : safeCutIndex(text, limit);
}

/** BM25's usual saturation: the second occurrence of a term counts half of the first. */
const saturation = 1.2;
/** How much the length of a passage counts against it; little, since passages have about the same length. */
const lengthShare = 0.3;

export interface RankedText {
  /** The number of the text. */
  readonly text: number;
  /** Its best passage. */
  readonly passage: number;
  readonly score: number;
}

/** The weight of each term of a query: the rarer, the higher. Of many terms only the rarest that occur at all count. */
export function weighTerms(query: Query, postings: Postings): ReadonlyMap<Term, number> {
  const weighed = query.terms.map((term): [Term, number] => {
    const count = postings.of(term).length / 2;
    return [term, Math.log(1 + (postings.passages - count + 0.5) / (count + 0.5))];
  });
  if (weighed.length <= queryTermsMax) return new Map(weighed);
  const occurring = weighed.filter(([term]) => postings.of(term).length > 0);
  return new Map(occurring.toSorted(([, left], [, right]) => right - left).slice(0, queryTermsMax));
}

/** Texts ranked by their best passage (BM25 over passages), unsorted. */
export function rankTexts(postings: Postings, weights: ReadonlyMap<Term, number>): readonly RankedText[] {
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
  const bestByText = new Map<number, RankedText>();
  for (const [passage, score] of scores) {
    const { text } = postings.passage(passage);
    const best = bestByText.get(text);
    if (best === undefined || score > best.score || (score === best.score && passage < best.passage))
      bestByText.set(text, { text, passage, score });
  }
  return [...bestByText.values()];
}

/** What is searched for: any of the terms, and every phrase. */
export interface Query {
  readonly terms: readonly Term[];
  readonly phrases: readonly Phrase[];
  /** The query as written, normalised by `flattenText`. */
  readonly whole: string;
}

export interface Phrase {
  readonly terms: readonly Term[];
  /** As written. */
  readonly source: string;
  /** Matches the words as written, ignoring case and the amount of space between them. */
  readonly form: RegExp;
}

const quotedPhrase = /["“”]([^"“”]+)["“”]/g;

/** Text in quotation marks must be found as it is; of the rest any word may match. */
export function parseQuery(written: string): Query {
  const query = written.slice(0, queryCharsMax);
  const phrases = Array.from(query.matchAll(quotedPhrase), ([, phrase = ""]) => phrase.trim())
    .filter((phrase) => phrase !== "")
    .slice(0, queryPhrasesMax)
    .map((phrase) => ({ terms: collectTerms(phrase), source: phrase, form: phrasePattern(phrase) }));
  const unquoted = query.replaceAll(/["“”]/g, " ");
  return { terms: collectTerms(unquoted), phrases, whole: flattenText(unquoted) };
}

/** Lower case, with one space between words. */
export const flattenText = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, " ").trim();

/** A phrase that begins or ends with a word character matches only at the border of a word. */
function phrasePattern(phrase: string): RegExp {
  const words = phrase.split(/\s+/).map((word) => escapeRegExp(word));
  const before = /^\w/.test(phrase) ? String.raw`(?<!\w)` : "";
  const after = /\w$/.test(phrase) ? String.raw`(?!\w)` : "";
  return new RegExp(before + words.join(String.raw`\s+`) + after, "iu");
}
