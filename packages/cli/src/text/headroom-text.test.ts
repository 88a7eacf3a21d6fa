import { expect, it } from "vitest";
import { tokens } from "palimpsest/internal/schema/brand";
import { fixedCategory } from "palimpsest/internal/tokens/context-report";
import { headroomText } from "./context-text.ts";

const entry = "0a4e7c1d-1111-4222-8333-444455556666";
const text = (...named: readonly string[]): string =>
  headroomText({
    kind: "no-headroom",
    tokens: tokens(18_200),
    limit: tokens(16_000),
    largest: named.map((what, at) => ({ what, tokens: tokens(9_000 - at) })),
  });

it("names the three largest in the words of `palimpsest context`, with short ids", () => {
  const said = text(fixedCategory, "results.read", `read result toolu_1 (${entry})`, "human", "assistant");
  expect(said).toContain(
    "the largest: system prompt, tools and what is not logged (9,000), tool results: read (8,999), read result toolu_1 (8,998); `palimpsest context`",
  );
});

it("an item without a call goes by the beginning of its entry's uuid", () => {
  expect(text(`a message (${entry})`)).toContain("the largest: a message 0a4e7c1d (9,000);");
});

it("says why no compaction makes room, where that is known", () => {
  const event = { kind: "no-headroom", tokens: tokens(2), limit: tokens(1), largest: [] } as const;
  expect(headroomText({ ...event, because: "The breaker is open." })).toContain("to clear; The breaker is open; the");
});
