import { contentWords } from "../content-words.ts";

/**
 * A sentence as its words in their order, for an exact comparison. Case, punctuation, emphasis, articles and a lead-in
 * ("Note:", "As before,") don't count; everything else does.
 */
export function spell(sentence: string): string {
  const plain = sentence.normalize("NFKC").toLowerCase().replaceAll(/[‘’]/g, "'").replace(leadIn, "");
  return plain
    .split(/\s+/)
    .map((word) => word.replaceAll(/^["'`([{*“]+|[.,;:!?"'`)\]}*”…。！？]+$/gu, ""))
    .filter((word) => /[^-–—_]/u.test(word) && !articles.has(word))
    .join(" ");
}

const leadIn = /^(?:(?:please|note|again|also|remember|as (?:before|i said)|once more|i said it before)[:,]\s+)+/;
const articles: ReadonlySet<string> = new Set(["the", "a", "an"]);

/** What negates: the words behind it in its clause are denied. */
const negation =
  /\b(?:not|never|no|none|nor|without|off|except|unless|avoid|stop|instead|cannot|\w+n't|nicht|kein\w*|nie|niemals|ohne|jamais|sans|nunca|sin)\b|[不没非无]|ない/iu;

/** What narrows a rule. */
const narrowing = /\b(?:only|must|may|if|until|nur|erst|falls|seulement|solo)\b/iu;

export const isNegated = (sentence: string): boolean => negation.test(sentence);
export const isNarrowed = (sentence: string): boolean => narrowing.test(sentence);

/** The content words that a negation covers: "not on Friday". */
export function findNegated(sentence: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const clause of sentence.split(/[,;:()–—]|\bbut\b|\baber\b/iu)) {
    const at = clause.search(negation);
    if (at !== -1) for (const word of contentWords(clause.slice(at))) words.add(word);
  }
  return words;
}
