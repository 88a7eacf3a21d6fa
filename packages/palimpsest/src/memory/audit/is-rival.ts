import { contentWords, isEmptyWord, splitWords } from "../content-words.ts";
import { rivalShareMin } from "./limits.ts";
import { findNegated, spell } from "./sentence-words.ts";
import type { Fact } from "./standing-facts.ts";

/**
 * Whether a statement says otherwise about what a fact is about, as far as words can tell. One of these:
 *
 *   over       "no longer", "stopped", "instead"; or "from now on", "moved to" with other words than the fact
 *   denied     a word that both have is negated in one of them only
 *   replaced   where their words agree on both sides, one has another value: Monday for Friday, 5000 for 4000
 *   reversed   before for after, on for off, or the same words in another order around "over", "than", "before"
 *
 * A question says nothing. Both must have been found to be about the same topic already.
 */
export function isRival(statement: string, fact: Fact): boolean {
  const said = statement.replaceAll(politeness, " ");
  if (/[?？]\s*$/u.test(said)) return false;
  const words = new Set(contentWords(said));
  const shared = [...fact.words].filter((word) => words.has(word));
  if (ended.test(said) || (changed.test(said) && shared.length < fact.words.size)) return true;
  if (shared.length < rivalShareMin * fact.words.size) return false;
  const negated = findNegated(said);
  if (shared.some((word) => negated.has(word) !== fact.negated.has(word))) return true;
  const [ours, theirs] = [toTokens(fact.sentence), toTokens(said)];
  return findGaps(ours, theirs).some(hasOtherValue) || isReversed(ours, theirs);
}

/** They negate nothing of what follows. */
const politeness = /\b(?:do not|don'?t|never) (?:forget|worry|mind)\b|\bno (?:problem|worries|doubt)\b|\bnot only\b/giu;

const ended =
  /\b(?:no longer|(?:not|n't)\b.*\bany ?more|stopped|instead|(?:was|were|is|are|been) (?:replaced|removed|dropped|retired)|nicht mehr|kein\w* mehr|stattdessen|ne .* plus|ya no)\b/iu;
const changed =
  /\b(?:from now on|(?:changed|moved|switched|migrated|renamed) (?:\S+ ){0,3}to|ab jetzt|ab sofort|désormais|a partir de ahora)\b/iu;

const toTokens = (sentence: string): readonly string[] => spell(sentence).split(" ").map(toStem);
const toStem = (word: string): string => splitWords(word).join("-") || word;

/** What stands on both sides between two words that agree, or before the first, or behind the last. */
interface Gap {
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

const hasOtherValue = ({ ours, theirs }: Gap): boolean => {
  if (ours.some((word) => theirs.includes(oppositeByWord.get(word) ?? ""))) return true;
  const [own, other] = [ours, theirs].map((words) => words.filter((word) => !isEmptyWord(word)));
  if (own === undefined || other === undefined || own.length === 0 || other.length === 0) return false;
  const isSameForm = ours.filter(isEmptyWord).join(" ") === theirs.filter(isEmptyWord).join(" ");
  return (
    isSameForm &&
    valueForms.every((form) => !own.some((word) => form.test(word)) || other.some((word) => form.test(word)))
  );
};

/** "On time" is no other value for "on Friday". */
const valueForms = [
  /\d/,
  /^(?:mon|tues|wednes|thurs|fri|satur|sun)da/,
  /^(?:januar|februar|march|april|june|juli|august|septemb|octob|novemb|decemb)/,
];

const opposites =
  "before:after on:off over:under always:never must:may with:without enable:disable allow:forbid more:less";
const oppositeByWord: ReadonlyMap<string, string> = new Map(
  opposites.split(" ").flatMap((pair) => {
    const [one = "", other = ""] = pair.split(":").map(toStem);
    return [
      [one, other],
      [other, one],
    ];
  }),
);

const comparisons: ReadonlySet<string> = new Set(["over", "than", "before", "after"].map(toStem));

function isReversed(ours: readonly string[], theirs: readonly string[]): boolean {
  if (![ours, theirs].every((words) => words.some((word) => comparisons.has(word)))) return false;
  const [own, other] = [ours, theirs].map((words) => words.filter((word) => !isEmptyWord(word)));
  return own?.toSorted().join(" ") === other?.toSorted().join(" ") && own?.join(" ") !== other?.join(" ");
}

/** Around the longest common subsequence. */
function findGaps(ours: readonly string[], theirs: readonly string[]): readonly Gap[] {
  const width = theirs.length + 1;
  const lengths = new Uint16Array((ours.length + 1) * width);
  const length = (at: number, to: number): number => lengths[at * width + to] ?? 0;
  for (let at = ours.length - 1; at >= 0; at -= 1)
    for (let to = theirs.length - 1; to >= 0; to -= 1)
      lengths[at * width + to] =
        ours[at] === theirs[to] ? length(at + 1, to + 1) + 1 : Math.max(length(at + 1, to), length(at, to + 1));
  const gaps: Gap[] = [];
  let [at, to, fromAt, fromTo] = [0, 0, 0, 0];
  while (at < ours.length && to < theirs.length) {
    if (ours[at] === theirs[to]) {
      gaps.push({ ours: ours.slice(fromAt, at), theirs: theirs.slice(fromTo, to) });
      [at, to] = [at + 1, to + 1];
      [fromAt, fromTo] = [at, to];
    } else if (length(at + 1, to) >= length(at, to + 1)) at += 1;
    else to += 1;
  }
  gaps.push({ ours: ours.slice(fromAt), theirs: theirs.slice(fromTo) });
  return gaps;
}
