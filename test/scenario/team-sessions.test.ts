import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentOptions } from "../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";
const calls = (name: string, input: MoveBlock & { type: "tool_use" } extends { input: infer Input } ? Input : never) =>
  [{ type: "tool_use", name, input }] as const;

async function open(world: AgentWorld, changes: Partial<AgentOptions>): Promise<Agent> {
  const opened = await openAgent({
    env: world.env,
    cwd: world.work,
    version: "0.0.0",
    flags: [{ flag: "model", text: model }],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: { mode: "bypass", allow: [], deny: [] },
    ...changes,
  });
  if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
  return opened;
}

const toolsIn = (world: AgentWorld): readonly string[] =>
  ((world.seen.at(-1)?.body["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

test("a teammate can do at most what its starter could, whatever its own flags, rules and log say", async () => {
  const world = await agentWorld({
    responder: playing(calls("write", { file_path: "a.txt", content: "a" }), says("Done.")),
  });
  const limit = { mode: "default", allow: ["Read"], ask: [], deny: ["Write(secret/**)"] } as const;
  const agent = await open(world, { permissionLimit: limit, tools: { mode: "bypass", allow: ["Write"], deny: [] } });
  expect(agent.mode.current()).toBe("default");
  const events = await turn(agent, "Write it.");
  expect(events).toContainEqual(expect.objectContaining({ kind: "call-end", outcome: "denied" }));
  await agent.close();
  expect(await readFile(join(world.work, "a.txt"), "utf8").catch(() => "absent")).toBe("absent");
});

test("a session keeps its tools for a team when it is opened without one, and they refuse; a fork's refuse too", async () => {
  const world = await agentWorld({
    responder: playing(says("One."), calls("team", { do: "start", name: "ann" }), says("Two.")),
  });
  const team = { team: "docs", name: undefined, way: "chat" } as const;
  const leader = await open(world, { team });
  await turn(leader, "First.");
  const tools = toolsIn(world);
  expect(tools.slice(-3)).toEqual(["send_message", "task", "team"]);
  const forked = leader.context.deps.toolsForFork().tools;
  expect(forked.map(({ name }) => name)).toEqual(tools);
  await leader.close();
  const alone = await open(world, { session: { kind: "resume", id: leader.session.id } });
  const events = await turn(alone, "Second.");
  expect(toolsIn(world)).toEqual(tools);
  expect(JSON.stringify(events)).toContain("opened without --team");
  await alone.close();
});

test("messages reach a session that listens at a socket, in the name of the session that sent them", async () => {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const listener = await open(world, { socket: "on" });
  expect(listener.warnings).toEqual([expect.stringContaining("uds:")]);
  const address = /uds:\S+/.exec(listener.warnings.join("\n"))?.[0] ?? "";
  const sender = await open(world, { team: { team: "docs", name: undefined, way: "chat" } });
  const outcome = await sender.mail?.send({ id: "1", to: address, body: { type: "text", text: "Over here." } });
  expect(outcome).toEqual({ kind: "sent", message: `Sent to ${address}.` });
  expect(await listener.mail?.drain()).toHaveLength(1);
  const events: LoopEvent[] = [];
  for await (const event of listener.turn(undefined, new AbortController().signal)) events.push(event);
  expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
  expect(listener.mail?.isUnanswered).toBe(false);
  const body = JSON.stringify(world.seen.at(-1)?.body);
  expect(body).toContain("> Over here.");
  expect(body).toContain(`bridge:${sender.session.id}`);
  await listener.close();
  expect((await sender.mail?.send({ id: "2", to: address, body: { type: "text", text: "x" } }))?.kind).toBe("refused");
  await sender.close();
});
