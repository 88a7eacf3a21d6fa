import { queryCharsMax, queryPhrasesMax } from "./limits.ts";
import { type Term, termsOf } from "./terms.ts";

/** What is searched for: any of the terms, and every phrase. */
export interface Query {
  readonly terms: readonly Term[];
  readonly phrases: readonly Phrase[];
  /** As it was written, in the form of `flat`. */
  readonly whole: string;
}

export interface Phrase {
  readonly terms: readonly Term[];
  /** The words as they were written, whatever their case and the space between them. */
  readonly form: RegExp;
}

const quoted = /["“”]([^"“”]+)["“”]/g;

/** What stands in quotation marks must be found as it stands; of the rest any word may be. */
export function parseQuery(written: string): Query {
  const query = written.slice(0, queryCharsMax);
  const phrases = Array.from(query.matchAll(quoted), ([, phrase = ""]) => phrase.trim())
    .filter((phrase) => phrase !== "")
    .slice(0, queryPhrasesMax)
    .map((phrase) => ({ terms: termsOf(phrase), form: formOf(phrase) }));
  const unquoted = query.replaceAll(/["“”]/g, " ");
  return { terms: termsOf(unquoted), phrases, whole: flat(unquoted) };
}

/** Without case, with one space between words. */
export const flat = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, " ").trim();

/** Where it begins or ends in a letter of a script with spaces, the word does so too. */
function formOf(phrase: string): RegExp {
  const words = phrase.split(/\s+/).map((word) => RegExp.escape(word));
  const before = /^\w/.test(phrase) ? String.raw`(?<!\w)` : "";
  const after = /\w$/.test(phrase) ? String.raw`(?!\w)` : "";
  return new RegExp(before + words.join(String.raw`\s+`) + after, "iu");
}
