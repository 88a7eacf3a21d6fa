import type { Entry } from "palimpsest/internal/schema/entry";
import type { RecordedRound, Recording } from "../recording/recording.ts";
import type { Fact } from "./fact.ts";
import {
  queryCharsMax,
  recallHitsMax,
  lineCharsMax,
  pathPartsMin,
  phraseCharsMax,
  strongIdentifiersMin,
} from "../limits.ts";
import { byKind, type Fates, type FatesByKind } from "./fidelity-outcome.ts";
import { LogIndex } from "palimpsest/internal/session/log-index";
import { entriesSource } from "palimpsest/internal/session/recall-sources";
import type { Message } from "palimpsest/internal/schema/block";
import { blockTexts, identifiersIn, longLines } from "../recording/find-needs.ts";

export type Fate = "shown" | "named" | "found" | "lost";

/** Searches the whole session so far, including what the view no longer shows. */
export interface Recall {
  append(entry: Entry): Promise<void>;
  /** For each of the best hits, best first, the ids of its entries or calls. The query has no operators. */
  search(query: string): Promise<readonly (readonly string[])[]>;
}

/** What the view alone decides about a fact; undefined if only recall can decide. */
export function fateInView(fact: Fact, shown: ShownText): "shown" | "named" | undefined {
  if (shown.shows(fact)) return "shown";
  return shown.names(fact) ? "named" : undefined;
}

/** Recall over a recording up to a round. Rounds are queried in order, so that one index serves all policies. */
export class RecallByRound {
  readonly #recall: Recall;
  readonly #rounds: readonly RecordedRound[];
  readonly #hitsByQuery = new Map<string, ReadonlySet<string>>();
  /** The number of rounds whose entries up to the request are in the index. */
  #indexedRounds = 0;

  constructor(recall: Recall, rounds: readonly RecordedRound[]) {
    this.#recall = recall;
    this.#rounds = rounds;
  }

  /** `compactedIn` must not decrease. */
  async finds({ words, ids }: Fact, compactedIn: number): Promise<boolean> {
    await this.#indexUpTo(compactedIn);
    const hits = await this.#hits(words.slice(0, queryCharsMax).toWellFormed());
    for (const id of ids) if (hits.has(id)) return true;
    return false;
  }

