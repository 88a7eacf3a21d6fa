import { rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { todoReminderRounds } from "../../packages/cli/src/agent/limits.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { compact } from "./support/compaction-world.ts";
import { type AgentWorld, agentWorld, blocksOf, firstBreak, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";
const day = 86_400_000;
const sunday = Date.UTC(2026, 10, 15, 12);

afterEach(() => vi.useRealTimers());

interface Scripted {
  readonly world: AgentWorld;
  /** What the model says next, a reply each; a word where none is left. */
  readonly says: MoveBlock[][];
}

async function scripted(): Promise<Scripted> {
  vi.useFakeTimers({ toFake: ["Date"], now: sunday });
  const says: MoveBlock[][] = [];
  const world = await agentWorld({
    responder: {
      name: "scripted",
      respond: () => ({ move: { kind: "say", blocks: says.shift() ?? [{ type: "text", text: "Done." }] } }),
    },
  });
  return { world, says };
}

const call = (name: string, input: Readonly<Record<string, string>>): MoveBlock[] => [
  { type: "tool_use", name, input },
];

/** Reminders in the newest request whose text holds these words. */
const told = ({ seen }: AgentWorld, words: string): number =>
  seen
    .slice(-1)
    .flatMap(blocksOf)
    .filter((block) => block.includes("<system-reminder>") && block.includes(words)).length;

async function again({ world }: Scripted, agent: Agent): Promise<Agent> {
  const { id } = agent.session;
  await agent.close();
  return await world.open({ kind: "resume", id }, model);
}

describe("the date", () => {
  it("is told once when the day changes, also where the session is opened again", async () => {
    const scene = await scripted();
    const { world } = scene;
    let agent = await world.open({ kind: "new" }, model);
    await turn(agent, "One.");
    expect(told(world, "Today is")).toBe(0);
    vi.setSystemTime(sunday + day);
    await turn(agent, "Two.");
    expect(told(world, "Today is 2026-11-16, Monday.")).toBe(1);
    agent = await again(scene, agent);
    await turn(agent, "Three.");
    expect(told(world, "Today is")).toBe(1);
    vi.setSystemTime(sunday + 2 * day);
    agent = await again(scene, agent);
    await turn(agent, "Four.");
    expect(told(world, "Today is 2026-11-17, Tuesday.")).toBe(1);
    await agent.close();
    expect(refused(world.seen)).toEqual([]);
    expect(firstBreak(world.seen)).toBeUndefined();
  });

  it("is told again behind a boundary, and the header keeps the day of the start", async () => {
    const scene = await scripted();
    const { world } = scene;
    let agent = await world.open({ kind: "new" }, model);
    await turn(agent, `One. ${"Much is said here. ".repeat(20_000)}`);
    vi.setSystemTime(sunday + day);
    await turn(agent, "Two.");
    expect((await compact(agent)).events.at(-1)).toMatchObject({ kind: "compacted" });
    await turn(agent, "Three.");
    expect(told(world, "Today is 2026-11-16")).toBe(1);
    vi.setSystemTime(sunday + 2 * day);
    agent = await again(scene, agent);
    await turn(agent, "Four.");
    await agent.close();
    const last = JSON.stringify(world.seen.at(-1)?.body);
    expect(last.match(/This session started on [\d-]+/g)).toEqual(["This session started on 2026-11-15"]);
    expect(last).toContain("Today is 2026-11-17");
  });
});

describe("changed files", () => {
  it("are told once for each change that the agent did not make, with what they are now", async () => {
    const scene = await scripted();
    const { world, says } = scene;
    const [mine, read] = [join(world.work, "mine.txt"), join(world.work, "read.txt")];
    await writeFile(read, "1\n2\n");
    let agent = await world.open({ kind: "new" }, model);
    says.push(call("read", { path: "read.txt" }), call("write", { file_path: "mine.txt", content: "mine\n" }));
    await turn(agent, "One.");
    expect(told(world, "no longer as you last saw")).toBe(0);
    await writeFile(read, "1\n2\n3\n");
    agent = await again(scene, agent);
    await turn(agent, "Two.");
    expect(told(world, `- ${read}: 3 lines now`)).toBe(1);
    await turn(agent, "Three.");
    expect(told(world, "no longer as you last saw")).toBe(1);
    await rm(mine);
    says.push(call("bash", { command: "true" }));
    await turn(agent, "Four.");
    expect(told(world, `- ${mine}: no longer there`)).toBe(1);
    expect(told(world, "no longer as you last saw")).toBe(2);
    await agent.close();
    expect(refused(world.seen)).toEqual([]);
    expect(firstBreak(world.seen)).toBeUndefined();
  });

  it("that are back as the agent saw them are told so; one that was only touched is not", async () => {
    const { world, says } = await scripted();
    const path = join(world.work, "read.txt");
    await writeFile(path, "1\n");
    const agent = await world.open({ kind: "new" }, model);
    says.push(call("read", { path: "read.txt" }));
    await turn(agent, "One.");
    await utimes(path, 1, 1);
    await turn(agent, "Two.");
    expect(told(world, "no longer as you last saw")).toBe(0);
    await writeFile(path, "2\n");
    await turn(agent, "Three.");
    await writeFile(path, "1\n");
    await turn(agent, "Four.");
    expect(told(world, `- ${path}: again as you saw it`)).toBe(1);
    await agent.close();
  });

  it("that a rule forbids to read now are not looked at", async () => {
    const scene = await scripted();
    const { world, says } = scene;
    const path = join(world.work, "secret.txt");
    await writeFile(path, "1\n");
    let agent = await world.open({ kind: "new" }, model);
    says.push(call("read", { path: "secret.txt" }));
    await turn(agent, "One.");
    await writeFile(path, "2\n");
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ permissions: { deny: ["Read(secret.txt)"] } }));
    agent = await again(scene, agent);
    await turn(agent, "Two.");
    expect(told(world, "no longer as you last saw")).toBe(0);
    await agent.close();
  });
});

describe("the task list", () => {
  it("is told when it has open steps and was left alone for so many rounds, and then not for as many", async () => {
    const { world, says } = await scripted();
    const agent = await world.open({ kind: "new" }, model);
    const todos = [
      { content: "Look", status: "completed" },
      { content: "Fix", status: "in_progress" },
    ];
    says.push([{ type: "tool_use", name: "todo", input: { todos } }]);
    for (let round = 0; round < todoReminderRounds; round += 1) says.push(call("read", { path: "none.txt" }));
    await turn(agent, "One.");
    expect(told(world, "1. [done] Look\\n2. [in progress] Fix")).toBe(1);
    const before = world.seen.at(-2);
    expect(before === undefined ? "" : JSON.stringify(before.body)).not.toContain("has not been brought up to date");
    for (let round = 0; round < todoReminderRounds - 2; round += 1) says.push(call("read", { path: "none.txt" }));
    await turn(agent, "Two.");
    expect(told(world, "has not been brought up to date")).toBe(1);
    await turn(agent, "Three.");
    expect(told(world, "has not been brought up to date")).toBe(2);
    await agent.close();
    expect(firstBreak(world.seen)).toBeUndefined();
  });
});
