import { describe, expect, it } from "vitest";
import type { MemoryText } from "../../ports/memories.ts";
import { memoryRevisionId, millis } from "../../schema/brand.ts";
import { ruleScanner } from "../redact-secrets.ts";
import { applyWrites } from "./apply-writes.ts";
import { describeMemory } from "./describe-memory.ts";
import { DraftDirectory } from "./draft-directory.ts";
import { hashMemory } from "./plan-commit.ts";

const now = millis(1_000);
const provenance = { at: now, trust: "trusted" } as const;

function createMemory(path: string, text: string): MemoryText {
  const hash = hashMemory(text);
  const recorded = {
    hash,
    at: now,
    revision: memoryRevisionId("r1"),
    author: "user",
    provenance,
    trust: "trusted",
  } as const;
  return describeMemory({ path, file: { hash, text }, modifiedMs: now, recorded });
}

async function apply(answer: string) {
  const base = [createMemory("old.md", "Old text.\n"), createMemory("MEMORY.md", "- [Old](old.md)\n")];
  const draft = new DraftDirectory({ base, scanner: ruleScanner, now: () => now });
  const outcome = await applyWrites({ memories: draft, author: "dream", provenance: () => provenance }, answer);
  return { outcome, changes: draft.changes.map(({ path, text }) => [path, text]) };
}

describe("an answer of writes", () => {
  const write = { path: "new.md", text: "New text." };
  const forms: readonly (readonly [string, string])[] = [
    ["a list", JSON.stringify([write])],
    ["an object with changes", JSON.stringify({ changes: [write], removed: [] })],
    ["a fenced block behind prose", `Here [as asked]:\n\`\`\`json\n${JSON.stringify([write])}\n\`\`\`\nDone.`],
    ["a list behind a sentence", `These:\n${JSON.stringify([write], undefined, 2)}\nThat is all.`],
    ["the tool's spelling of a path", JSON.stringify([{ ...write, path: "/memories/new.md" }])],
  ];
  it.each(forms)("is read as %s", async (_, answer) => {
    expect((await apply(answer)).changes).toEqual([["new.md", "New text.\n"]]);
  });

  it("makes the front matter from fields, replaces whole files and deletes them", async () => {
    const fields = { path: "a.md", name: "A", description: "About a", type: "user", body: "A is b." };
    const { changes } = await apply(JSON.stringify([fields, { path: "old.md", text: "Newer." }]));
    expect(changes).toEqual([
      ["a.md", "---\nname: A\ndescription: About a\ntype: user\n---\n\nA is b.\n"],
      ["old.md", "Newer.\n"],
    ]);
    expect((await apply('[{"path":"old.md","delete":true}]')).changes).toEqual([["old.md", undefined]]);
  });

  const refusals: readonly (readonly [string, unknown, RegExp])[] = [
    ["a path that leads out", { path: "../x.md", text: "x" }, /leads out/],
    ["an absolute path", { path: "/etc/passwd", text: "x" }, /can't be the path/],
    ["a hidden path", { path: ".history/log.jsonl", text: "x" }, /hidden/],
    ["the index", { path: "MEMORY.md", text: "x" }, /kept by the engine/],
    ["the logs", { path: "logs/2026/11/17.md", text: "x" }, /kept by the engine/],
    ["a secret", { path: "key.md", text: `ghp_${"a1B2".repeat(9)}` }, /secret/],
    ["what is not there", { path: "gone.md", delete: true }, /does not exist/],
    ["an empty text", { path: "old.md", text: "" }, /needs a path/],
    ["what has no path", "text", /needs a path/],
  ];
  it.each(refusals)("refuses %s and applies the rest", async (_, item, why) => {
    const { outcome, changes } = await apply(JSON.stringify([item, write]));
    expect(outcome.kind === "applied" ? outcome.refused.map((one) => one.why).join("") : "").toMatch(why);
    expect(changes).toEqual([["new.md", "New text.\n"]]);
  });

  it("applies nothing of an answer that can't be read", async () => {
    for (const answer of ["", "I saved it.", '[{"path": "new.md", "text": "cut of', '{"writes": []}'])
      expect(await apply(answer)).toMatchObject({ outcome: { kind: "unreadable" }, changes: [] });
  });
});
