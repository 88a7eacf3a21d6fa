import { describe, expect, it } from "vitest";
import type { Candidate, Collection, Embedder, RankRequest } from "../ports/ranker.ts";
import { createDefaultRanker } from "./default-ranker.ts";
import { stemText } from "./stem.ts";

const texts = ["I adopted a puppy", "My lamp is green", "The dog food is green"];

const candidates = texts.map((text, key): Candidate => ({
  key,
  session: String(key),
  position: 0,
  speaker: "user",
  kind: "user",
  at: undefined,
  text,
  stems: stemText(text),
  role: "found",
}));

const field = {
  documents: 3,
  words: 8,
  documentsWith: (stem: string) => candidates.filter(({ stems }) => stems.includes(stem)).length,
};
const collection: Collection = { passages: field, cappedStems: 8, sessions: field, userSessions: field };
const request: RankRequest = { query: "a dog", candidates, collection, sessionScores: new Map() };

/** Knows that a puppy is a dog, which no word tells: one dimension for animals, one for the rest. */
const animals: Embedder & { readonly asked: string[] } = {
  dims: 2,
  asked: [],
  embed: async (asked) => {
    animals.asked.push(...asked);
    return asked.map((text) => Float32Array.from(/^(?:a dog|.*puppy)/.test(text) ? [1, 0] : [0, 1]));
  },
};

const keys = async (embedder: Embedder | undefined, asked = request): Promise<readonly number[]> =>
  (await createDefaultRanker({ embedder }).rank(asked)).map(({ key }) => key);

describe("the ranker", () => {
  it("ranks by words alone without an embedder", async () => {
    expect(await keys(undefined)).toEqual([2, 1, 0]);
  });

  it("adds the cosine of an embedder to the score of the words", async () => {
    const [first] = await createDefaultRanker({ embedder: animals }).rank(request);
    expect(first).toEqual({ key: 0, score: 10 });
  });

  it("asks only for vectors that the index does not keep", async () => {
    animals.asked.length = 0;
    const kept = candidates.map((passage) => ({ ...passage, vector: Float32Array.from([0, 1]) }));
    expect(await keys(animals, { ...request, candidates: kept })).toEqual([2, 1, 0]);
    expect(animals.asked).toEqual(["a dog"]);
  });

  it("goes on without vectors if the embedder fails", async () => {
    expect(await keys({ dims: 2, embed: () => Promise.reject(new Error("no model")) })).toEqual([2, 1, 0]);
    expect(await keys({ dims: 2, embed: async () => [] })).toEqual([2, 1, 0]);
  });
});
