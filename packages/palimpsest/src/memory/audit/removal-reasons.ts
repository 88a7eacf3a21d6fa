import type { MemoryText } from "../../ports/memories.ts";
import type { Millis } from "../../schema/brand.ts";
import { contentWords } from "../content-words.ts";
import { type DriftFinding, memoryTime } from "../directory/show-memory.ts";
import { findNames, splitSentences } from "../find-unsourced.ts";
import { isRival } from "./is-rival.ts";
import { driftWordsMax, evidenceShareMin, evidenceWordsMin, frameMemoriesMin, frameShareMin } from "./limits.ts";
import { isNarrowed, isNegated } from "./sentence-words.ts";
import { type Fact, readFact, type StandingFacts } from "./standing-facts.ts";

/** Why a sentence of a memory is gone, as the consolidator says. Nothing of it is believed unless it is found. */
export interface RemovalReason {
  readonly path: string;
  /** The sentence, or a text that has it. */
  readonly text: string;
  readonly why: string;
  /** A quotation. */
  readonly evidence: string;
}

/** A passage of a transcript. */
export interface SeenPassage {
  readonly text: string;
  /** `user`: the user's own words. */
  readonly by: "user" | "outside";
  readonly at: Millis | undefined;
}

export interface AcceptedRemoval {
  readonly path: string;
  readonly sentence: string;
  readonly why: string;
  /** What bears it out: the user's later words, a newer memory that stays, or that what it names is not found. */
  readonly basis: "user" | "memory" | "drift";
  readonly evidence: string;
}

export interface ReasonSources {
  /** What the memories state after the changes. */
  readonly standing: StandingFacts;
  /** Their texts, by path. */
  readonly after: ReadonlyMap<string, string>;
  readonly base: readonly MemoryText[];
  readonly reasons: readonly RemovalReason[];
  readonly passages: readonly SeenPassage[];
  readonly driftByPath: ReadonlyMap<string, readonly DriftFinding[]>;
  /**
   * `topic`: it is enough that evidence has to do with the sentence, if the user says it at this moment and the new text is
   * about the same. Absent: it must also say otherwise.
   */
  readonly evidenceNeeds?: "contradiction" | "topic" | undefined;
}

interface LostFact {
  readonly memory: MemoryText;
  readonly fact: Fact;
}

/**
 * A reason for this sentence that holds:
 *
 *   drift    the sentence is only about a file, symbol or command that is reported as missing
 *   user     the evidence stands in a message of the user that is newer than the memory
 *   memory   the evidence stands in another trusted memory that is newer and still says it afterwards
 *
 * Evidence must have to do with the sentence and say otherwise: what the user said about something else is none, nor what
 * only mentions the same. Words that other memories have too are a frame ("always run the … suite before a … release") and
 * not what the sentence is about.
 */
export function findReason({ memory, fact }: LostFact, sources: ReasonSources): AcceptedRemoval | undefined {
  for (const reason of sources.reasons) {
    if (reason.path !== memory.path || !isAbout(reason.text, fact)) continue;
    const basis = findBasis(reason, { memory, fact }, sources);
    if (basis !== undefined)
      return { path: memory.path, sentence: fact.sentence, why: reason.why, basis, evidence: reason.evidence };
  }
  return undefined;
}

function isAbout(text: string, { sentence, words }: Fact): boolean {
  if (flatten(text).includes(flatten(sentence))) return true;
  const named = new Set(contentWords(text));
  return [...words].every((word) => named.has(word));
}

function findBasis(
  { evidence }: RemovalReason,
  { memory, fact }: LostFact,
  sources: ReasonSources,
): AcceptedRemoval["basis"] | undefined {
  const drift = sources.driftByPath.get(memory.path) ?? [];
  if (drift.some(({ name }) => isOnlyAbout(fact, name, sources))) return "drift";
  const quoted = new Set(contentWords(evidence));
  const shared = [...fact.words].filter((word) => quoted.has(word));
  if (quoted.size < evidenceWordsMin || shared.length < evidenceShareMin * fact.words.size) return undefined;
  const quote = flatten(evidence);
  if (!hasTopic(shared, { memory, quote, base: sources.base })) return undefined;
  const isNewer = (at: Millis | undefined): boolean => at !== undefined && at > memoryTime(memory);
  const contradicts = (text: string): boolean =>
    flatten(text).includes(quote) &&
    (sources.evidenceNeeds === "topic" || findQuoted(text, quote).some((sentence) => isRival(sentence, fact)));
  const isSaid = sources.passages.some(({ text, by, at }) => by === "user" && isNewer(at) && contradicts(text));
  if (isSaid) return "user";
  const isKept = sources.base.some(
    (other) =>
      other.role === "memory" &&
      other.path !== memory.path &&
      other.trust === "trusted" &&
      isNewer(memoryTime(other)) &&
      contradicts(other.text),
  );
  return isKept && [...sources.after.values()].some((text) => flatten(text).includes(quote)) ? "memory" : undefined;
}

/** The whole sentences that a quotation was taken from: part of one may say the opposite of the whole. */
const findQuoted = (text: string, quote: string): readonly string[] =>
  splitSentences(text).filter((sentence) => {
    const flat = flatten(sentence);
    return flat.includes(quote) || quote.includes(flat);
  });

/**
 * Whether a sentence says little besides naming something: no exception or prohibition, no other name and no person.
 * Otherwise what it also says must stand elsewhere.
 */
function isOnlyAbout({ sentence }: Fact, name: string, { standing }: ReasonSources): boolean {
  if (!sentence.includes(name)) return false;
  const rest = sentence.replaceAll(name, " ");
  const other = readFact(rest);
  const isPlain = !isNegated(rest) && !isNarrowed(rest) && findNames(rest).length === 0 && !/\S\s+\p{Lu}/u.test(rest);
  const words = [...other.words].filter((word) => !alwaysWords.has(word));
  return (isPlain && words.length <= driftWordsMax) || (words.length > 0 && standing.states(other));
}

const alwaysWords: ReadonlySet<string> = new Set(contentWords("always"));

interface TopicSources {
  readonly memory: MemoryText;
  readonly quote: string;
  readonly base: readonly MemoryText[];
}

/** Whether one of these words is rare among the memories that are neither the sentence's nor the quotation's. */
function hasTopic(words: readonly string[], { memory, quote, base }: TopicSources): boolean {
  const memories = base.filter(({ role, trust }) => role === "memory" && trust === "trusted");
  const others = memories.filter(({ path, text }) => path !== memory.path && !flatten(text).includes(quote));
  const frameMemories = Math.max(frameMemoriesMin, Math.ceil(frameShareMin * memories.length));
  return words.some((word) => others.filter((other) => wordsIn(other).has(word)).length < frameMemories);
}

/** Split once for each text. */
const wordsByMemory = new WeakMap<MemoryText, ReadonlySet<string>>();

function wordsIn(memory: MemoryText): ReadonlySet<string> {
  const known = wordsByMemory.get(memory) ?? new Set(contentWords(memory.text));
  wordsByMemory.set(memory, known);
  return known;
}

/** Without case, marks of emphasis and the kind of spaces. */
const flatten = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[*_`"'“”‘’>]+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
