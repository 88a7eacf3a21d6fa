import { describe, expect, it } from "vitest";
import { memoryMemories } from "../../store/memory/memory-memories.ts";
import { millis } from "../../schema/brand.ts";
import { ruleScanner } from "../redact-secrets.ts";
import { DraftDirectory } from "./draft-directory.ts";
import { readMemories } from "./read-memories.ts";

const now = () => millis(1_000);
const provenance = { at: millis(0), trust: "trusted" } as const;
const set = (path: string, text: string | undefined, expected: "any" | "absent" = "any") =>
  ({ author: "extraction", provenance, message: "test", changes: [{ path, expected, text }] }) as const;

async function drafted() {
  const memories = memoryMemories({ deps: { now } });
  await memories.commit(set("a.md", "Alpha.\n"));
  await memories.commit(set("b.md", "Beta.\n"));
  return { memories, draft: new DraftDirectory({ base: await readMemories(memories), scanner: ruleScanner, now }) };
}

describe("a draft of a directory", () => {
  it("reaches the directory only as the change set that it amounts to", async () => {
    const { memories, draft } = await drafted();
    await draft.commit(set("a.md", "Alpha, changed.\n"));
    await draft.commit(set("b.md", undefined));
    await draft.commit(set("c.md", "Gamma.\n", "absent"));
    expect((await draft.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "a.md", "c.md"]);
    expect((await memories.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "a.md", "b.md"]);
    expect(draft.changes.map(({ path, text }) => [path, text])).toEqual([
      ["a.md", "Alpha, changed.\n"],
      ["b.md", undefined],
      ["c.md", "Gamma.\n"],
    ]);
    expect(await memories.commit({ ...set("x.md", ""), changes: draft.changes })).toMatchObject({ kind: "committed" });
    expect((await memories.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "a.md", "c.md"]);
  });

  it("holds no change for what was changed and put back, or made and deleted", async () => {
    const { draft } = await drafted();
    await draft.commit(set("a.md", "Something else.\n"));
    await draft.commit(set("a.md", "Alpha.\n"));
    await draft.commit(set("new.md", "New.\n"));
    await draft.commit(set("new.md", undefined));
    expect(draft.changes).toEqual([]);
  });

  it.each([
    ["the index", "MEMORY.md", "x", "invalid"],
    ["a log", "logs/2026/11/17.md", "x", "invalid"],
    ["a path that leads out", "../x.md", "x", "invalid"],
    ["a file below another file", "a.md/b.md", "x", "invalid"],
    ["a secret", "key.md", `ghp_${"a1B2".repeat(9)}`, "refused"],
  ])("does not take %s", async (_, path, text, kind) => {
    const { draft } = await drafted();
    expect(await draft.commit(set(path, text))).toMatchObject({ kind });
    expect(draft.changes).toEqual([]);
  });

  it("a text that was not expected is a conflict", async () => {
    const { draft } = await drafted();
    expect(await draft.commit(set("a.md", "x", "absent"))).toEqual({ kind: "conflict", paths: ["a.md"] });
  });
});