  async #hits(query: string): Promise<ReadonlySet<string>> {
    const cached = this.#hitsByQuery.get(query);
    if (cached !== undefined) return cached;
    const hits = new Set((await this.#recall.search(query)).slice(0, recallHitsMax).flat());
    this.#hitsByQuery.set(query, hits);
    return hits;
  }

  async #indexUpTo(compactedIn: number): Promise<void> {
    if (compactedIn < this.#indexedRounds - 1)
      throw new RangeError(`round ${compactedIn} is before the last indexed round`);
    for (; this.#indexedRounds <= compactedIn; this.#indexedRounds += 1) {
      const last = this.#rounds[this.#indexedRounds - 1]?.reply ?? [];
      const next = this.#rounds[this.#indexedRounds]?.before ?? [];
      for (const entry of [...last, ...next]) await this.#recall.append(entry);
      this.#hitsByQuery.clear();
    }
  }
}

export interface JudgedFact {
  readonly fact: Fact;
  readonly fate: Fate;
}

export function countFatesByKind(judged: readonly JudgedFact[]): FatesByKind {
  const byFact = Map.groupBy(judged, ({ fact }) => fact.kind);
  return byKind((kind) => countFates(byFact.get(kind) ?? []));
}

function countFates(judged: readonly JudgedFact[]): Fates {
  const count = (fate: Fate): number => judged.filter((fact) => fact.fate === fate).length;
  const named = count("named");
  return { shown: count("shown"), recoverable: named + count("found"), named, lost: count("lost") };
}

/** The agent's own search over a recording. A recording has full results, so no blobs are needed. */
export function createSessionRecall(): Recall {
  const entries: Entry[] = [];
  const index = new LogIndex(entriesSource(entries));
  return {
    append: async (entry) => {
      entries.push(entry);
    },
    search: async (words) => {
      // Quotation marks would search for a phrase.
      const query = words.replaceAll(/["“”]/g, " ");
      const searched = await index.search({ query, pageSize: recallHitsMax });
      return searched?.kind === "found" ? searched.hits.map(({ id, also }) => [id, ...also]) : [];
    },
  };
}

/** The text of a view, in which facts are searched. It excludes thinking and the ids of blocks, which are not read as text. */
export class ShownText {
  readonly #text: string;
  /** The same with each run of whitespace as one space. */
  readonly #flatText: string;
  readonly #words: ReadonlySet<string>;

  constructor(messages: readonly Message[]) {
    this.#text = messages.flatMap(({ content }) => content.flatMap(blockTexts)).join("\n\n");
    this.#flatText = this.#text.replaceAll(/\s+/g, " ");
    this.#words = new Set(this.#text.match(/[\w-]+/g));
  }

  /** Whether the fact is shown verbatim: a message byte for byte, anything else regardless of whitespace. */
  shows({ kind, words }: Pick<Fact, "kind" | "words">): boolean {
    if (kind === "filesModified" || kind === "filesRead") return this.#showsPath(words);
    if (kind !== "userMessages")
      return hasMatch(this.#flatText, words, words.length < lineCharsMax ? isApart : beginsApart);
    return words.length > phraseCharsMax ? this.#text.includes(words) : hasMatch(this.#text, words, isAlone);
  }

  /** Calls contain absolute paths, but texts often leave out the project's folder: a tail of at least two parts counts as the path too. */
  #showsPath(path: string): boolean {
    if (hasMatch(this.#flatText, path, isApart)) return true;
    const slash = path.includes("/") ? "/" : "\\";
    const parts = path.split(slash).filter((part) => part !== "");
    for (let from = 0; from <= parts.length - pathPartsMin; from += 1) {
      const tail = parts.slice(from);
      if (hasMatch(this.#flatText, tail.join("/"), isOwnPath)) return true;
      if (slash === "\\" && hasMatch(this.#flatText, tail.join(slash), isOwnPath)) return true;
    }
    return false;
  }

  /** Whether the view contains the id of an entry or call with the fact. */
  names({ ids }: Pick<Fact, "ids">): boolean {
    for (const id of ids) if (this.#words.has(id) || (!plainId.test(id) && this.#text.includes(id))) return true;
    return false;
  }
}

const plainId = /^[\w-]+$/;

interface TextMatch {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function hasMatch(text: string, words: string, fits: (match: TextMatch) => boolean): boolean {
  for (let from = text.indexOf(words); from !== -1; from = text.indexOf(words, from + 1))
    if (fits({ text, from, to: from + words.length })) return true;
  return false;
}

/** Not part of a longer word: `src/a.ts` is not in `src/a.tsx`. */
const isApart = (match: TextMatch): boolean =>
  beginsApart(match) && !(isWord(match.text.charAt(match.to)) && isWord(match.text.charAt(match.to - 1)));

/** For a line that was cut: in the full line, the cut may be inside a word, so the end is not checked. */
const beginsApart = ({ text, from }: TextMatch): boolean =>
  !(isWord(text.charAt(from - 1)) && isWord(text.charAt(from)));

/** Not the tail of a longer path, which would be another file. */
const isOwnPath = (match: TextMatch): boolean =>
  isApart(match) && !/^[\w/\\.-]$/.test(match.text.charAt(match.from - 1));

const isWord = (character: string): boolean => /^\w$/.test(character);

/** The text stands alone in its lines except for punctuation and ids, or in quotes. Otherwise a short message would be found in any text. */
function isAlone({ text, from, to }: TextMatch): boolean {
  const before = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
  const end = text.indexOf("\n", to);
  const after = text.slice(to, end === -1 ? undefined : end);
  if (/["“'`]$/.test(before) && /^["”'`]/.test(after)) return true;
  return /^[^\p{L}]*$/u.test(before) && /^[^\p{L}\p{N}]*(?:\([^()]*\))?$/u.test(after);
}

/**
 * Whether the rounds after a compaction need the source of a fact, by strong evidence: for a result, `Recording.needs`; for
 * a user message or a todo, a later reply that repeats one of its long lines or several of its identifiers.
 */
export class LaterNeeds {
  readonly #recording: Recording;
  readonly #lastRoundByLine = new Map<string, number>();
  readonly #roundsByIdentifier = new Map<string, Set<number>>();
  readonly #lastRoundByText = new Map<string, number>();

  constructor(recording: Recording) {
    this.#recording = recording;
    for (const [round, { reply }] of recording.rounds.entries())
      for (const words of reply.flatMap(({ blocks }) => blocks.flatMap(blockTexts))) this.#add(words, round);
  }

  /** `from`: the first round whose request contains the summary. */
  isNeeded({ calls, said }: Pick<Fact, "calls" | "said">, from: number): boolean {
    for (const call of calls) if ((this.#recording.needs.get(call)?.strongRounds.at(-1) ?? -1) >= from) return true;
    return said !== undefined && this.#lastRepetition(said) >= from;
  }

  #add(words: string, round: number): void {
    for (const line of longLines(words)) this.#lastRoundByLine.set(line, round);
    for (const identifier of identifiersIn(words)) {
      const rounds = this.#roundsByIdentifier.get(identifier);
      if (rounds === undefined) this.#roundsByIdentifier.set(identifier, new Set([round]));
      else rounds.add(round);
    }
  }

  #lastRepetition(text: string): number {
    const cached = this.#lastRoundByText.get(text);
    if (cached !== undefined) return cached;
    let last = -1;
    for (const line of longLines(text)) last = Math.max(last, this.#lastRoundByLine.get(line) ?? -1);
    const countByRound = new Map<number, number>();
    for (const identifier of new Set(identifiersIn(text)))
      for (const round of this.#roundsByIdentifier.get(identifier) ?? []) {
        const count = (countByRound.get(round) ?? 0) + 1;
        countByRound.set(round, count);
        if (count >= strongIdentifiersMin) last = Math.max(last, round);
      }
    this.#lastRoundByText.set(text, last);
    return last;
  }
}
