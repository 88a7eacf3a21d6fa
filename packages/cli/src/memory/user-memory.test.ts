import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { planSave } from "palimpsest/internal/memory/directory/memory-history";
import { millis } from "palimpsest/internal/schema/brand";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { describe, expect, it } from "vitest";
import { commitAsUser } from "./change-memory.ts";
import { guessMemoryType, userMemory } from "./user-memory.ts";

describe("a memory from the prompt", () => {
  it("is named after its first line and keeps the text as it was typed", () => {
    const said = "Use pnpm, never npm.\nThe lock file is pnpm's.";
    expect(userMemory(said, "feedback")).toEqual({
      name: "Use pnpm, never npm",
      description: "Use pnpm, never npm.",
      type: "feedback",
      body: said,
    });
  });

  it("is another one than a memory that only begins with the same words", async () => {
    const opened = await memoryStore().open();
    if (opened.kind === "failed" || opened.memories === undefined) throw new Error("no memories");
    const { memories } = opened;
    const begin = "When the release branch is cut and the tests on it are all green, ";
    const save = async (said: string) => {
      const plan = planSave(userMemory(said, "project"), await readMemories(memories));
      if (plan.kind === "duplicate") return plan;
      await commitAsUser(memories, { changes: [plan.change], message: "m", at: millis(1) });
      return plan;
    };
    expect((await save(`${begin}tell Ann.`)).kind).toBe("new");
    expect((await save(`${begin}tell Bob.`)).kind).toBe("new");
    expect((await save(`${begin}tell Bob.\nBy mail.`)).kind).toBe("update");
    expect((await memories.list()).filter(({ role }) => role === "memory")).toHaveLength(2);
  });

  it.each([
    ["Never run the slow tests", "feedback"],
    ["I'm new to Rust", "user"],
    ["The dashboard is https://status.example.com", "reference"],
    ["The freeze begins on 2026-12-01", "project"],
    ["発布は金曜日", "project"],
  ])("%s: %s is offered first", (said, type) => {
    expect(guessMemoryType(said)).toBe(type);
  });
});
