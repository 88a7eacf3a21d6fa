import { escapeRegExp } from "../text/fill-template.ts";
import { queryCharsMax, queryPhrasesMax } from "./limits.ts";
import { collectTerms, type Term } from "./term.ts";

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
