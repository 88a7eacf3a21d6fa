import { describe, expect, it } from "vitest";
import { readEntry } from "./entry.ts";
import type { Json, JsonObject } from "./json.ts";
import { readServerSummary, compactionBlockText } from "./block.ts";

const block: JsonObject = { type: "compaction", content: "So far.", signature: "c2ln", tool_changes: [] };
const entry = (more: JsonObject): JsonObject => ({
  type: "user",
  uuid: "1",
  message: { role: "user", content: "So far." },
  serverSummary: { model: "m", block },
  ...more,
});

describe("a provider's summary in an entry", () => {
  it("is read with its block as it was given", () => {
    const read = readServerSummary(entry({}));
    expect(read).toEqual({ model: "m", block });
    expect(read?.block).toBe(block);
  });

  it.each<{ what: string; given: Json }>([
    { what: "is no object", given: "block" },
    { what: "names no model", given: { block } },
    { what: "has no block", given: { model: "m" } },
    { what: "has a block of another type", given: { model: "m", block: { type: "text", text: "So far." } } },
    { what: "has a block without content", given: { model: "m", block: { ...block, content: null } } },
    { what: "has a block with blank content", given: { model: "m", block: { ...block, content: " \n" } } },
  ])("does not count where it $what", ({ given }) => {
    expect(readServerSummary({ serverSummary: given })).toBeUndefined();
  });

  it.each([
    { summary: true, server: { model: "m", block } },
    { summary: false, server: undefined },
  ])("counts only in a summary: $summary", ({ summary, server }) => {
    expect(readEntry(entry({ isCompactSummary: summary }))).toMatchObject({ entry: { kind: "user", summary, server } });
  });
});

describe("what a block sums up", () => {
  it("is its content", () => {
    expect(compactionBlockText({ type: "compaction", content: "So far." } as never)).toBe("So far.");
  });

  it("is nothing of a block of another type", () => {
    expect(compactionBlockText({ type: "text", text: "So far." })).toBeUndefined();
  });
});
