import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ToolServersDep } from "../../packages/palimpsest/src/ports/tool-server.ts";
import { isArray, type Json } from "../../packages/palimpsest/src/schema/json.ts";
import { connectTo, fakeServer, offered } from "../fixture/tool-servers.ts";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import { compact, type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";
import { blocksOf, firstBreak } from "./support/whole-agent.ts";

/** Servers `a` and `b` in the user's own settings. */
async function worldWithServers(): Promise<CompactionWorld> {
  const world = await compactionWorld();
  await mkdir(world.home, { recursive: true });
  const mcpServers = { b: { command: "b" }, a: { command: "a" } };
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ mcpServers }));
  return world;
}

interface Answering {
  /** This one answers last, and only the second time. */
  readonly late: "a" | "b";
  /** Not before that: a slow machine must not be the reason. */
  readonly released: Promise<void>;
}

function answering({ late, released }: Answering): ToolServersDep["connect"] {
  const fakes = {
    a: fakeServer({ tools: [offered("go"), offered("come")], instructions: "CODE-A-17" }),
    b: fakeServer({ tools: [offered("stay")] }),
  };
  const connect = connectTo({ ...fakes, [late]: { ...fakes[late], connects: ["fails", "works"] } });
  let asked = 0;
  return async (launch) => {
    if (launch.definition.name === late) {
      asked += 1;
      await (asked === 1 ? wait(30) : released);
    }
    return await connect(launch);
  };
}

const use = { type: "tool_use", name: "use_tool", input: { server: "a", tool: "go" } } as const;
const announced = "Tools of MCP servers:";
/** Longer than the pause before a server is started again. */
const restartedMs = 1_500;

const toolsIn = (world: CompactionWorld): readonly Json[] => {
  const { tools } = lastRequest(world).body;
  return isArray(tools) ? tools : [];
};

