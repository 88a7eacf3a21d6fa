import { randomUUID } from "node:crypto";
import type { Candidate, Passage, Ranker, RankRequest } from "../../packages/palimpsest/src/ports/ranker.ts";
import type { RecallSource, RecallText } from "../../packages/palimpsest/src/ports/recall-index.ts";
import { type SearchTextKind, searchTextKinds } from "../../packages/palimpsest/src/ports/session-search.ts";
import { splitPassages } from "../../packages/palimpsest/src/recall/split-passages.ts";
import { roles } from "../../packages/palimpsest/src/recall/stem.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { openRecallIndex } from "../../packages/palimpsest/src/store/recall/open-index.ts";
import type { CandidateSource } from "./memory-source.ts";

/** A passage that may be a call or its result. */
export interface IndexedPassage extends Passage {
  readonly toolUse?: string | undefined;
  readonly tool?: string | undefined;
}

const sourceName = "bench";

/**
 * Candidates as the index of all sessions finds them: it is opened with a ranker that keeps what it is asked to rank. Every
 * passage is a text of its own there, and a long one is split again.
 */
export async function openIndexSource(
  passages: readonly IndexedPassage[],
): Promise<Omit<CandidateSource, "rankSessions"> & AsyncDisposable> {
  let asked: RankRequest | undefined;
  const ranker: Ranker = {
    name: "keeps its request",
    rank: async (request) => {
      asked = request;
      return request.candidates.map(({ key }) => ({ key, score: 0 }));
    },
  };
  const opened = await openRecallIndex(
    { now: () => millis(Date.now()), uuid: randomUUID },
    {
      place: { path: ":memory:", remove: () => {}, sizeBytes: async () => 0 },
      options: { sources: [sourceFrom(passages)], maskText: (text) => text, ranker },
    },
  );
  if (opened.kind !== "open") throw new Error(opened.kind);
  const { index } = opened;
  const caughtUp = await index.catchUp();
  if (caughtUp.kind !== "caught-up") throw new Error(caughtUp.kind);
  const passageByPlace = placePassages(passages);
  return {
    find: async (query) => {
      asked = undefined;
      await index.search({ query: query.replaceAll(/["“”]/g, " ") });
      // Nothing has any of the words.
      if (asked === undefined) return emptyRequest;
      const { candidates, collection, sessionScores }: RankRequest = asked;
      return { candidates: candidates.flatMap((one) => restore(one, passageByPlace)), collection, sessionScores };
    },
    [Symbol.asyncDispose]: () => index.close(),
  };
}

const emptyField = { documents: 0, words: 0, documentsWith: () => 0 };
const emptyRequest: Awaited<ReturnType<CandidateSource["find"]>> = {
  candidates: [],
  collection: { passages: emptyField, cappedStems: 0, sessions: emptyField, userSessions: emptyField },
  sessionScores: new Map(),
};

/** The index knows roles only; a person's name comes from the passage. */
function restore(candidate: Candidate, passageByPlace: ReadonlyMap<string, Passage>): readonly Candidate[] {
  const passage = passageByPlace.get(`${candidate.session} ${candidate.position}`);
  if (passage === undefined) return [];
  return [{ ...candidate, key: passage.key, speaker: passage.speaker, at: passage.at }];
}

function placePassages(passages: readonly Passage[]): ReadonlyMap<string, Passage> {
  const byPlace = new Map<string, Passage>();
  const positions = new Map<string, number>();
  for (const passage of passages)
    for (const _ of splitPassages(textFrom(passage))) {
      const position = positions.get(passage.session) ?? 0;
      positions.set(passage.session, position + 1);
      byPlace.set(`${sourceName}/${passage.session} ${position}`, passage);
    }
  return byPlace;
}

const textFrom = ({ speaker, text }: Passage): string => (roles.has(speaker) ? text : `${speaker}: ${text}`);

function sourceFrom(passages: readonly IndexedPassage[]): RecallSource {
  const bySession = Map.groupBy(passages, ({ session }) => session);
  return {
    name: sourceName,
    list: async () =>
      [...bySession].map(([session, said]) => ({
        key: session,
        session,
        title: undefined,
        version: "1",
        size: said.reduce((sum, { text }) => sum + text.length, 0),
        modified: said.at(-1)?.at ?? "2026-01-01",
      })),
    open: async (key) => ({
      key,
      mark: async () => key,
      read: async function* () {
        yield { texts: (bySession.get(key) ?? []).map(indexedText), end: 1 };
      },
      expand: async () => undefined,
      close: async () => {},
    }),
  };
}

const kinds: ReadonlySet<string> = new Set(searchTextKinds);
const isKind = (kind: string): kind is SearchTextKind => kinds.has(kind);

function indexedText(passage: IndexedPassage): RecallText {
  const { key, kind, at, speaker, toolUse, tool } = passage;
  const spoken = speaker === "assistant" ? "reply" : "user";
  return {
    id: toolUse !== undefined && kind === "result" ? toolUse : String(key),
    kind: isKind(kind) ? kind : spoken,
    at,
    text: textFrom(passage),
    form: "gathered",
    from: "line",
    toolUse,
    tool,
  };
}
