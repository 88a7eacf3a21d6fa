import { contentWords } from "./content-words.ts";
import { repeatedShareMin, sentenceWordsMin, sourcedShareMin, trustWindowWordsMin } from "./limits.ts";
import { WordPlaces } from "./word-places.ts";

/**
 * The sentences of a memory that stand in none of the sources: most of their words stand together nowhere, or they name a
 * number, a path or an identifier that no source has. Dates are exempt, since "tomorrow" becomes one. A line on how to apply
 * a rule may be in other words, but names nothing new.
 */
export function findUnsourced(text: string, sources: readonly string[]): readonly string[] {
  const sentences = splitSentences(text);
  const places = findPlaces(sentences, sources);
  const sourceText = sources.join("\n").toLowerCase();
  return sentences.filter((sentence) => {
    if (findNames(sentence).some((name) => !sourceText.includes(name))) return true;
    const words = new Set(contentWords(stripDates(sentence)));
    if (words.size < 2 || applyLine.test(sentence)) return false;
    return places.share(words, stretchFor(words)) < sourcedShareMin;
  });
}

/**
 * The sentences that repeat one of these texts, unless the user's own words say the same: what was recalled, instructed or
 * summarised is known already.
 */
export function findRepeated(
  text: string,
  { known, own }: { readonly known: readonly string[]; readonly own: readonly string[] },
): readonly string[] {
  const sentences = splitSentences(text);
  const [knownPlaces, ownPlaces] = [findPlaces(sentences, known), findPlaces(sentences, own)];
  return sentences.filter((sentence) => {
    const words = new Set(contentWords(sentence));
    if (words.size < sentenceWordsMin) return false;
    const stretch = stretchFor(words);
    return knownPlaces.share(words, stretch) >= repeatedShareMin && ownPlaces.share(words, stretch) < repeatedShareMin;
  });
}

/** Sentences, list items and lines, without headings. */
export const splitSentences = (text: string): readonly string[] =>
  text
    .split(/\n+|(?<=[.!?;])\s+|(?<=[。！？])/u)
    .map((part) => part.replace(/^[\s#>*-]+(?=\S)/, "").trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part));

/** `2026-11-18`, `2026-11`. */
export const dateForm = /\b\d{4}-\d\d(?:-\d\d)?\b/g;

export const stripDates = (sentence: string): string => sentence.replaceAll(dateForm, " ");

const applyLine = /^\**how to apply\b/i;

const findPlaces = (sentences: readonly string[], texts: readonly string[]): WordPlaces =>
  new WordPlaces(texts, { words: new Set(sentences.flatMap(contentWords)), runs: new Map() });

const stretchFor = (words: ReadonlySet<string>): number => Math.max(trustWindowWordsMin, 4 * words.size);

/** Numbers, paths, options and identifiers, in lower case. */
export function findNames(sentence: string): readonly string[] {
  const tokens = sentence.match(/[^\s"'`()<>[\]{},;|*]+/g) ?? [];
  return tokens
    .map((token) => token.replaceAll(/^[.:!?]+|[.:!?]+$/g, ""))
    .filter((token) => /\d|[/\\@$=~_]|\w\.\w|^--?\w|[a-z][A-Z]/.test(token))
    .filter((token) => stripDates(token).trim() !== "")
    .map((token) => token.toLowerCase());
}
