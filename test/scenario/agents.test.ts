import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { answering, call, callAgent, say, when } from "./support/agents-world.ts";
import { agentWorld, blocksOf, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

it("an agent works in a context of its own, and only its report comes back", async () => {
  const world = await agentWorld({
    responder: answering(
      when("PARSER", call("grep", { pattern: "parser" })),
      when("Look into it", callAgent({ type: "explore", description: "find it", prompt: "Find the PARSER please." })),
      when("agent_report", say("The parser is in a.ts.")),
      when("tool_result", say("It is in a.ts, line 1.")),
    ),
  });
  await writeFile(join(world.work, "a.ts"), "export const parser = 1;\n");
  const agent = await world.open({ kind: "new" }, model);
  const events = await turn(agent, "Look into it");
  expect(refused(world.seen)).toEqual([]);
  const last = world.seen.at(-1);
  expect(JSON.stringify(last?.body)).toContain("It is in a.ts, line 1.");
  expect(JSON.stringify(last?.body)).not.toContain("export const parser");
  expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
  const [run] = agent.agents?.list() ?? [];
  expect(run).toMatchObject({ name: "explore", type: "explore", state: { kind: "ended", how: "answered" } });
  expect(agent.context.conversation.costs.toJSON().byAgent["explore"]?.requests).toBe(2);
  await agent.close();
  const [folder] = await readdir(join(world.home, "projects"));
  const logs = await readdir(join(world.home, "projects", folder ?? "", agent.session.id, "subagents"));
  expect(logs.filter((name) => name.endsWith(".jsonl"))).toEqual([`${run?.id}.jsonl`]);
});

it("five forks of one reply send the same bytes up to their own tasks; one writes them to the cache, four read them", async () => {
  const tasks = ["ONE", "TWO", "THREE", "FOUR", "FIVE"];
  const world = await agentWorld({
    responder: answering(
      when("fork_task", say("my part is done")),
      when("agent_report", say("All five have reported.")),
      when("Split", ...tasks.map((task) => callAgent({ type: "fork", description: task, prompt: `Do part ${task}.` }))),
    ),
  });
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, `What we know: ${"the project has many parts. ".repeat(400)}`);
  const before = world.seen.length;
  await turn(agent, "Split the work");
  expect(refused(world.seen)).toEqual([]);
  const forks = world.seen.slice(before).filter(({ body }) => JSON.stringify(body).includes("<fork_task>"));
  expect(forks).toHaveLength(5);
  const [first = [], ...others] = forks.map((fork) => blocksOf(fork));
  for (const blocks of others) {
    expect(blocks.slice(0, -1)).toEqual(first.slice(0, -1));
    expect(blocks.at(-1)).not.toBe(first.at(-1));
  }
  const parent = world.seen[before];
  if (parent === undefined) throw new Error("nothing was asked");
  const parentBlocks = blocksOf(parent);
  expect(first.slice(0, parentBlocks.length)).toEqual(parentBlocks);
  const costs = agent.context.conversation.costs.toJSON();
  const usages = tasks.map((_, at) => costs.byAgent[at === 0 ? "fork" : `fork-${at + 1}`]?.tokensByKind);
  const writes = usages.map((usage) => usage?.cacheWrite5m ?? 0).toSorted((a, b) => b - a);
  const reads = usages.map((usage) => usage?.cacheRead ?? 0).toSorted((a, b) => a - b);
  expect(writes[0]).toBeGreaterThan(2 * (writes[1] ?? 0));
  expect(reads[1]).toBeGreaterThan(reads[0] ?? 0);
  await agent.close();
});

it("a background agent reports by itself, before the next request", async () => {
  const world = await agentWorld({
    responder: answering(
      when("SLOWLY", say("found nothing")),
      when("Begin", callAgent({ type: "general", description: "look", prompt: "Look SLOWLY.", background: true })),
    ),
  });
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "Begin");
  await vi.waitFor(() => expect(agent.agents?.list()[0]?.state.kind).toBe("ended"), 5_000);
  await turn(agent, "And now?");
  expect(JSON.stringify(world.seen.at(-1)?.body)).toContain("found nothing");
  await turn(agent, "Thanks");
  expect(JSON.stringify(world.seen.at(-1)?.body).split("found nothing")).toHaveLength(2);
  await agent.close();
});
