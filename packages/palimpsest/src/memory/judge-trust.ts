import type { MemoryTrust } from "../ports/memories.ts";
import { contentWords, isUnspaced } from "./content-words.ts";
import {
  trustClauseWordsMin,
  trustForeignClauseWords,
  trustForeignWords,
  trustMarginEarlier,
  trustNamesMax,
  trustPassageWordsMin,
  trustRunPairs,
  trustRunWords,
  trustScanCharsMax,
  trustShareFromOutside,
  trustShareFromUser,
  trustShareFromUserEarlier,
  trustWindowWordsMin,
} from "./limits.ts";
import { WordPlaces } from "./word-places.ts";

/** The texts that the words of a memory may have come from. */
export interface TrustSources {
  /** The user's own words, and memories that are trusted. */
  readonly own: readonly string[];
  /** Tool results, files, web pages, summaries and untrusted memories; newest first. */
  readonly outside: readonly string[];
  /**
   * When text from outside last arrived that the writer may have been led by: since the user's newest message, before it,
   * or never in this session.
   */
  readonly arrived: "since-user" | "earlier" | "never";
}

/**
 * Whether text that a model writes down is the user's or somebody else's. Pure and the same each time: no model is asked.
 *
 *   never arrived      trusted
 *   any of these       untrusted   a name that only outside texts have (a path, an address, anything in backticks)
 *                                  a run of words, or a whole short clause, that only outside texts have
 *                                  words that are not the user's, most of which stand together outside
 *                                  a passage whose words stand together outside rather than in the user's texts, by a
 *                                  margin if nothing arrived since the user spoke
 *   earlier            trusted     if a third of all words are the user's, and some of each long clause: a paraphrase
 *   since the user     trusted     if half of the words of each clause are: nearly the user's own words
 *   else               untrusted
 *
 * A share is that of a passage's distinct words within one stretch of one text, so that a long text does not hold every
 * word by chance.
 */
export function judgeTrust(written: string, { own, outside, arrived }: TrustSources): MemoryTrust {
  if (arrived === "never" || written.trim() === "") return "trusted";
  const scanned = takeChars(outside, trustScanCharsMax);
  const nearness = arrived === "since-user" || scanned.length < outside.length ? "near" : "earlier";
  if (hasForeignName(written, { own, scanned }) || isDisguised(written, own)) return "untrusted";
  const clauses = splitClauses(written);
  const words = new Set(clauses.flat());
  if (words.size === 0) return nearness === "near" ? "untrusted" : "trusted";
  const runs = findRuns(clauses, nearness);
  const judged: Judged = {
    nearness,
    own: new WordPlaces(own, { words, runs: new Map() }),
    outside: new WordPlaces(scanned, { words, runs }),
  };
  const passages = splitPassages(written, nearness === "near" ? clauseEnds : sentenceEnds);
  const isTrusted =
    !hasForeignRun(judged) &&
    !clauses.some((clause) => isUnknownClause(clause, judged)) &&
    passages.every((passage) => isNearerToUser(passage, judged)) &&
    !withNeighbours(passages, words).some((passage) => isGatheredOutside(passage, judged));
  const known = [...words].filter((word) => judged.own.has(word)).length;
  const isUsers = isTrusted && known / words.size >= trustShareFromUserEarlier;
  return isUsers && !judged.own.isSpent && !judged.outside.isSpent ? "trusted" : "untrusted";
}

/** Forms that hide words from a comparison of words: spaced letters, look-alikes of other scripts, a sentence as one name. */
const isDisguised = (written: string, own: readonly string[]): boolean =>
  /(?:(?<![\p{L}\p{N}])\p{L}[ \t.]+){4}/u.test(written) ||
  /(?=\p{L}*\p{Script=Latin})(?=\p{L}*[\p{Script=Cyrillic}\p{Script=Greek}])\p{L}{3,}/u.test(written) ||
  (written.match(/\b(?:[A-Z]?[a-z]+)(?:[A-Z][a-z]+){3,}\b/g) ?? []).some(
    (name) => !own.some((text) => text.includes(name)),
  );

interface Judged {
  /** `near`: something has arrived since the user spoke, or too much to compare. */
  readonly nearness: "near" | "earlier";
  readonly own: WordPlaces;
  readonly outside: WordPlaces;
}

/** The words of a run stand outside in this order, and not even near each other in the user's texts. */
const hasForeignRun = ({ own, outside }: Judged): boolean =>
  outside.runsFound.some((run) => own.share(new Set(run), shortStretch(run.length)) < 1);

/** About a sentence. */
const shortStretch = (words: number): number => Math.max(12, 3 * words);

const isUnknownClause = (clause: readonly string[], { own }: Judged): boolean =>
  clause.filter((word) => !isUnspaced(word)).length >= trustForeignClauseWords && !clause.some((word) => own.has(word));

