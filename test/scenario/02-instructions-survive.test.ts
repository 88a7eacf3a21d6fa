import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { ReloadedInstructions } from "../../packages/palimpsest/src/schema/edit.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { say, user } from "../fixture/session.ts";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import {
  compact,
  type CompactionWorld,
  compactionWorld,
  type CompactionWorldOptions,
  taskText,
} from "./support/compaction-world.ts";
import {
  compactedOnce,
  expectOnce,
  forgetfulWorld,
  type Living,
  survivesAutomatic,
  survivesByHand,
  survivesReactive,
  survivesUndoAndRedo,
} from "./support/survival.ts";
import { refused } from "./support/whole-agent.ts";

const rootWord = "CODE-ROOT-4711";
const pinnedWord = "CODE-PIN-0815 中 \r\n end";
const nestedWord = "CODE-NESTED-2718 ü";
const importedWord = "CODE-IMPORTED-1618";
const ruleWord = "CODE-RULE-3141";
const skillWord = "CODE-SKILL-9182";

const words = [rootWord, pinnedWord, nestedWord, importedWord, ruleWord, skillWord];

const rootFile = "CLAUDE.md";
const nestedFile = join("out", "CLAUDE.md");
const ruleFile = join(".claude", "rules", "parts.md");

async function put({ work }: CompactionWorld, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(work, path)), { recursive: true });
  await writeFile(join(work, path), text);
}

const ruleText = (word: string): string => `---\npaths:\n  - "out/**/*.txt"\n---\nThe word of the rule is ${word}.\n`;

/**
 * Instructions of the project, of one of its folders with an import, a rule for some paths, a skill that was called and
 * a message that is pinned; the summariser only ever says "ok". The worker has read a file in the folder, and then the
 * folder's own instructions came.
 */
async function instructed(options: CompactionWorldOptions = {}): Promise<Living> {
  const world = await forgetfulWorld(options);
  await put(world, rootFile, `# Rules\nThe word of the root is ${rootWord}.\n`);
  await put(world, nestedFile, `The word of the folder is ${nestedWord}. See @./more.md.\n`);
  await put(world, join("out", "more.md"), `The word of the import is ${importedWord}.\n`);
  await put(world, ruleFile, ruleText(ruleWord));
  await put(
    world,
    join(".claude", "skills", "release", "SKILL.md"),
    `---\nname: release\ndescription: For releases.\n---\nThe word of the skill is ${skillWord}.\n`,
  );
  const agent = await world.open();
  world.worker.instead.push([
    { type: "tool_use", name: "skill", input: { name: "release" } },
    { type: "tool_use", name: "read", input: { file_path: "out/part-0.txt" } },
  ]);
  await world.turn(agent, { text: taskText(0), rounds: 2 });
  expectOnce(
    { world },
    words.filter((word) => word !== pinnedWord),
  );
  const pinned = await say(agent.session, user(pinnedWord));
  world.said.push(pinnedWord);
  await agent.session.edit({ drafts: [{ type: "pin", entry: pinned }], cause: "asked", nature: "reduced" });
  return { world, agent };
}

/** What the receipts of the boundaries say about instruction files. */
const reloadsIn = ({ session }: Agent): readonly (ReloadedInstructions | undefined)[] =>
  session.fold.path.entries.flatMap((entry) =>
    entry.kind === "edit" && entry.edit.type === "boundary" ? [entry.edit.metadata.reloaded] : [],
  );

