import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { main } from "../../packages/cli/src/main.ts";
import { noUser } from "../../packages/palimpsest/src/ports/user-port.ts";
import { type SessionId, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { openNet } from "../../packages/cli/src/tool/web/get-page.ts";
import { connectTo, fakeServer, offered } from "../fixture/tool-servers.ts";
import { eventsOf, lastRequest, times } from "./support/compaction-checks.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";
import { blocksOf, firstBreak } from "./support/whole-agent.ts";

interface ChatOpening {
  readonly id?: SessionId;
  readonly mode?: "bypass";
}

/** As a chat opens it: with somebody to ask, jobs, servers and the net. */
const chatOpens = (world: CompactionWorld, { id, mode }: ChatOpening = {}): Promise<Agent> =>
  world.open(id === undefined ? { kind: "new" } : { kind: "resume", id }, {
    tools: { mode },
    planReview: { review: async () => ({ kind: "nobody" }) },
    beside: {
      user: noUser,
      net: openNet,
      jobs: "on",
      connectServer: connectTo({ a: fakeServer({ tools: [offered("go")] }) }),
    },
  });

async function called({ env, work }: CompactionWorld, ...argv: readonly string[]): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let told = "";
  for (const stream of [stdout, stderr]) stream.on("data", (data: Buffer) => (told += data.toString()));
  stdin.end();
  const code = await main({ argv, stdin, stdout, stderr, env, cwd: work });
  expect(code, told).toBe(0);
  return told;
}

const headerOf = (world: CompactionWorld): readonly string[] =>
  blocksOf(lastRequest(world)).filter((block) => block.startsWith("tool ") || block.startsWith("system "));

/** By which a change of the tools is told. */
const changes = ["is no longer available", "There is a new tool", "has changed. Go by this definition"];
const toldIn = (world: CompactionWorld): readonly number[] => changes.map((words) => times(lastRequest(world), words));
const nothing = [0, 0, 0];

async function withServer(world: CompactionWorld): Promise<void> {
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ mcpServers: { a: { command: "a" } } }));
}

describe("4. Prefix stability: a chat's session outside of the chat", () => {
  it("`compact` on the command line changes no byte of the header, and tells of no tool that is gone or back", async () => {
    const world = await compactionWorld();
    await withServer(world);
    const chat = await chatOpens(world);
    await world.turn(chat, { text: taskText(1), rounds: 6 });
    const before = headerOf(world);
    for (const tool of ["ask_user", "plan", "bash_output", "web_fetch", "use_tool"])
      expect(before.join("\n")).toContain(`"name":"${tool}"`);
    await chat.close();
    await called(world, "compact", chat.session.id, "--yes", "--model", world.model);
    const again = await chatOpens(world, chat.session);
    await world.turn(again, { text: taskText(2), rounds: 1 });
    const { entries } = again.session.fold.path;
    expect(entries.filter((entry) => entry.kind === "edit" && entry.edit.type === "boundary")).toHaveLength(1);
    expect(headerOf(world)).toEqual(before);
    expect(toldIn(world)).toEqual(nothing);
    expect(times(lastRequest(world), "Tools of MCP servers:")).toBe(1);
    await again.close();
  });

  it("`-p --continue` on it sends the same bytes, and what needs the user or a later turn is refused there", async () => {
    const world = await compactionWorld();
    const chat = await chatOpens(world);
    await world.turn(chat, { text: taskText(1), rounds: 2 });
    await chat.close();
    const question = { question: "Which?", options: [{ label: "one" }, { label: "two" }] };
    world.worker.left = 1;
    world.worker.instead.push([
      { type: "tool_use", name: "ask_user", input: { questions: [question] } },
      { type: "tool_use", name: "plan", input: {} },
      { type: "tool_use", name: "bash", input: { command: "sleep 60", background: true } },
    ]);
    await called(
      world,
      "-p",
      taskText(2),
      "--continue",
      "--permission-mode",
      "bypassPermissions",
      "--model",
      world.model,
    );
    const refusals = ["Nobody is there to answer", "Nobody is there to look at a plan", "nothing outlasts this turn"];
    expect(refusals.map((words) => times(lastRequest(world), words))).toEqual([1, 1, 1]);
    const again = await chatOpens(world, chat.session);
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expect(toldIn(world)).toEqual(nothing);
    expect(firstBreak(world.conversation())).toBeUndefined();
    await again.close();
  });

  it("an undo that another process made since the last request is told before the first one of this process", async () => {
    const world = await compactionWorld({ windowTokens: 200_000 });
    const chat = await chatOpens(world, { mode: "bypass" });
    world.worker.instead.push([{ type: "tool_use", name: "bash", input: { command: "seq 10000 18000" } }]);
    await world.turn(chat, { text: taskText(1), rounds: 1 });
    await chat.close();
    await called(world, "undo", chat.session.id);
    const again = await chatOpens(world, chat.session);
    const events = await world.turn(again, { text: taskText(2), rounds: 1 });
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.indexOf("cache-break")).toBeGreaterThan(-1);
    expect(kinds.indexOf("cache-break")).toBeLessThan(kinds.indexOf("request-start"));
    expect(eventsOf(events, "cache-break")).toMatchObject([
      { cause: expect.stringContaining("was edited") as unknown },
    ]);
    await again.close();
  });

  it("a chat on a session of `-p` keeps the header and tells its new tools once; then both keep them", async () => {
    const world = await compactionWorld();
    world.worker.left = 1;
    await called(world, "-p", taskText(1), "--model", world.model);
    const before = headerOf(world);
    const [path = ""] = globSync(join(world.home, "projects/*/*.jsonl"));
    const chat = await chatOpens(world, { id: sessionId(basename(path, ".jsonl")) });
    await world.turn(chat, { text: taskText(2), rounds: 1 });
    const told = toldIn(world);
    expect(told).toEqual([0, 4, 1]);
    await chat.close();
    await called(world, "-p", taskText(3), "--continue", "--model", world.model);
    const again = await chatOpens(world, chat.session);
    await world.turn(again, { text: taskText(4), rounds: 1 });
    expect(toldIn(world)).toEqual(told);
    expect(headerOf(world)).toEqual(before);
    await again.close();
  });
});
