import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { listRewindPoints } from "../../packages/palimpsest/src/session/undo.ts";
import { connectTo, fakeServer, offered } from "../fixture/tool-servers.ts";
import { lastRequest, times } from "./support/compaction-checks.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

const words = { servers: "Tools of MCP servers:", skill: "CODE-ADDED-61", mode: "Plan mode is on" } as const;

async function putSkill({ home }: CompactionWorld, name: string, description: string): Promise<void> {
  const folder = join(home, "skills", name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "SKILL.md"), `---\ndescription: ${description}\n---\nx\n`);
}

/** Behind the first message the model is told of servers, and behind its answer of a skill and of plan mode. */
async function worked(): Promise<{ readonly world: CompactionWorld; readonly agent: Agent }> {
  const world = await compactionWorld();
  await putSkill(world, "release", "For releases.");
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ mcpServers: { a: { command: "a" } } }));
  const beside = { connectServer: connectTo({ a: fakeServer({ tools: [offered("go")] }) }) };
  const agent = await world.open({ kind: "new" }, { beside, tools: { mode: "default" } });
  await world.turn(agent, { text: taskText(1), rounds: 1 });
  await putSkill(world, "added", words.skill);
  await agent.mode.change("plan");
  await world.turn(agent, { text: taskText(2), rounds: 1 });
  expect(toldIn(world)).toEqual(once);
  return { world, agent };
}

const toldIn = (world: CompactionWorld) => ({
  servers: times(lastRequest(world), words.servers),
  skill: times(lastRequest(world), words.skill),
  mode: times(lastRequest(world), words.mode),
});

const once = { servers: 1, skill: 1, mode: 1 };

/** To before everything that the user has said. */
async function rewoundToStart(agent: Agent): Promise<void> {
  const first = listRewindPoints(agent.session).at(-1);
  if (first === undefined) throw new Error("nothing was said");
  expect((await agent.context.view.rewind(first.id)).kind).toBe("rewound");
  const left = JSON.stringify(agent.session.view().messages);
  for (const word of Object.values(words)) expect(left).not.toContain(word);
}

it("what a rewind takes out of the view of servers, skills and the mode is told again, once", async () => {
  const { world, agent } = await worked();
  await rewoundToStart(agent);
  for (const task of [3, 4]) {
    await world.turn(agent, { text: taskText(task), rounds: 1 });
    expect(toldIn(world)).toEqual(once);
  }
  await agent.close();
});

it("an undo of the rewind leads back to what was told there, and nothing is told twice", async () => {
  const { world, agent } = await worked();
  await rewoundToStart(agent);
  const undone = await agent.context.view.undo();
  expect(undone.kind).toBe("branched");
  await world.turn(agent, { text: taskText(3), rounds: 1 });
  expect(toldIn(world)).toEqual(once);
  await agent.close();
});
