/**
 * The distinct words of a text that carry its meaning, as stems. It shares nothing with the engine's own comparisons, since
 * it judges them.
 */
export function readTerms(text: string): ReadonlySet<string> {
  const words = text
    .toLowerCase()
    .replaceAll(/https?:\S+/g, " ")
    .match(/[\p{L}][\p{L}\p{N}_]{2,}/gu);
  return new Set(
    (words ?? []).filter((word) => !commonWords.has(word)).map((word) => word.replace(/(?:ing|ed|es|s)$/, "")),
  );
}

/** Share of the first set that the second has; 0 for an empty set. */
export const sharedPart = (terms: ReadonlySet<string>, others: ReadonlySet<string>): number =>
  terms.size === 0 ? 0 : terms.intersection(others).size / terms.size;

/** The user's sentences. Of a long message only the first line: the rest was pasted. */
export function readSentences(message: string): readonly string[] {
  const typed =
    message.length <= typedCharsMax ? message : (message.split("\n", 1)[0] ?? "").slice(0, firstLineCharsMax);
  return typed
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.split(/\s+/).length >= sentenceWordsMin);
}

const typedCharsMax = 1_000;
const firstLineCharsMax = 300;
/** A shorter one ("commit this") says nothing that one could look up. */
const sentenceWordsMin = 3;

const commonWords: ReadonlySet<string> = new Set(
  "about add added adding after again all already also and any are back because been before being but can can't change changed changes code could did didn does doesn doing don done each few file files first for from get going good got great had has have her here him his how i'll i'm i've into isn it's its just keep last let lets like look looking made make may might more most must need needed needs new next not now off okay one only onto other our out over own please really right same see she should some still sure than that the them then there these they thing things think this those too two under use used uses using very want wanted wants was way we'll we're well were what when where which while who why will with within without work works would yeah yes you your".split(
    " ",
  ),
);
