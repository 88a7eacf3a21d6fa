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
import { SessionIndex } from "palimpsest/internal/recall/session-index";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import type { LoggedEntry } from "palimpsest/internal/transcript/read-lines";
import type { Message } from "palimpsest/internal/schema/block";
import { blockTexts, identifiersIn, longLines } from "../recording/find-needs.ts";

export type Fate = "shown" | "named" | "found" | "lost";

/** Search over what a session has said so far, however little of it a view shows. */
export interface Recall {
  append(entry: Entry): Promise<void>;
  /** Ids of entries or calls that each of the best hits names, the best first. Nothing in the query is an operator. */
  search(query: string): Promise<readonly (readonly string[])[]>;
}

/** What the view itself tells of a fact; undefined: only recall can say. */
export function fateInView(fact: Fact, shown: ShownText): "shown" | "named" | undefined {
  if (shown.shows(fact)) return "shown";
  return shown.names(fact) ? "named" : undefined;
}

/** Recall over a recording as far as it was said. Asked for rounds in their order, so that one index does for all policies. */
export class RecallByRound {
  readonly #recall: Recall;
  readonly #rounds: readonly RecordedRound[];
  readonly #hitsByQuery = new Map<string, ReadonlySet<string>>();
  /** Rounds of which everything up to the request is in the index. */
  #heardRounds = 0;

  constructor(recall: Recall, rounds: readonly RecordedRound[]) {
    this.#recall = recall;
    this.#rounds = rounds;
  }

  /** `compactedIn` must not go back. */
  async finds({ words, ids }: Fact, compactedIn: number): Promise<boolean> {
    await this.#hear(compactedIn);
    const hits = await this.#hits(words.slice(0, queryCharsMax).toWellFormed());
    for (const id of ids) if (hits.has(id)) return true;
    return false;
  }

