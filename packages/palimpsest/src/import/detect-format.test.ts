import { describe, expect, it } from "vitest";
import { foldOf, loggedOf } from "../../../../test/fixture/log.ts";
import type { JsonObject } from "../schema/json.ts";
import { violations } from "../transcript/violations.ts";
import { importDeps, importFixture, importFixtures } from "../../../../test/fixture/imported.ts";
import { detectFormat, importers, translateLog } from "./detect-format.ts";
import { headValues } from "./read-lines.ts";
import { headBytes } from "./limits.ts";

/** `swe-agent-text.traj` → `swe-agent`. */
const formatOf = (name: string): string =>
  importers.find(({ format }) => name.startsWith(format))?.format ?? "claude-code";

describe("the format of a file", () => {
  it("has a fixture for each importer", () => {
    expect(new Set(importFixtures.map((name) => formatOf(name)))).toEqual(
      new Set(["claude-code", ...importers.map(({ format }) => format)]),
    );
  });

  it.each(importFixtures)("%s is found by content, and by no other importer", (name) => {
    const text = importFixture(name);
    expect(detectFormat(text)).toBe(formatOf(name));
    const claimed = importers.filter((importer) => importer.detect(headValues(text))).map(({ format }) => format);
    expect(claimed).toEqual(formatOf(name) === "claude-code" ? [] : [formatOf(name)]);
  });

  it.each(importFixtures)("%s is found in a head that ends anywhere in its second half", (name) => {
    const text = importFixture(name);
    for (let end = Math.ceil(text.length / 2); end < text.length; end += 7)
      expect(detectFormat(text.slice(0, end)), `cut at ${end}`).toBe(formatOf(name));
  });

  it("is found where the first record is longer than the head", () => {
    const meta = {
      timestamp: "t",
      type: "session_meta",
      payload: { id: "x", base_instructions: { text: "a".repeat(2 * headBytes) } },
    };
    expect(detectFormat(JSON.stringify(meta).slice(0, headBytes))).toBe("codex");
  });

  it.each([
    ["nothing", ""],
    ["text", "Dear diary,\n{not json}\n"],
    ["other JSON", '{"name":"x","version":"1.0.0"}'],
    ["other lines", '{"a":1}\n{"b":2}\n'],
    ["bare chat messages", '[{"role":"user","content":"x"}]'],
    ["numbers", "1\n2\n"],
    ["bytes", "\u0000\u0001[{]\u0000"],
  ])("is unknown for %s", (_, text) => {
    expect(detectFormat(text)).toBeUndefined();
    expect(translateLog({ text, deps: importDeps })).toEqual({ kind: "unknown" });
  });

  it("leaves the ecosystem's own form as it is", () => {
    expect(translateLog({ text: importFixture("claude-code.jsonl"), deps: importDeps })).toEqual({
      kind: "as-it-is",
      format: "claude-code",
    });
  });

  it.each(importFixtures.filter((name) => formatOf(name) !== "claude-code"))(
    "%s cut at any place still gives a well-formed view, and the same one twice",
    (name) => {
      const text = importFixture(name);
      for (let end = 1; end <= text.length + 40; end += 41) {
        const cut = translated(text.slice(0, end));
        if (cut === undefined) continue;
        const ids = cut.map((entry) => entry["uuid"]);
        expect(new Set(ids).size, `cut at ${end}`).toBe(ids.length);
        const { messages } = foldOf(loggedOf(cut.map((entry) => JSON.stringify(entry)))).view();
        expect(violations(messages, { end: "any" }), `cut at ${end}`).toEqual([]);
      }
      expect(translated(text)).toEqual(translated(text));
    },
  );

  it.each(["codex.jsonl", "codex-early.jsonl", "pi.jsonl", "pi-tree.jsonl", "copilot.jsonl"])(
    "%s keeps the ids it has as lines are added",
    (name) => {
      const lines = importFixture(name).split("\n");
      const idsOf = (count: number) =>
        translated(lines.slice(0, count).join("\n"))?.map((entry) => entry["uuid"]) ?? [];
      const whole = idsOf(lines.length);
      for (let count = 1; count < lines.length; count += 1) {
        const ids = idsOf(count);
        expect(ids, `${count} lines`).toEqual(whole.slice(0, ids.length));
      }
    },
  );
});

function translated(text: string): readonly JsonObject[] | undefined {
  const outcome = translateLog({ text, deps: importDeps });
  return outcome.kind === "translated" ? outcome.entries : undefined;
}
