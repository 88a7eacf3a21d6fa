import { access, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { answering, call, callAgent, commitAll, newestInput, requestsWith, say, when } from "./support/agents-world.ts";
import { runNode } from "./support/command-line.ts";
import { agentWorld, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const stateOf = (agent: Agent, name: string): string | undefined =>
  agent.agents?.list().find((run) => run.name === name)?.state.kind;

const untilEnded = (agent: Agent, name: string): Promise<void> =>
  vi.waitFor(() => expect(stateOf(agent, name)).toBe("ended"), 10_000);

/** A project whose agents run commands that do not end by themselves, or wait for a model that does not answer. */
async function dyingWorld() {
  const pids = { folder: "" };
  const awake = Promise.withResolvers<void>();
  const run = (name: string, before: string) =>
    call("bash", { command: `${before}echo $$ > ${pids.folder}/${name}; sleep 307` });
  const plays = answering(
    (input) => {
      const [, name = "", change] = /RUN (\w+)( with a change)?/.exec(input) ?? [];
      return name === "" ? undefined : [run(name, change === undefined ? "" : "echo new > new.txt; ")];
    },
    when("NEST", callAgent({ type: "general", description: "inner part", prompt: "RUN inner", name: "inner" })),
    when("GO ON", say("I went on.")),
  );
  const responder: Responder = {
    name: "dying",
    respond: async (input) => {
      if (newestInput(input.request).includes("THINK")) await awake.promise;
      return await plays.respond(input);
    },
  };
  const world = await agentWorld({ responder });
  commitAll(world);
  pids.folder = join(world.home, "..", "pids");
  await mkdir(pids.folder);
  return { ...world, pids: pids.folder, wake: awake.resolve };
}

const request = (name: string, prompt: string, more = {}) => ({
  type: "general",
  name,
  description: `${name} part`,
  prompt,
  place: "background",
  worktree: "shared",
  ...more,
});

describe("a process that is killed with running agents", () => {
  it("the next one ends their commands, keeps or removes their worktrees, books what they paid, and they go on when asked", async () => {
    const world = await dyingWorld();
    const started = [
      request("plain", "RUN plain"),
      request("forked", "RUN forked", { type: "fork" }),
      request("changed", "RUN changed with a change", { worktree: "own" }),
      request("clean", "RUN clean", { worktree: "own" }),
      request("slow", "THINK"),
      request("outer", "NEST"),
    ];
    const { pids } = world;
    const env = Object.fromEntries(Object.entries(world.env).map(([name, text]) => [name, text ?? ""]));
    const script = join(import.meta.dirname, "child", "die-with-agents.ts");
    const calling = { home: world.home, cwd: world.work, env };
    const said = await runNode(calling, script, JSON.stringify(started), pids, "5");
    expect(said).toMatchObject({ signal: "SIGKILL", err: "" });
    world.wake();
    const processes = await Promise.all((await readdir(pids)).map((name) => readFile(join(pids, name), "utf8")));
    expect(processes).toHaveLength(5);
    const running = async (): Promise<number> =>
      (await Promise.all(processes.map((pid) => isThere(`/proc/${pid.trim()}/cwd`)))).filter(Boolean).length;
    expect(await running()).toBe(5);

    const id = sessionId(said.out.trim());
    const agent = await world.open({ kind: "resume", id }, model);
    await vi.waitFor(async () => expect(await running()).toBe(0), 5_000);
    const names = ["plain", "forked", "changed", "clean", "slow", "outer", "inner"];
    expect(agent.agents?.list().map(({ name, state }) => [name, state.kind])).toEqual(
      names.map((name) => [name, "lost"]),
    );
    await vi.waitFor(async () => {
      const worktrees = await readdir(join(world.work, ".git/palimpsest-worktrees"));
      expect(worktrees.filter((name) => !name.endsWith(".json"))).toHaveLength(1);
    }, 5_000);
    const costs = () => agent.context.conversation.costs.toJSON();
    for (const name of names.filter((one) => one !== "slow"))
      expect({ name, requests: costs().byAgent[name]?.requests }).toEqual({ name, requests: 1 });

    const events = await turn(agent, "What now?");
    const warnings = events.flatMap((event) => (event.kind === "warning" ? [event.message] : []));
    expect(warnings.join("\n")).toContain("An agent's worktree was kept");
    const told = JSON.stringify(requestsWith(world.seen, "What now?")[0]?.body);
    for (const name of names) expect(told).toContain(`- ${name} (`);

    for (const name of ["plain", "forked", "changed", "slow", "outer"]) {
      const sent = await agent.agents?.send({ to: name, text: "GO ON", from: { kind: "user" } });
      expect({ name, kind: sent?.kind }).toEqual({ name, kind: "resumed" });
      await untilEnded(agent, name);
    }
    expect(refused(world.seen)).toEqual([]);
    const ended = agent.agents?.list().flatMap(({ state }) => (state.kind === "ended" ? [state] : [])) ?? [];
    expect(ended.map(({ how }) => how)).toEqual(Array.from({ length: 5 }, () => "answered"));
    const last = requestsWith(world.seen, "GO ON");
    expect(last).toHaveLength(5);
    // A command of which it is known that it was ended is told so; neither is run again.
    expect(JSON.stringify(last[0]?.body)).toMatch(/interrupted|was ended/);
    const paid = costs().bySource.agents?.totalNanos;
    await agent.close();

    const again = await world.open({ kind: "resume", id }, model);
    expect(again.agents?.list().map(({ name }) => name)).toEqual(["clean", "inner"]);
    expect(again.context.conversation.costs.toJSON().bySource.agents?.totalNanos).toBe(paid);
    await again.close();
  });
});

describe("a session that is closed with running background agents", () => {
  it("knows them when it is opened again: they go on, and nothing that was paid is booked twice", async () => {
    const world = await dyingWorld();
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    const started = await agent.agents?.start(request("plain", "RUN plain") as never);
    expect(started?.kind).toBe("started");
    await vi.waitFor(async () => expect(await readdir(world.pids)).toHaveLength(1), 5_000);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id }, model);
    expect(again.agents?.list()).toMatchObject([{ name: "plain", state: { kind: "lost" } }]);
    expect(again.context.conversation.costs.toJSON().byAgent["plain"]?.requests).toBe(1);
    expect(await again.agents?.send({ to: "plain", text: "GO ON", from: { kind: "user" } })).toMatchObject({
      kind: "resumed",
    });
    await untilEnded(again, "plain");
    await turn(again, "And?");
    expect(JSON.stringify(world.seen.at(-1)?.body)).toContain("I went on.");
    await again.close();
  });
});
