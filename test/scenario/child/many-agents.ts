import { readdir, readFile, readlink } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openAgent } from "../../../packages/cli/src/agent/open-agent.ts";
import type { Agents } from "../../../packages/palimpsest/src/ports/agents.ts";
import { Session } from "../../../packages/palimpsest/src/session/session.ts";

/** Starts and ends many agents in one session: fresh ones, forks, and one of eight in a worktree with a command. */
const [count = "50", ...marks] = process.argv.slice(2);
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

const agent = await openAgent({
  env: process.env,
  cwd: process.cwd(),
  version: "0.0.0",
  flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
  session: { kind: "new" },
  model: { kind: "provider" },
  tools: { mode: "bypass", allow: [], deny: [] },
});
if (agent.kind !== "agent") throw new Error(JSON.stringify(agent));
for await (const _ of agent.turn("Begin", new AbortController().signal));
const { agents } = agent;
if (agents === undefined) throw new Error("there are no agents");

async function runOne(all: Agents, at: number): Promise<string> {
  const kind = at % 8;
  const started = await all.start({
    type: kind === 1 || kind === 2 ? "fork" : "general",
    description: "a part",
    prompt: kind === 0 ? "COMMAND" : "READ",
    place: kind === 3 ? "background" : "foreground",
    worktree: kind === 0 ? "own" : "shared",
  });
  if (started.kind === "refused") return started.message;
  const run = await all.wait(started.run.id, new AbortController().signal);
  return run?.state.kind === "ended" ? run.state.how : "not ended";
}

/** Connections to the provider are kept for the next request, so that their number depends on the moment. */
const handles = async (): Promise<Record<"files" | "sockets", number>> => {
  const names = await readdir("/proc/self/fd");
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  const sockets = targets.filter((target) => target.startsWith("socket:")).length;
  return { files: targets.filter((target) => target !== "").length - sockets, sockets };
};
const children = async (): Promise<number> => {
  const tasks = await readdir("/proc/self/task");
  const texts = await Promise.all(tasks.map((task) => readFile(`/proc/self/task/${task}/children`, "utf8")));
  return texts
    .join(" ")
    .split(" ")
    .filter((word) => word !== "").length;
};
const look = async () => {
  // What a collection makes free may hold on to something else until the next one.
  for (let round = 0; round < 4; round += 1) {
    gc();
    await setImmediate();
  }
  return {
    heapBytes: process.memoryUsage().heapUsed,
    sessions: queryObjects(Session),
    ...(await handles()),
    children: await children(),
  };
};

const ends: Record<string, number> = {};
const at: Record<string, Awaited<ReturnType<typeof look>>> = {};
for (let done = 0; done < Number(count);) {
  const size = Math.min(
    8,
    Number(count) - done,
    ...marks
      .map(Number)
      .filter((mark) => mark > done)
      .map((mark) => mark - done),
  );
  const hows = await Promise.all(Array.from({ length: size }, (_, one) => runOne(agents, done + one)));
  for (const how of hows) ends[how] = (ends[how] ?? 0) + 1;
  agents.takeNews();
  done += size;
  if (marks.includes(String(done))) at[String(done)] = await look();
}
const listed = agents.list().length;
await agent.close();
process.stdout.write(`${JSON.stringify({ ends, at, listed, closed: await look() })}\n`);
