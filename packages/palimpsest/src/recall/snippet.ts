import { safeCutIndex } from "../text/safe-cut-index.ts";
import { hitNeighbourChars, sameLineChars, snippetChars } from "./limits.ts";
import { flattenText, type Phrase, type Query } from "./parse-query.ts";
import type { Passage } from "./split-passages.ts";
import { eachTerm, type Term } from "./term.ts";

export interface SnippetInput {
  readonly text: string;
  /** Where the line is searched, unless a phrase determines it. */
  readonly passage: Passage;
  readonly weights: ReadonlyMap<Term, number>;
  readonly phrases: readonly Phrase[];
}

export interface Snippet {
  readonly snippet: string;
  /** Where it begins in the text: at its line, or inside a long line. */
  readonly offset: number;
  /** Equal for two snippets that show the same line. */
  readonly line: string;
  /** The total weight of the terms in the line. */
  readonly weight: number;
}

/**
 * The line that matches most of the query, with what follows as far as there is room. Undefined if a phrase is not in
 * the text.
 */
export function findSnippet({ text, passage, weights, phrases }: SnippetInput): Snippet | undefined {
  const places = phrases.map(({ form }) => form.exec(text)?.index);
  if (places.includes(undefined)) return undefined;
  const [phraseAt] = places;
  const line =
    phraseAt === undefined ? bestLine({ text, passage, weights }) : lineOfPhrase({ text, at: phraseAt, weights });
  const isFar = line.at - line.from > snippetChars / 2;
  const from = isFar ? safeCutIndex(text, line.at - Math.floor(snippetChars / 4)) : line.from;
  return {
    snippet: clipSnippet(text.slice(from, safeCutIndex(text, from + 2 * snippetChars)), isFar ? "…" : ""),
    offset: from,
    line: text
      .slice(line.from, Math.min(line.to, line.from + sameLineChars))
      .replace(lineNumber, "")
      .trim(),
    weight: line.weight,
  };
}

/** The format in which tools number the lines of files. The number changes with every line added above. */
const lineNumber = /^\s*\d+[→\t:|]\s?/;

interface WeighedLine extends Passage {
  /** Position of the first match. */
  readonly at: number;
  readonly weight: number;
}

/** The first line with the highest weight. */
function bestLine({ text, passage, weights }: Omit<SnippetInput, "phrases">): WeighedLine {
  let best: WeighedLine | undefined;
  for (let from = passage.from; from < passage.to;) {
    const found = text.indexOf("\n", from);
    const to = found === -1 || found >= passage.to ? passage.to : found;
    const line = { from, to, ...weighLine({ text, from, to }, weights) };
    if (best === undefined || line.weight > best.weight) best = line;
    from = to + 1;
  }
  return best ?? { ...passage, at: passage.from, weight: 0 };
}

function lineOfPhrase({
  text,
  at,
  weights,
}: {
  text: string;
  at: number;
  weights: SnippetInput["weights"];
}): WeighedLine {
  const from = text.lastIndexOf("\n", at) + 1;
  const found = text.indexOf("\n", at);
  const to = found === -1 ? text.length : found;
  return { from, to, weight: weighLine({ text, from, to }, weights).weight, at };
}

function weighLine(
  line: { readonly text: string } & Passage,
  weights: ReadonlyMap<Term, number>,
): Pick<WeighedLine, "at" | "weight"> {
  const seen = new Set<Term>();
  let weight = 0;
  let at = line.from;
  eachTerm(line, (term, end) => {
    const worth = weights.get(term);
    if (worth === undefined || seen.has(term)) return;
    if (seen.size === 0) at = end;
    seen.add(term);
    weight += worth;
  });
  return { at, weight };
}

/** The beginning of a text that stands beside a hit, in one line. */
export function neighbourLine(text: string): string {
  const start = text.trimStart();
  return clipLine(start.slice(0, safeCutIndex(start, 4 * hitNeighbourChars)), hitNeighbourChars);
}

const clipSnippet = (text: string, before: "" | "…"): string => clipLine(before + flattenSpace(text), snippetChars);

/** Well-formed even if the text is not: providers refuse a request with half a character. */
function clipLine(text: string, charsMax: number): string {
  const flat = flattenSpace(text).toWellFormed();
  return flat.length <= charsMax ? flat : `${flat.slice(0, safeCutIndex(flat, charsMax - 1))}…`;
}

const flattenSpace = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** What a line adds to the score of its text: terms in one line count up to twice, the whole query in one line a third time. */
export function lineFactor(
  snippet: Snippet,
  { query, weights }: { readonly query: Query; readonly weights: ReadonlyMap<Term, number> },
): number {
  const sum = weights.values().reduce((total, weight) => total + weight, 0);
  const together = sum === 0 ? 0 : snippet.weight / sum;
  const whole = flattenText(snippet.line.replaceAll(/["“”]/g, " ")).includes(query.whole) ? 1 : 0;
  return 1 + together + whole;
}
