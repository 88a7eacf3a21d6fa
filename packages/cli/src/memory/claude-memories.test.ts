import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millis } from "palimpsest/internal/schema/brand";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { describe, expect, it } from "vitest";
import { claudeMemoryFolder, planImport, readClaudeMemories } from "./claude-memories.ts";

describe("Claude Code's memories of a project", () => {
  it("lie in a folder that is named after the project's root", () => {
    const env = { HOME: "/home/me" };
    expect(claudeMemoryFolder({ env, root: "/home/me/my.app" })).toBe(
      "/home/me/.claude/projects/-home-me-my-app/memory",
    );
    expect(claudeMemoryFolder({ env: { ...env, CLAUDE_CONFIG_DIR: "/c" }, root: "/x" })).toBe("/c/projects/-x/memory");
  });

  it("are its Markdown files; links, its index and huge files are not read", async () => {
    const folder = await mkdtemp(join(tmpdir(), "claude-memory-"));
    await mkdir(join(folder, "team"));
    await writeFile(join(folder, "MEMORY.md"), "- [a](a.md)");
    await writeFile(join(folder, "a.md"), "a");
    await writeFile(join(folder, "team/b.md"), "b");
    await writeFile(join(folder, "huge.md"), "x".repeat(200_000));
    await symlink("/etc/passwd", join(folder, "link.md"));
    expect((await readClaudeMemories(folder)).map(({ path }) => path)).toEqual(["a.md", "team/b.md"]);
    expect(await readClaudeMemories(join(folder, "none"))).toEqual([]);
  });

  it("are taken over once, brought up to date later, and never over a memory of ours", async () => {
    const opened = await memoryStore().open();
    if (opened.kind === "failed" || opened.memories === undefined) throw new Error("no memories");
    const { memories } = opened;
    await memories.commit({
      author: "user",
      message: "mine",
      provenance: { at: millis(1), trust: "trusted" },
      changes: [{ path: "mine.md", expected: "absent", text: "mine\n" }],
    });
    const plan = async (texts: Readonly<Record<string, string>>) => {
      const ours = await readMemories(memories);
      const theirs = Object.entries(texts).map(([path, text]) => ({ path, text, modifiedMs: 5 }));
      return planImport(theirs, { ours, trust: "untrusted" });
    };
    const first = await plan({ "a.md": "a1\noriginSessionId: 1234-abcd-55\n", "mine.md": "theirs\n" });
    expect([first.changes.map(({ path }) => path), first.kept]).toEqual([["a.md"], ["mine.md"]]);
    expect(first.changes[0]?.provenance).toMatchObject({ importedFrom: "Claude Code", session: "1234-abcd-55", at: 5 });
    const provenance = { at: millis(1), trust: "untrusted" as const };
    await memories.commit({ author: "user", message: "import", provenance, changes: first.changes });
    expect(await plan({ "a.md": "a1\noriginSessionId: 1234-abcd-55\n" })).toMatchObject({
      same: ["a.md"],
      changes: [],
    });
    expect((await plan({ "a.md": "a2\n" })).changes).toHaveLength(1);
  });
});
