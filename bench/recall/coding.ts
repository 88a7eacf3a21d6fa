import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { longLines } from "../../packages/lab/src/recording/find-needs.ts";
import { readRecording } from "../../packages/lab/src/recording/read-recording.ts";
import type { Recording } from "../../packages/lab/src/recording/recording.ts";
import type { IndexedPassage } from "./index-source.ts";
import { speakerByKind } from "../../packages/palimpsest/src/store/recall/prepare-text.ts";
import { entryTexts } from "../../packages/palimpsest/src/recall/entry-texts.ts";
import { callChars, queryCharsMax } from "../../packages/palimpsest/src/recall/limits.ts";
import { splitPassages } from "../../packages/palimpsest/src/recall/split-passages.ts";
import { passageStems, stemText } from "../../packages/palimpsest/src/recall/stem.ts";
import { blobId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Entry } from "../../packages/palimpsest/src/schema/entry.ts";
import { openFileSource } from "../../packages/palimpsest/src/store/files/file-source.ts";

/** A passage with the id that a hit shows. */
export interface CodingPassage extends IndexedPassage {
  readonly id: string;
  /** Without those of the call, for comparison. */
  readonly textStems: readonly string[];
}

/** A result that a later reply needed. */
export interface NeededFact {
  readonly query: string;
  /** The call whose result it is. */
  readonly id: string;
  /** Number of entries, and of passages, that were there when it was asked for. */
  readonly entries: number;
  readonly passages: number;
}

export interface CodingSession {
  readonly file: string;
  readonly entries: readonly Entry[];
  readonly passages: readonly CodingPassage[];
  /** Asked in the words of the user's message that opened the turn; only facts from before it. */
  readonly byUser: readonly NeededFact[];
  /** Asked in the words of the reply that needed them, without lines that it copies. */
  readonly byAgent: readonly NeededFact[];
}

/** Sessions with at least one fact that was needed later. */
export async function* readCodingSessions(folder: string): AsyncGenerator<CodingSession> {
  for (const file of globSync(`${folder}/{claude-code,codex,opencode,pi,copilot}/*.jsonl`).toSorted()) {
    const opened = await openFileSource(file);
    if (opened.kind !== "open") continue;
    const read = await readRecording({ sha256 }, { file, source: opened.source });
    if (read.kind !== "recording") continue;
    const session = sessionFrom(file, read.recording);
    if (session.byUser.length + session.byAgent.length > 0) yield session;
  }
}

const sha256: Parameters<typeof readRecording>[0]["sha256"] = () => {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

function sessionFrom(file: string, { rounds, needs }: Recording): CodingSession {
  const log = new PassageLog(file);
  /** What was there before the request of each round, and before its reply. */
  const beforeRequest: LogPlace[] = [];
  const beforeReply: LogPlace[] = [];
  for (const { before, reply } of rounds) {
    beforeRequest.push(log.place);
    for (const entry of before) log.add(entry);
    beforeReply.push(log.place);
    for (const entry of reply) log.add(entry);
  }
  const byUser: NeededFact[] = [];
  const byAgent: NeededFact[] = [];
  for (const [id, { born, strongRounds }] of needs) {
    const [round] = strongRounds;
    if (round === undefined || rounds[round] === undefined) continue;
    let turn = round;
    while (turn > 0 && rounds[turn]?.opens !== "turn") turn -= 1;
    const asked = userWords(rounds[turn]?.before ?? []);
    const place = beforeRequest[turn];
    if (born < turn && place !== undefined) addFact(byUser, { query: asked, id, ...place });
    const replied = agentWords(rounds[round].reply, log.text(id));
    const replyPlace = beforeReply[round];
    if (replyPlace !== undefined) addFact(byAgent, { query: replied, id, ...replyPlace });
  }
  return { file, entries: log.entries, passages: log.passages, byUser, byAgent };
}

function addFact(facts: NeededFact[], fact: NeededFact): void {
  const query = fact.query.slice(0, queryCharsMax);
  if (stemText(query).length > 0) facts.push({ ...fact, query });
}

interface LogPlace {
  readonly entries: number;
  readonly passages: number;
}

class PassageLog {
  readonly entries: Entry[] = [];
  readonly passages: CodingPassage[] = [];
  readonly #textById = new Map<string, string>();
  readonly #callById = new Map<string, string>();
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  get place(): LogPlace {
    return { entries: this.entries.length, passages: this.passages.length };
  }

  /** Of a result, by the id of its call. */
  text(id: string): string {
    return this.#textById.get(id) ?? "";
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    for (const { id, kind, text, toolUse, tool } of entryTexts(entry)) {
      if (toolUse !== undefined && tool !== undefined) this.#callById.set(toolUse, shortCall(text));
      const call = kind === "result" ? this.#callById.get(id) : undefined;
      if (kind === "result") this.#textById.set(id, `${this.text(id)}\n${text}`);
      for (const { from, to } of splitPassages(text)) {
        const key = this.passages.length;
        const speaker = speakerByKind[kind];
        const said = text.slice(from, to);
        const stems = passageStems({ speaker, text: said, call });
        this.passages.push({
          key,
          session: this.#file,
          position: key,
          speaker,
          kind,
          at: entry.timestamp,
          text: said,
          call,
          stems,
          id,
          textStems: stemText(said),
          toolUse,
          tool,
        });
      }
    }
  }
}

/** As a hit shows it. */
const shortCall = (text: string): string => text.slice(0, callChars).toWellFormed().replaceAll(/\s+/g, " ");

function userWords(entries: readonly Entry[]): string {
  return entries
    .flatMap((entry) => entryTexts(entry))
    .flatMap(({ kind, text }) => (kind === "user" ? [text] : []))
    .join("\n");
}

/** A longer argument of a call is content, not a request. */
const argumentCharsMax = 200;

/** What the reply says and the short arguments of its calls, without lines that it copies from the result. */
function agentWords(reply: readonly Entry[], result: string): string {
  const texts = reply
    .flatMap((entry) => entryTexts(entry))
    .flatMap(({ kind, text }) => {
      if (kind === "reply") return [text];
      return kind === "call"
        ? text
            .split("\n")
            .filter((line) => line.length <= argumentCharsMax)
            .slice(0, 3)
        : [];
    });
  const lines = new Set(longLines(result));
  return texts
    .join("\n")
    .split("\n")
    .filter((line) => ![...longLines(line)].some((long) => lines.has(long)))
    .join("\n");
}
