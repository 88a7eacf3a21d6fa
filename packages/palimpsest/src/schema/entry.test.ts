import { describe, expect, it } from "vitest";
import { readEntry } from "./entry.ts";
import { type Json, parseJson, type JsonObject } from "./json.ts";
import { readServerSummary, compactionBlockText } from "./block.ts";

const entryOf = (raw: Json): object => {
  const reading = readEntry(raw);
  if (reading.kind !== "entry") throw new Error(reading.why);
  return reading.entry;
};

describe("reading an entry", () => {
  it("a user's string is one text block", () => {
    expect(entryOf({ type: "user", uuid: "1", parentUuid: "0", message: { content: "hi" } })).toMatchObject({
      kind: "user",
      id: "1",
      parent: "0",
      blocks: [{ type: "text", text: "hi" }],
      meta: false,
      summary: false,
      sidechain: false,
    });
  });

  it("flags of the ecosystem are read", () => {
    expect(
      entryOf({
        type: "user",
        isMeta: true,
        isCompactSummary: true,
        isSidechain: true,
        logicalParentUuid: "9",
        message: { content: [] },
      }),
    ).toMatchObject({
      meta: true,
      summary: true,
      sidechain: true,
      logicalParent: "9",
      parent: undefined,
      id: undefined,
    });
  });

  it("a null parent is a root; a missing one is undefined", () => {
    expect(entryOf({ type: "user", parentUuid: null, message: { content: [] } })).toMatchObject({ parent: null });
    expect(entryOf({ type: "user", parentUuid: 7, message: { content: [] } })).toMatchObject({ parent: undefined });
  });

  it("content nested deeper than anything a tool writes is not an entry, so that no code has to walk it", () => {
    const deep = `{"type":"user","message":{"content":[${"[".repeat(50_000)}${"]".repeat(50_000)}]}}`;
    expect(readEntry(parseJson(deep))).toMatchObject({ kind: "not-an-entry" });
  });

  it("a reply has the id its entries share", () => {
    expect(entryOf({ type: "assistant", message: { id: "m", content: [] } })).toMatchObject({
      kind: "assistant",
      messageId: "m",
      synthetic: false,
    });
  });

  it.each<Json>([
    { type: "assistant", isApiErrorMessage: true, message: { content: [] } },
    { type: "assistant", message: { model: "<synthetic>", content: [] } },
  ])("an error placeholder is synthetic: %j", (raw) => {
    expect(entryOf(raw)).toMatchObject({ synthetic: true });
  });

  it("an attachment holds its own object", () => {
    expect(entryOf({ type: "attachment", attachment: { type: "file" } })).toMatchObject({
      kind: "attachment",
      attachment: { type: "file" },
    });
  });

  it("an edit needs an identity, or nothing could undo it", () => {
    expect(entryOf({ type: "pin", entry: "e", uuid: "1" })).toMatchObject({ kind: "edit", edit: { type: "pin" } });
    expect(entryOf({ type: "pin", entry: "e" })).toMatchObject({ kind: "other" });
  });

  it("an edit that does not fit stays in the log as something other, and says why", () => {
    expect(entryOf({ type: "pin", uuid: "1" })).toMatchObject({
      kind: "other",
      malformed: expect.stringContaining("entry") as unknown,
    });
  });

  it.each<Json>([
    { type: "progress" },
    { type: "of-next-year", uuid: "1" },
    { type: "user" },
    { type: "assistant", message: "x" },
    { type: "attachment" },
    { type: "system", subtype: "x" },
  ])("%j is an entry that says nothing", (raw) => {
    expect(entryOf(raw)).toMatchObject({ kind: "other" });
  });

  it.each<Json>(["x", 1, null, [], {}, { type: 1 }])("%j is not an entry", (raw) => {
    expect(readEntry(raw).kind).toBe("not-an-entry");
  });

  it.each<Json>([{ content: null }, { content: 1 }, {}])("a message with content %j has no blocks", (message) => {
    expect(entryOf({ type: "user", message })).toMatchObject({ blocks: [] });
  });
});

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