function isNearerToUser(passage: ReadonlySet<string>, { nearness, own, outside }: Judged): boolean {
  const stretch = Math.max(trustWindowWordsMin, 4 * passage.size);
  const [ownShare, outsideShare] = [own.share(passage, stretch), outside.share(passage, stretch)];
  if (nearness === "near" && ownShare < trustShareFromUser) return false;
  if (outsideShare < trustShareFromOutside) return true;
  return outsideShare <= ownShare + (nearness === "near" ? 0 : trustMarginEarlier);
}

/** A stranger's sentence among the user's words: what remains without those stands together outside. */
function isGatheredOutside(passage: ReadonlySet<string>, { nearness, own, outside }: Judged): boolean {
  const foreign = new Set([...passage].filter((word) => !own.has(word)));
  const { countMin, share: shareMin } = trustForeignWords[nearness];
  if (foreign.size < countMin) return false;
  const share = outside.share(foreign, shortStretch(foreign.size));
  return share >= shareMin && share * foreign.size >= countMin;
}

/** Each passage with the next one, so that a sentence that is cut in two is seen, and all of them. */
const withNeighbours = (
  passages: readonly ReadonlySet<string>[],
  all: ReadonlySet<string>,
): readonly ReadonlySet<string>[] => [
  ...passages,
  ...passages.slice(1).map((passage, at) => new Set([...(passages[at] ?? []), ...passage])),
  all,
];

/** As many texts, from the first on, as fit. */
function takeChars(texts: readonly string[], charsMax: number): readonly string[] {
  let used = 0;
  const over = texts.findIndex((text) => (used += text.length) > charsMax);
  return over === -1 ? texts : texts.slice(0, over);
}

function hasForeignName(
  written: string,
  { own, scanned }: { readonly own: readonly string[]; readonly scanned: readonly string[] },
): boolean {
  const names = new Set(findNames(written).map((name) => name.toLowerCase()));
  if (names.size === 0) return false;
  const ownText = own.join("\n").toLowerCase();
  const foreign = [...names].filter((name) => !ownText.includes(name));
  if (foreign.length > trustNamesMax) return true;
  const outsideText = foreign.length === 0 ? "" : scanned.join("\n").toLowerCase();
  return foreign.some((name) => outsideText.includes(name));
}

/** What one can act on: addresses, paths, options, identifiers, and everything in backticks. */
function findNames(text: string): readonly string[] {
  const quoted = [...text.matchAll(/`+([^`]+)`+/g)].flatMap(([, code = ""]) => code.split(/\s+/));
  const bare = (text.match(/[^\s"'`()<>[\]{},;|*]+/g) ?? []).filter((token) =>
    /[/\\@$=~_]|\w\.\w|^--?\w|[a-z][A-Z]|\d[A-Za-z]|[A-Za-z]\d/.test(token),
  );
  return [...quoted, ...bare]
    .map((name) => name.replaceAll(/^[.:!?*]+|[.:!?*]+$/g, ""))
    .filter((name) => name.length > 1);
}

const sentenceEnds = /\n+|(?<=[.!?;])\s+|(?<=[。！？])/u;
const clauseEnds = /\n+|(?<=[.!?])\s+|[,;:()–—]\s|\s-+\s|[。！？，；：、]|\b(?:and|then|but|or)\b/u;

/** The content words of each clause, in their order. */
const splitClauses = (written: string): readonly (readonly string[])[] =>
  written.split(clauseEnds).map((clause) => contentWords(clause));

/**
 * The content words of a text in passages, with short ones joined to the next, since two words stand together in any long
 * text.
 */
function splitPassages(written: string, ends: RegExp): readonly ReadonlySet<string>[] {
  const passages: Set<string>[] = [];
  let open = new Set<string>();
  for (const part of written.split(ends)) {
    for (const word of contentWords(part)) open.add(word);
    if (open.size < trustPassageWordsMin) continue;
    passages.push(open);
    open = new Set();
  }
  const last = passages.at(-1);
  if (open.size > 0 && last !== undefined) for (const word of open) last.add(word);
  return last === undefined && open.size > 0 ? [open] : passages;
}

/** What counts as taken over if it stands somewhere in this order, by its words joined. */
function findRuns(
  clauses: readonly (readonly string[])[],
  nearness: Judged["nearness"],
): ReadonlyMap<string, readonly string[]> {
  const runs = new Map<string, readonly string[]>();
  const add = (run: readonly string[]) => void runs.set(run.join(" "), run);
  for (const clause of clauses)
    if (clause.length >= trustClauseWordsMin[nearness] && clause.length < trustRunWords && !clause.some(isUnspaced))
      add(clause);
  const all = clauses.flat();
  for (const at of all.keys()) {
    const [run, pairs] = [all.slice(at, at + trustRunWords), all.slice(at, at + trustRunPairs)];
    if (run.length === trustRunWords && !run.every(isUnspaced)) add(run);
    if (pairs.length === trustRunPairs && pairs.every(isUnspaced)) add(pairs);
  }
  return runs;
}
