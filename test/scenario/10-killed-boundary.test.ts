import { globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SessionId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { lastRequest, times } from "./support/compaction-checks.ts";
import { compact, type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

const [ofSkill, ofPlan] = ["CODE-SKILL-2754", "CODE-PLAN-8810"];
const planReview = { review: async () => ({ kind: "nobody" }) as const };
const open = (world: CompactionWorld, id?: SessionId) =>
  world.open(id === undefined ? { kind: "new" } : { kind: "resume", id }, { planReview, tools: { mode: undefined } });

/** A session with a skill, a plan and a task list, compacted; its log ends behind so many lines of what was put back. */
async function killedBehind(lines: number) {
  const world = await compactionWorld();
  const folder = join(world.work, ".claude", "skills", "release");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "SKILL.md"), `---\ndescription: For releases.\n---\nThe word is ${ofSkill}.\n`);
  const agent = await open(world);
  world.worker.instead.push(
    [{ type: "tool_use", name: "skill", input: { name: "release" } }],
    [{ type: "tool_use", name: "plan", input: { plan: `1. ${ofPlan}` } }],
  );
  await world.turn(agent, { text: taskText(1), rounds: 5 });
  expect((await compact(agent)).committed.kind).toBe("committed");
  const { id } = agent.session;
  await agent.close();
  const [name = ""] = globSync(`projects/*/${id}.jsonl`, { cwd: world.home });
  const log = (await readFile(join(world.home, name), "utf8")).trim().split("\n");
  const types = log.map((line) => (JSON.parse(line) as { attachment?: { type: string } }).attachment?.type);
  const first = types.indexOf("working_state");
  const restored = types.filter((type) => type === "working_state").length;
  await writeFile(join(world.home, name), `${log.slice(0, first + lines).join("\n")}\n`);
  return { world, id, restored };
}

const told = (world: CompactionWorld): readonly number[] =>
  [ofSkill, ofPlan].map((words) => times(lastRequest(world), words));

describe("10. Working state where a kill came between a boundary and what it puts back", () => {
  it.each([0, 1, 2])(
    "behind %i of its attachments: who goes on with the session puts the others back, once",
    async (lines) => {
      const { world, id, restored } = await killedBehind(lines);
      expect(restored).toBeGreaterThan(2);
      for (const task of [2, 3]) {
        const agent = await open(world, id);
        await world.turn(agent, { text: taskText(task), rounds: 0 });
        expect(told(world)).toEqual([1, 1]);
        await agent.close();
      }
    },
  );

  it("an undo of the boundary takes them back with it", async () => {
    const { world, id } = await killedBehind(0);
    const agent = await open(world, id);
    const shows = (): boolean => JSON.stringify(agent.session.fold.messages).includes("working by this skill");
    expect(shows()).toBe(true);
    expect(
      (await undo(agent.session, { mode: "path", blockingTokens: tokens(1_000_000), thinking: "free" })).kind,
    ).toBe("undone");
    expect(shows()).toBe(false);
    await agent.close();
  });
});
