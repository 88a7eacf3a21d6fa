import { describe, expect, it } from "vitest";
import type { Collection, Field } from "../ports/ranker.ts";
import type { CountedDocument } from "./bm25.ts";
import { type CountedSession, rankSessions } from "./rank-sessions.ts";

const field: Field = { documents: 10, words: 1_000, documentsWith: () => 3 };
const collection: Collection = { passages: field, cappedStems: 500, sessions: field, userSessions: field };

const counted = (count: number): CountedDocument => ({ length: 100, countByWord: new Map([["lamp", count]]) });

const session = (name: string, parts: Partial<CountedSession> = {}): CountedSession => ({
  session: name,
  at: undefined,
  whole: counted(1),
  user: counted(0),
  passageScores: [],
  ...parts,
});

const rank = (query: string, sessions: readonly CountedSession[], now?: string): readonly string[] =>
  rankSessions({ query, now, sessions, collection }).map((ranked) => ranked.session);

describe("sessions", () => {
  it("with more of the query's words come first", () => {
    expect(rank("lamp", [session("a"), session("b", { whole: counted(4) })])).toEqual(["b", "a"]);
  });

  it("in which the user said them come before those in which only the assistant did", () => {
    expect(rank("lamp", [session("a"), session("b", { user: counted(1) })])).toEqual(["b", "a"]);
  });

  it("are ranked by their three best passages, not by all of them", () => {
    const many = session("a", { passageScores: [1, 1, 1, 1, 1, 1, 1] });
    const good = session("b", { passageScores: [2, 2] });
    expect(rank("lamp", [many, good])).toEqual(["b", "a"]);
  });

  it("of the time that the question names come first, then those near it", () => {
    const sessions = [
      session("early", { at: "2023-01-01" }),
      session("near", { at: "2023-05-11" }),
      session("then", { at: "2023-05-16" }),
    ];
    expect(rank("the lamp of two weeks ago", sessions, "2023-05-30T10:00:00Z")).toEqual(["then", "near", "early"]);
  });

  it("without a time in the question are in a fixed order if all else is equal", () => {
    expect(rank("lamp", [session("b"), session("a")], "2023-05-30")).toEqual(["a", "b"]);
  });

  it("score 0 if none has any of the words", () => {
    const none = session("a", { whole: counted(0) });
    expect(rankSessions({ query: "lamp", sessions: [none], collection })).toEqual([{ session: "a", score: 0 }]);
  });
});