describe("4. Prefix stability with servers of tools", () => {
  it("servers that answer in another order, one of them only the second time, change no byte of what was sent", async () => {
    const told: (string | undefined)[] = [];
    const headers: string[] = [];
    for (const late of ["a", "b"] as const) {
      const world = await worldWithServers();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const connectServer = answering({ late, released });
      const agent = await world.open({ kind: "new" }, { beside: { connectServer } });
      await world.turn(agent, { text: taskText(1), rounds: 2 });
      expect(times(lastRequest(world), announced)).toBe(0);
      release();
      await wait(restartedMs);
      world.worker.instead.push([use]);
      await world.turn(agent, { text: taskText(2), rounds: 2 });
      expect(firstBreak(world.seen)).toBeUndefined();
      expect(times(lastRequest(world), announced)).toBe(1);
      expect(times(lastRequest(world), "did go")).toBe(1);
      told.push(blocksOf(lastRequest(world)).find((block) => block.includes(announced)));
      headers.push(JSON.stringify(toolsIn(world)));
      await agent.close();
    }
    expect(told[0]).toBe(told[1]);
    expect(headers[0]).toBe(headers[1]);
    expect(headers[0]).toContain("use_tool");
    expect(headers[0]).not.toContain("stay");
  });

  it("however much they offer, the header has the same bytes, and each request after it only names", async () => {
    const headers: string[] = [];
    for (const count of [1, 300]) {
      const world = await worldWithServers();
      const tools = Array.from({ length: count }, (_, at) => offered(`tool_${at}`, `CODE-DESCRIPTION ${at}`));
      const connectServer = connectTo({ a: fakeServer({ tools }), b: fakeServer() });
      const agent = await world.open({ kind: "new" }, { beside: { connectServer } });
      await world.turn(agent, { text: taskText(1), rounds: 2 });
      expect(["tool_0", "CODE-DESCRIPTION"].map((words) => times(lastRequest(world), words))).toEqual([1, 0]);
      headers.push(JSON.stringify(toolsIn(world)));
      await agent.close();
    }
    expect(headers[0]).toBe(headers[1]);
  });

  it("they are told again behind a boundary, and not again where a resumed session shows them", async () => {
    const world = await worldWithServers();
    const fakes = { a: fakeServer({ tools: [offered("go")] }), b: fakeServer() };
    const beside = { connectServer: connectTo(fakes) };
    const agent = await world.open({ kind: "new" }, { beside });
    await world.turn(agent, { text: taskText(1), rounds: 4 });
    expect((await compact(agent)).committed.kind).toBe("committed");
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), announced)).toBe(1);
    await agent.close();
    expect([fakes.a.closed, fakes.b.closed]).toEqual([1, 1]);
    const again = await world.open({ kind: "resume", id: agent.session.id }, { beside });
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expect(times(lastRequest(world), announced)).toBe(1);
    await again.close();
  });

  it.each([
    [[], "use_tool denied"],
    [["mcp__b"], "use_tool denied"],
    [["mcp__a__go"], "use_tool done"],
  ])("with the rules %j a call is: %s", async (allow, expected) => {
    const world = await worldWithServers();
    const beside = { connectServer: connectTo({ a: fakeServer({ tools: [offered("go")] }), b: fakeServer() }) };
    const agent = await world.open({ kind: "new" }, { beside, tools: { mode: "default", allow } });
    world.worker.instead.push([use]);
    const events = await world.turn(agent, { text: taskText(1), rounds: 1 });
    expect(eventsOf(events, "call-end").map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([expected]);
    await agent.close();
  });

  it("hooks know a call by the name of the server's tool", async () => {
    const world = await worldWithServers();
    const settings = {
      mcpServers: { a: { command: "a" } },
      hooks: { PreToolUse: [{ matcher: "mcp__a__go", hooks: [{ type: "command", command: "echo no >&2; exit 2" }] }] },
    };
    await writeFile(join(world.home, "settings.json"), JSON.stringify(settings));
    const beside = { connectServer: connectTo({ a: fakeServer({ tools: [offered("go"), offered("come")] }) }) };
    const agent = await world.open({ kind: "new" }, { beside });
    world.worker.instead.push([use], [{ ...use, input: { server: "a", tool: "come" } }]);
    const events = await world.turn(agent, { text: taskText(1), rounds: 2 });
    expect(eventsOf(events, "call-end").map(({ outcome }) => outcome)).toEqual(["denied", "done"]);
    await agent.close();
  });

  it("a server that a project's file defines is not started before the user has approved of it", async () => {
    const world = await compactionWorld();
    await mkdir(join(world.work, ".palimpsest"), { recursive: true });
    const path = join(world.work, ".palimpsest", "settings.json");
    await writeFile(path, JSON.stringify({ mcpServers: { a: { command: "touch", args: ["ran"] } } }));
    const a = fakeServer();
    const agent = await world.open({ kind: "new" }, { beside: { connectServer: connectTo({ a }) } });
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    expect(a.connected).toBe(0);
    expect(agent.warnings.join("\n")).toContain("MCP server a is not started");
    expect(JSON.stringify(toolsIn(world))).not.toContain("use_tool");
    await agent.close();
  });
});

describe("background jobs", () => {
  const bash = (command: string) => ({ type: "tool_use", name: "bash", input: { command, background: true } }) as const;

  it("one that has ended is told before the next request, behind what was sent; the others end with the session", async () => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { beside: { jobs: "on" } });
    world.worker.instead.push([bash("exit 7"), bash("sleep 300")]);
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    while (agent.jobs().every(({ state }) => state.kind === "running")) await wait(20);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "(exit 7) is over: exit code 7")).toBe(1);
    expect(firstBreak(world.seen)).toBeUndefined();
    expect(agent.jobs().map(({ command, state }) => [command, state.kind])).toEqual([
      ["exit 7", "ended"],
      ["sleep 300", "running"],
    ]);
    await agent.close();
    expect(agent.jobs().map(({ state }) => state.kind)).toEqual(["ended", "ended"]);
  });
});
