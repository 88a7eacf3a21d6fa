import { describe, expect, it } from "vitest";
import { chained, clear, type Raw, result, says, summary, text, user } from "../../../../test/fixture/raw.ts";
import type { JsonObject } from "../schema/json.ts";
import type { FormatMode } from "./export-document.ts";
import { JsonlExport } from "./jsonl-export.ts";

function exported(
  raws: readonly Raw[],
  mode: FormatMode = "full",
  originals: Readonly<Record<string, string>> = {},
): JsonObject[] {
  const out = new JsonlExport({ mode, originalOf: (call) => originals[call] });
  return chained(raws).flatMap((entry, at) => {
    const raw = { ...raws[at], parentUuid: entry.parent ?? null } as unknown as JsonObject;
    const line = out.line({ entry, raw, asLogged: undefined });
    return line === undefined ? [] : [JSON.parse(line) as JsonObject];
  });
}

const offload: Raw = {
  type: "offload",
  uuid: "o",
  results: [{ toolUse: "t1", blob: "a".repeat(64), media: "text", shown: "short" }],
};

describe("JSONL", () => {
  it("writes a line that needs no change as it stands in the log", () => {
    const out = new JsonlExport({ mode: "full", originalOf: () => undefined });
    const [entry] = chained([user("u")]);
    if (entry === undefined) throw new Error("one entry");
    const asLogged = '{"n":1.50,"type":"user","uuid":"u"}';
    expect(out.line({ entry, raw: { n: 1.5, type: "user", uuid: "u" }, asLogged })).toBe(asLogged);
  });

  it("writes offloaded results in full, and their offload then names no blob", () => {
    const lines = exported([user("u"), result("r", "t1", "short"), offload], "full", { t1: "the whole" });
    expect(lines[1]).toMatchObject({ message: { content: [{ content: "the whole" }] } });
    expect(lines[2]).toMatchObject({ type: "offload", results: [{ toolUse: "t1", shown: "short" }] });
    expect(JSON.stringify(lines[2])).not.toContain("aaaa");
  });

  it("keeps the blob's name where the blob is gone", () => {
    const lines = exported([user("u"), result("r", "t1", "short"), offload]);
    expect(lines[1]).toMatchObject({ message: { content: [{ content: "short" }] } });
    expect(lines[2]).toMatchObject({ results: [{ blob: "a".repeat(64) }] });
  });

  it("plain: messages only, each on the nearest message before it", () => {
    const lines = exported(
      [user("u"), clear("c", "t"), summary("s"), says("a", "m", text("hi")), offload, user("v")],
      "plain",
    );
    expect(lines.map(({ uuid, parentUuid }) => [uuid, parentUuid])).toEqual([
      ["u", null],
      ["a", "u"],
      ["v", "a"],
    ]);
  });
});