  async #hits(query: string): Promise<ReadonlySet<string>> {
    const known = this.#hitsByQuery.get(query);
    if (known !== undefined) return known;
    const hits = new Set((await this.#recall.search(query)).slice(0, recallHitsMax).flat());
    this.#hitsByQuery.set(query, hits);
    return hits;
  }

  async #hear(compactedIn: number): Promise<void> {
    if (compactedIn < this.#heardRounds - 1) throw new RangeError(`round ${compactedIn} is behind what was heard`);
    for (; this.#heardRounds <= compactedIn; this.#heardRounds += 1) {
      const last = this.#rounds[this.#heardRounds - 1]?.reply ?? [];
      const next = this.#rounds[this.#heardRounds]?.before ?? [];
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
  const of = (fate: Fate): number => judged.filter((one) => one.fate === fate).length;
  const named = of("named");
  return { shown: of("shown"), recoverable: named + of("found"), named, lost: of("lost") };
}

/** The agent's own search, over a recording: its results are whole, so there is no blob to fetch. */
export function createSessionRecall(): Recall {
  const lines: LoggedEntry[] = [];
  const index = new SessionIndex({
    blobs: memoryBlobs(),
    lineAt: async ({ start }) => lines[start],
  });
  return {
    append: async (entry) => {
      const line = { entry, start: lines.length, end: lines.length };
      lines.push(line);
      await index.append(line);
    },
    search: async (words) => {
      // Quotation marks would ask for a phrase.
      const query = words.replaceAll(/["“”]/g, " ");
      const searched = await index.search({ query, pageSize: recallHitsMax });
      return searched.kind === "found" ? searched.hits.map(({ id, also }) => [id, ...also]) : [];
    },
  };
}

/** What a view says in words, to be asked for facts. Thinking and ids of blocks are no part of it: nobody reads them as text. */
export class ShownText {
  readonly #whole: string;
  /** Every run of blanks is one. */
  readonly #flat: string;
  readonly #words: ReadonlySet<string>;

  constructor(messages: readonly Message[]) {
    this.#whole = messages.flatMap(({ content }) => content.flatMap(blockTexts)).join("\n\n");
    this.#flat = this.#whole.replaceAll(/\s+/g, " ");
    this.#words = new Set(this.#whole.match(/[\w-]+/g));
  }

  /** Verbatim: a message byte for byte, anything else but for its blanks. */
  shows({ kind, words }: Pick<Fact, "kind" | "words">): boolean {
    if (kind === "filesModified" || kind === "filesRead") return this.#showsPath(words);
    if (kind !== "userMessages")
      return hasMatch(this.#flat, words, words.length < lineCharsMax ? isApart : beginsApart);
    return words.length > phraseCharsMax ? this.#whole.includes(words) : hasMatch(this.#whole, words, isAlone);
  }

  /** Calls have paths from the root on, and whoever writes of a file leaves out where the project lies: a tail of two parts or more is its path too. */
  #showsPath(path: string): boolean {
    if (hasMatch(this.#flat, path, isApart)) return true;
    const slash = path.includes("/") ? "/" : "\\";
    const parts = path.split(slash).filter((part) => part !== "");
    for (let from = 0; from <= parts.length - pathPartsMin; from += 1) {
      const tail = parts.slice(from);
      if (hasMatch(this.#flat, tail.join("/"), isOwnPath)) return true;
      if (slash === "\\" && hasMatch(this.#flat, tail.join(slash), isOwnPath)) return true;
    }
    return false;
  }

  /** By an id that expands to it. */
  names({ ids }: Pick<Fact, "ids">): boolean {
    for (const id of ids) if (this.#words.has(id) || (!plainId.test(id) && this.#whole.includes(id))) return true;
    return false;
  }
}

const plainId = /^[\w-]+$/;

interface TextMatch {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function hasMatch(text: string, words: string, fits: (found: TextMatch) => boolean): boolean {
  for (let from = text.indexOf(words); from !== -1; from = text.indexOf(words, from + 1))
    if (fits({ text, from, to: from + words.length })) return true;
  return false;
}

/** No part of a longer word: `src/a.ts` is not in `src/a.tsx`. */
const isApart = (found: TextMatch): boolean =>
  beginsApart(found) && !(isWord(found.text.charAt(found.to)) && isWord(found.text.charAt(found.to - 1)));

/** Of a line that was cut: where it is shown whole, the cut goes through a word. */
const beginsApart = ({ text, from }: TextMatch): boolean =>
  !(isWord(text.charAt(from - 1)) && isWord(text.charAt(from)));

/** Not the tail of another path: then it is another file. */
const isOwnPath = (found: TextMatch): boolean =>
  isApart(found) && !/^[\w/\\.-]$/.test(found.text.charAt(found.from - 1));

const isWord = (character: string): boolean => /^\w$/.test(character);

/** Nothing but marks and ids stands beside it in its lines, or it stands in quotes: else a short message is in every text. */
function isAlone({ text, from, to }: TextMatch): boolean {
  const before = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
  const end = text.indexOf("\n", to);
  const behind = text.slice(to, end === -1 ? undefined : end);
  if (/["“'`]$/.test(before) && /^["”'`]/.test(behind)) return true;
  return /^[^\p{L}]*$/u.test(before) && /^[^\p{L}\p{N}]*(?:\([^()]*\))?$/u.test(behind);
}

/**
 * Whether the rounds behind a compaction need what a fact stands in, on strong evidence: of a result what
 * `Recording.needs` says; of what a person said, or a todo, that a later reply repeats a long line of it or several identifiers.
 */
export class LaterNeeds {
  readonly #recording: Recording;
  readonly #lastRoundByLine = new Map<string, number>();
  readonly #roundsByIdentifier = new Map<string, Set<number>>();
  readonly #lastRoundBySaid = new Map<string, number>();

  constructor(recording: Recording) {
    this.#recording = recording;
    for (const [round, { reply }] of recording.rounds.entries())
      for (const words of reply.flatMap(({ blocks }) => blocks.flatMap(blockTexts))) this.#add(words, round);
  }

  /** `from`: the first round whose request holds the summary. */
  isNeeded({ calls, said }: Pick<Fact, "calls" | "said">, from: number): boolean {
    for (const call of calls) if ((this.#recording.needs.get(call)?.strongRounds.at(-1) ?? -1) >= from) return true;
    return said !== undefined && this.#lastRepeated(said) >= from;
  }

  #add(words: string, round: number): void {
    for (const line of longLines(words)) this.#lastRoundByLine.set(line, round);
    for (const identifier of identifiersIn(words)) {
      const rounds = this.#roundsByIdentifier.get(identifier);
      if (rounds === undefined) this.#roundsByIdentifier.set(identifier, new Set([round]));
      else rounds.add(round);
    }
  }

  #lastRepeated(said: string): number {
    const known = this.#lastRoundBySaid.get(said);
    if (known !== undefined) return known;
    let last = -1;
    for (const line of longLines(said)) last = Math.max(last, this.#lastRoundByLine.get(line) ?? -1);
    const namedByRound = new Map<number, number>();
    for (const identifier of new Set(identifiersIn(said)))
      for (const round of this.#roundsByIdentifier.get(identifier) ?? []) {
        const named = (namedByRound.get(round) ?? 0) + 1;
        namedByRound.set(round, named);
        if (named >= strongIdentifiersMin) last = Math.max(last, round);
      }
    this.#lastRoundBySaid.set(said, last);
    return last;
  }
}
