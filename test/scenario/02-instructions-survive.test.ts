import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { say, user } from "../fixture/session.ts";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import { compact, compactionWorld, type CompactionWorldOptions, taskText } from "./support/compaction-world.ts";
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

const words = [rootWord, pinnedWord];

/** Instructions of the project and a message that is pinned; the summariser only ever says "ok". */
async function instructed(options: CompactionWorldOptions = {}): Promise<Living> {
  const world = await forgetfulWorld(options);
  await writeFile(join(world.work, "CLAUDE.md"), `# Rules\nThe word of the root is ${rootWord}.\n`);
  const agent = await world.open();
  await world.turn(agent, { text: taskText(0), rounds: 2 });
  const pinned = await say(agent.session, user(pinnedWord));
  world.said.push(pinnedWord);
  await agent.session.edit({ drafts: [{ type: "pin", entry: pinned }], cause: "asked", nature: "reduced" });
  return { world, agent };
}

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