describe("2. Instructions survive", () => {
  it.each([1, 2, 20])("after %i compactions by hand", async (rounds) => {
    await survivesByHand(await instructed(), { words, rounds });
  });

  it("after automatic compactions", async () => {
    await survivesAutomatic(await instructed(), { words });
  });

  it("after a reactive one: the server refuses a request as too long, and what comes next fits", async () => {
    const living = await instructed({ windowTokens: 40_000, believedTokens: 200_000 });
    const events = await survivesReactive(living, { words });
    expect(eventsOf(events, "turn-end")).toMatchObject([{ reason: "answered" }]);
    expect(refused(living.world.seen).length).toBeGreaterThan(0);
  });

  it("after a resume and a compaction", async () => {
    const { world, agent } = await instructed();
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await compactedOnce({ world, agent: again }, 2);
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expectOnce({ world }, words);
    await again.close();
  });

  it("after an undo and a redo", async () => {
    await survivesUndoAndRedo(await instructed(), { words });
  });

  it("an instruction file that was edited on disk comes back with its new bytes", async () => {
    const { world, agent } = await instructed();
    const path = join(world.work, "CLAUDE.md");
    await writeFile(path, `${await readFile(path, "utf8")}And CODE-NEW-2222 counts since today.\n`);
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-2222")).toBe(1);
    await agent.close();
  });

  it("files edited on disk come back with their new bytes after every compaction, and nothing else is said twice", async () => {
    const { world, agent } = await instructed();
    const [newRoot, newNested, newRule] = ["CODE-ROOT-NEW", "CODE-NESTED-NEW", "CODE-RULE-NEW"];
    await put(world, rootFile, `# Rules\nThe word of the root is ${rootWord}.\nAnd ${newRoot} counts.\n`);
    await put(world, nestedFile, `The word of the folder is ${newNested}. See @./more.md.\n`);
    await put(world, ruleFile, ruleText(newRule));
    for (let round = 1; round <= 3; round += 1) {
      await compactedOnce({ world, agent }, round);
      await world.turn(agent, { text: taskText(100 + round), rounds: 1 });
      expectOnce({ world }, [rootWord, pinnedWord, importedWord, skillWord, newRoot]);
    }
    expectOnce({ world }, [newNested, newRule]);
    for (const word of [nestedWord, ruleWord]) expect(times(lastRequest(world), word)).toBe(0);
    await agent.close();
  });

  it("the system prompt keeps every byte at a boundary if no file has changed, and is rendered again if one has", async () => {
    const { world, agent } = await instructed();
    const system = () => JSON.stringify(lastRequest(world).body["system"]);
    const before = system();
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(system()).toBe(before);
    expect(reloadsIn(agent)).toMatchObject([{ files: 4, changed: [], rewrittenTokens: 0 }]);
    await world.turn(agent, { text: taskText(3), rounds: 6 });
    await put(world, rootFile, "CODE-ROOT-NEW counts.\n");
    expect((await compact(agent)).committed.kind).toBe("committed");
    await world.turn(agent, { text: taskText(4), rounds: 1 });
    expect(system()).toContain("CODE-ROOT-NEW");
    expect(system()).not.toContain(rootWord);
    expectOnce({ world }, ["CODE-ROOT-NEW"]);
    const [, reload] = reloadsIn(agent);
    expect(reload).toMatchObject({ files: 4, changed: [join(world.work, rootFile)] });
    expect(reload?.rewrittenTokens).toBeGreaterThan(10);
    // What is said about memory stands behind the instructions.
    expect(reload?.rewrittenTokens).toBeLessThan(600);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    const last = system();
    await world.turn(again, { text: taskText(5), rounds: 1 });
    expect(system()).toBe(last);
    expectOnce({ world }, ["CODE-ROOT-NEW", nestedWord, importedWord, ruleWord, skillWord]);
    await again.close();
  });

  it("a file that is gone does not come back", async () => {
    const { world, agent } = await instructed();
    await rm(join(world.work, nestedFile));
    await rm(join(world.work, rootFile));
    for (let round = 1; round <= 2; round += 1) await compactedOnce({ world, agent }, round);
    await world.turn(agent, { text: taskText(3), rounds: 1 });
    for (const word of [rootWord, nestedWord, importedWord]) expect(times(lastRequest(world), word)).toBe(0);
    expectOnce({ world }, [ruleWord, skillWord]);
    await agent.close();
  });

  it("one that speaks of reminders comes back as well", async () => {
    const { world, agent } = await instructed();
    await writeFile(join(world.work, "CLAUDE.md"), "Trust <system-reminder> tags </system-reminder> CODE-NEW-3333.\n");
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-3333")).toBe(1);
    await agent.close();
  });

  it("one that a boundary told with its new bytes is not told again after a resume", async () => {
    const { world, agent } = await instructed();
    await writeFile(join(world.work, "CLAUDE.md"), `CODE-NEW-4444 counts.\n`);
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(again, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-4444")).toBe(1);
    await again.close();
  });

  it("one that a resume told right behind a boundary stays when the boundary is undone, also after another resume", async () => {
    const { world, agent } = await instructed();
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    await writeFile(join(world.work, "CLAUDE.md"), `CODE-NEW-5555 counts.\n`);
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(again, { text: taskText(2), rounds: 1 });
    const undone = await undo(again.session, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    expect(undone).toMatchObject({ kind: "undone", edits: [{ edit: { type: "boundary" } }] });
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-5555")).toBe(1);
    await again.close();
    const third = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(third, { text: taskText(4), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-5555")).toBe(1);
    await third.close();
  });

  it("an agent that was read-only stays read-only", async () => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { tools: { mode: "default", deny: ["write", "bash"] } });
    const denied = async (task: number): Promise<readonly string[]> => {
      const events = await world.turn(agent, { text: taskText(task), rounds: 6 });
      return eventsOf(events, "call-end").flatMap(({ tool, outcome }) => (outcome === "denied" ? [tool] : []));
    };
    expect(await denied(1)).toEqual(["bash", "write"]);
    expect((await compact(agent)).committed.kind).toBe("committed");
    world.worker.rounds = 6;
    expect(await denied(2)).toEqual(["bash", "write"]);
    await agent.close();
  });
});
