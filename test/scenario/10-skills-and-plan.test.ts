import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { PlanAnswer, PlanReviewRequest, PlanReview } from "../../packages/palimpsest/src/ports/plan-mode.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import { compact, type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

const planText = "1. CODE-PLAN-5533: change the module.";

interface Reviewing extends PlanReview {
  readonly asked: PlanReviewRequest[];
}

function reviewing(...answers: readonly PlanAnswer[]): Reviewing {
  const asked: PlanReviewRequest[] = [];
  return {
    asked,
    review: async (ask) => answers[Math.min(asked.push(ask), answers.length) - 1] ?? { kind: "nobody" },
  };
}

const openWith = (world: CompactionWorld, planReview: PlanReview): Promise<Agent> =>
  world.open({ kind: "new" }, { planReview, tools: { mode: "default" } });

const write = { type: "tool_use", name: "write", input: { file_path: "new.txt", content: "x\n" } } as const;
const planned = (input: { readonly plan?: string } = {}) => ({ type: "tool_use", name: "plan", input }) as const;

const outcomes = (events: readonly LoopEvent[]): readonly string[] =>
  eventsOf(events, "call-end").map(({ tool, outcome }) => `${tool} ${outcome}`);

const modeWords = "Plan mode is on: read and search, but change nothing.";

describe("10. Plan and plan mode", () => {
  it("nothing is changed between entering and the user's leave; a refusal brings the user's words", async () => {
    const world = await compactionWorld();
    const user = reviewing({ kind: "refused", words: "Smaller, please." }, { kind: "accepted", mode: "acceptEdits" });
    const agent = await openWith(world, user);
    world.worker.instead.push([planned()], [write], [planned({ plan: "Too much." })], [write]);
    world.worker.instead.push([planned({ plan: planText })], [write]);
    const events = await world.turn(agent, { text: taskText(1), rounds: 6 });
    expect(outcomes(events)).toEqual([
      "plan done",
      "write denied",
      "plan done",
      "write denied",
      "plan done",
      "write done",
    ]);
    expect(times(lastRequest(world), "The person says: Smaller, please.")).toBe(1);
    expect(user.asked.map(({ plan }) => plan)).toEqual(["Too much.", planText]);
    const path = user.asked[1]?.path ?? "";
    expect(await readFile(path, "utf8")).toBe(planText);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await agent.close();
  });

  it("the plan and plan mode are told again behind every boundary, and kept after a resume and in a fork", async () => {
    const world = await compactionWorld();
    const user = reviewing({ kind: "nobody" });
    const agent = await openWith(world, user);
    world.worker.instead.push([planned({ plan: planText })]);
    await world.turn(agent, { text: taskText(1), rounds: 3 });
    for (const task of [2, 3]) {
      expect((await compact(agent)).committed.kind).toBe("committed");
      await world.turn(agent, { text: taskText(task), rounds: 1 });
      expect(times(lastRequest(world), modeWords)).toBe(1);
      expect(times(lastRequest(world), "The plan as it was last put before the person")).toBe(1);
      expect(times(lastRequest(world), planText)).toBe(1);
    }
    await agent.close();
    for (const kind of ["resume", "fork"] as const) {
      const again = await world.open({ kind, id: agent.session.id }, { planReview: user, tools: { mode: undefined } });
      world.worker.instead.push([write]);
      expect(outcomes(await world.turn(again, { text: taskText(5), rounds: 1 }))).toEqual(["write denied"]);
      expect(again.mode.current()).toBe("plan");
      await again.close();
    }
  });

  it("a fork of a session in plan mode stays in it whatever mode is named; who goes on with the session may name one", async () => {
    const world = await compactionWorld();
    const agent = await openWith(world, reviewing({ kind: "nobody" }));
    world.worker.instead.push([planned()]);
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    await agent.close();
    const modeOf = async (kind: "resume" | "fork"): Promise<string> => {
      const again = await world.open({ kind, id: agent.session.id }, { tools: { mode: "bypass" } });
      const mode = again.mode.current();
      await again.close();
      return mode;
    };
    expect(await modeOf("fork")).toBe("plan");
    expect(await modeOf("resume")).toBe("bypass");
  });

  it("where nobody can look at a plan there is no tool for it; a session opened in plan mode is told so once", async () => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { tools: { mode: "plan" } });
    expect(agent.context.conversation.baseline.tools.map(({ name }) => name)).not.toContain("plan");
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), modeWords)).toBe(1);
    await agent.close();
  });
});

describe("10. Invoked skills", () => {
  const putSkill = async (world: CompactionWorld, name: string, body: string): Promise<void> => {
    const folder = join(world.work, ".palimpsest", "skills", name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "SKILL.md"), `---\ndescription: For ${name}.\n---\n${body}\n`);
  };

  it("are told again newest first; a long one is cut, with how to get the whole", async () => {
    const world = await compactionWorld({ windowTokens: 200_000 });
    for (const name of ["first", "second"]) await putSkill(world, name, `CODE-BODY-${name}.`);
    await putSkill(world, "long", `CODE-BODY-long.\n${"A line of a long skill.\n".repeat(3_000)}CODE-END`);
    await putSkill(world, "uncalled", "CODE-BODY-uncalled.");
    const agent = await world.open();
    for (const name of ["first", "second", "long"])
      world.worker.instead.push([{ type: "tool_use", name: "skill", input: { name } }]);
    await world.turn(agent, { text: taskText(1), rounds: 4 });
    expect((await compact(agent)).committed.kind).toBe("committed");
    await world.turn(agent, { text: taskText(2), rounds: 0 });
    const sent = JSON.stringify(lastRequest(world).body);
    const places = ["long", "second", "first"].map((name) => sent.indexOf(`CODE-BODY-${name}`));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(sent).toContain("call the skill long again when you need it");
    expect(sent).not.toMatch(/CODE-END|CODE-BODY-uncalled/);
    await agent.close();
  });
});
