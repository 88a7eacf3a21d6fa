import { describe, expect, it } from "vitest";
import { plainClearMarker, readEdit } from "./edit.ts";

const blob = "a".repeat(64);

describe("reading an edit", () => {
  it.each<[string, object]>([
    ["offload", { type: "offload", results: [{ toolUse: "a", blob, media: "text", bytes: 3, shown: "x" }] }],
    [
      "clear",
      {
        type: "clear",
        results: [{ toolUse: "a", shown: "x" }],
        attachments: ["e"],
        cause: "idle",
        tokensBefore: 3,
        tokensSaved: 1,
      },
    ],
    ["server-edits", { type: "server-edits", deleted: ["a"] }],
    ["snip", { type: "snip", entries: ["e"] }],
    ["collapse", { type: "collapse", span: { from: "e", to: "f" }, shown: "x" }],
    ["pin", { type: "pin", entry: "e" }],
    ["unpin", { type: "unpin", entry: "e" }],
    ["undo", { type: "undo", edit: "e", dropsThinking: true }],
    ["setting", { type: "setting", name: "n", value: { deep: [null] } }],
    ["repair", { type: "repair", results: [{ toolUse: "a", shown: "x" }] }],
    ["branch", { type: "branch", before: "e" }],
    ["origin", { type: "origin", format: "claude-code", path: "/x", length: 4, sha256: blob }],
  ])("%s keeps every field, also of next year's", (_, raw) => {
    const whole = { type: undefined, ...raw, field_of_next_year: 1 };
    expect(readEdit(whole)).toEqual({ kind: "edit", edit: whole });
  });

  it("a clear without attachments has none", () => {
    expect(readEdit({ type: "clear", results: [], cause: "size" } as object)).toMatchObject({
      edit: { attachments: [] },
    });
  });

  it("a compact_boundary of any tool is a boundary, with its metadata", () => {
    const compactMetadata = {
      trigger: "auto",
      preTokens: 155_000,
      preservedSegment: { headUuid: "h", anchorUuid: "a", tailUuid: "t" },
      ofNextYear: 1,
    };
    expect(readEdit({ type: "system", subtype: "compact_boundary", compactMetadata } as object)).toEqual({
      kind: "edit",
      edit: { type: "boundary", metadata: compactMetadata },
    });
    expect(readEdit({ type: "system", subtype: "compact_boundary" })).toEqual({
      kind: "edit",
      edit: { type: "boundary", metadata: {} },
    });
  });

  it.each<[string, unknown]>([
    ["path", 7],
    ["postTokens", "many"],
    ["durationMs", null],
    ["messagesSummarized", []],
    ["instructions", {}],
    ["calls", [{ path: "fork", model: "m" }]],
    ["audit", { score: "good" }],
  ])("a boundary whose %s is no such thing is a boundary without it", (name, value) => {
    const raw = { type: "system", subtype: "compact_boundary", compactMetadata: { trigger: "auto", [name]: value } };
    const read = readEdit(raw);
    expect(read).toEqual({ kind: "edit", edit: { type: "boundary", metadata: { trigger: "auto" } } });
  });

  it("a boundary says what its summary cost", () => {
    const told = {
      path: "fork",
      postTokens: 9,
      durationMs: 30,
      messagesSummarized: 4,
      instructions: "the tests",
      calls: [
        { path: "fork", model: "m", usage: { input_tokens: 1, cache_creation: { ephemeral_5m_input_tokens: 0 } } },
      ],
      audit: { score: 0.9, missing: ["a.ts"] },
    };
    const raw = { type: "system", subtype: "compact_boundary", compactMetadata: told };
    expect(readEdit(raw)).toEqual({ kind: "edit", edit: { type: "boundary", metadata: told } });
  });

  it("a microcompact_boundary is a clear with the plain marker", () => {
    const raw = {
      type: "system",
      subtype: "microcompact_boundary",
      microcompactMetadata: { compactedToolIds: ["a"], clearedAttachmentUUIDs: ["e"] },
    };
    expect(readEdit(raw)).toEqual({
      kind: "edit",
      edit: { type: "clear", results: [{ toolUse: "a", shown: plainClearMarker }], attachments: ["e"], cause: "size" },
    });
  });

  it.each<[string, object]>([
    ["a clear of no known cause", { type: "clear", results: [], cause: "whim" }],
    ["an offload to what is no blob id", { type: "offload", results: [{ toolUse: "a", blob: "short", shown: "x" }] }],
    ["a snip of numbers", { type: "snip", entries: [1] }],
    ["a setting without a value", { type: "setting", name: "n" }],
    [
      "a boundary whose metadata do not fit",
      { type: "system", subtype: "compact_boundary", compactMetadata: { preservedSegment: {} } },
    ],
    ["a microcompact_boundary without metadata", { type: "system", subtype: "microcompact_boundary" }],
  ])("%s is malformed, and says why", (_, raw) => {
    const reading = readEdit(raw);
    expect(reading.kind).toBe("malformed");
    expect(reading.kind === "malformed" && reading.why.length).toBeGreaterThan(5);
  });

  it.each([
    { type: "user" },
    { type: "system", subtype: "turn_duration" },
    { type: "system" },
    { type: "toString" },
    {},
  ])("%j is no edit", (raw) => {
    expect(readEdit(raw)).toEqual({ kind: "none" });
  });
});
