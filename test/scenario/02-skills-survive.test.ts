import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import {
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

const word = "CODE-SKILL-9182";

async function putSkill({ work }: CompactionWorld, body: string): Promise<void> {
  await mkdir(join(work, ".claude", "skills", "release"), { recursive: true });
  const text = `---\nname: release\ndescription: For releases.\n---\n${body}\n`;
  await writeFile(join(work, ".claude", "skills", "release", "SKILL.md"), text);
}

/** A skill of the project that was called once; the summariser only ever says "ok". */
async function skilled(options: CompactionWorldOptions = {}): Promise<Living> {
  const world = await forgetfulWorld(options);
  await putSkill(world, `The word of the skill is ${word}.`);
  const agent = await world.open();
  world.worker.instead.push([{ type: "tool_use", name: "skill", input: { name: "release" } }]);
  const events = await world.turn(agent, { text: taskText(0), rounds: 2 });
  expect(eventsOf(events, "call-end")[0]).toMatchObject({ tool: "skill", outcome: "done" });
  return { world, agent };
}

describe("2. A skill that was called survives", () => {
  it.each([1, 2, 20])("%i compactions by hand", async (rounds) => {
    await survivesByHand(await skilled(), { words: [word], rounds });
  });

  it("automatic compactions", async () => {
    await survivesAutomatic(await skilled(), { words: [word] });
  });

  it("a reactive one", async () => {
    const living = await skilled({ windowTokens: 40_000, believedTokens: 200_000 });
    await survivesReactive(living, { words: [word] });
  });

  it("a resume and a compaction, more than once", async () => {
    const { world, agent } = await skilled();
    let now = agent;
    for (let task = 1; task <= 3; task += 1) {
      await compactedOnce({ world, agent: now }, task);
      await now.close();
      now = await world.open({ kind: "resume", id: agent.session.id });
    }
    await world.turn(now, { text: taskText(9), rounds: 1 });
    expectOnce({ world }, [word]);
    await now.close();
  });

  it("an undo and a redo", async () => {
    await survivesUndoAndRedo(await skilled(), { words: [word] });
  });

  it("with its new bytes where it was edited on disk", async () => {
    const { world, agent } = await skilled();
    await putSkill(world, "CODE-SKILL-NEW counts since today.");
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expectOnce({ world }, ["CODE-SKILL-NEW"]);
    expect(times(lastRequest(world), word)).toBe(0);
    await agent.close();
  });
});

describe("4. Skills leave the header alone", () => {
  it("one that comes or changes while the session runs is told behind the conversation", async () => {
    const { world, agent } = await skilled();
    const header = ({ tools, system }: { readonly tools?: unknown; readonly system?: unknown }) =>
      JSON.stringify([tools, system]);
    const before = header(lastRequest(world).body);
    await mkdir(join(world.work, ".palimpsest", "skills", "added"), { recursive: true });
    await writeFile(
      join(world.work, ".palimpsest", "skills", "added", "SKILL.md"),
      "---\ndescription: CODE-ADDED\n---\nx\n",
    );
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expectOnce({ world }, ["CODE-ADDED"]);
    expect(header(lastRequest(world).body)).toBe(before);
    expect(before).not.toContain("For releases.");
    await agent.close();
  });

  it("without skills there is no tool for them, and nothing is told", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    expect(times(lastRequest(world), "skill")).toBe(0);
    await agent.close();
  });
});
