import { execFile } from "node:child_process";
import { appendFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, vi } from "vitest";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import type { Responder, MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import { millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import { memoriesOf, memoryText, saves } from "./memory-world.ts";
import { type AgentWorld, agentWorld, firstBreak, refused, turn } from "./whole-agent.ts";

/**
 * Over so many turns without an edit each request begins with the one before, block by block; nothing is refused; and the
 * cache gives at least 97% of what a client reads that only ever appends.
 */
export async function expectStable(turns: number, model: string): Promise<void> {
  const { world, events } = await lived({ turns, model, variables: { DISABLE_MICROCOMPACT: "1" } });
  const { seen } = world;
  expect(refused(seen)).toEqual([]);
  const ends = events.flatMap((event) => (event.kind === "turn-end" ? event.reason : []));
  expect(ends).toEqual(Array.from({ length: turns }, () => "answered"));
  expect(seen.length).toBe(2 * turns);
  expect(firstBreak(seen)).toBeUndefined();
  expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
  expect(readShare(events)).toBeGreaterThan(0.97);
  // It did not stand still.
  const last = JSON.stringify(seen.at(-1)?.body);
  expect(last).toContain(`Rules of turn ${turns - 5}.`);
  expect(last).toContain("note 8");
  expect(last).toContain(`The folder's rules of turn ${turns - 8}.`);
  expect(last).toContain("The rule of turn 4.");
  expect(last.match(/rules\/text\.md are no longer there/g)?.length).toBe(1);
  // Memories were written by the agent and by others, and those that fit were shown behind the message.
  expect(last).toContain("File created successfully at: /memories/round-");
  expect(last.match(/Memory turn-\d+\.md \(/g)?.length).toBeGreaterThan(3);
  // What happened beside the conversation was told: each midnight, and a change of the file before every turn but the first.
  expect(new Set(last.match(/Today is [\d-]+/g)).size).toBe(Math.floor(turns / turnsPerDay));
  expect(last.match(/notes\.txt: \d+ lines now/g)?.length).toBe(turns - 1);
  expect(new Set(seen.map(({ body }) => body["max_tokens"])).size).toBeGreaterThan(2);
}

/** With the layers on, a request that does not begin with the one before it was told of before it was sent. */
export async function expectTold(turns: number, model: string): Promise<void> {
  // A policy that clears as often as it can.
  const { world, events } = await lived({ turns, model, variables: { PALIMPSEST_POLICY: "mask" } });
  expect(refused(world.seen)).toEqual([]);
  const told = toldBefore(events);
  const broken = world.seen.flatMap((_, at) =>
    firstBreak(world.seen.slice(at, at + 2)) === undefined ? [] : [at + 1],
  );
  expect(broken.length).toBeGreaterThan(0);
  for (const at of broken) expect({ at, told: told.has(at) }).toEqual({ at, told: true });
  expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
}

/** Requests, counted from 0, that something was cleared for. */
function toldBefore(events: readonly LoopEvent[]): ReadonlySet<number> {
  const told = new Set<number>();
  let requests = 0;
  for (const { kind } of events) {
    if (kind === "request-start") requests += 1;
    if (kind === "cleared") told.add(requests);
  }
  return told;
}

const day = 86_400_000;
const turnsPerDay = 12;
const git = promisify(execFile);

/** Thinks, reads a file, keeps a list and runs a command, then says a word. */
const worker: Responder = {
  name: "worker",
  respond: ({ request }) => {
    const { content } = request.messages.at(-1) ?? { content: "" };
    const isAnswered = typeof content !== "string" && content.some(({ type }) => type === "tool_result");
    const round = request.messages.length;
    const todos = [{ content: `Step ${round}`, status: "in_progress" }];
    const calls: MoveBlock[] = [
      { type: "thinking", thinking: `What has changed in round ${round}?` },
      { type: "tool_use", name: "read", input: { path: "notes.txt" } },
      { type: "tool_use", name: "read", input: { path: "pkg/text.txt" } },
      { type: "tool_use", name: "todo", input: { todos } },
      { type: "tool_use", name: "bash", input: { command: `echo ${round}; git status --short` } },
      ...(round % 3 === 0 ? [saves(`round-${round}.md`, memoryText(`Round ${round}`, `Look again ${round}.`))] : []),
    ];
    return { move: { kind: "say", blocks: isAnswered ? [{ type: "text", text: `Round ${round} is done.` }] : calls } };
  },
};

/** What happens between two turns, from outside the agent. */
async function disturb(world: AgentWorld, n: number): Promise<void> {
  const { work, home } = world;
  await appendFile(join(work, "notes.txt"), `note ${n}\n`);
  if (n % 7 === 0) await writeFile(join(work, `new-${n}.txt`), "x");
  if (n % 10 === 3) await git("git", [...identity, "commit", "-qam", `${n}`], { cwd: work });
  if (n % 10 === 5) await writeFile(join(work, "CLAUDE.md"), `Rules of turn ${n}.\n`);
  if (n % 10 === 2) await writeFile(join(work, "pkg", "CLAUDE.md"), `The folder's rules of turn ${n}.\n`);
  if (n === 4) await writeFile(rulePath(work), `---\npaths: "pkg/*.txt"\n---\nThe rule of turn ${n}.\n`);
  if (n === 14) await rm(rulePath(work));
  if (n % 4 === 2) await saveFromElsewhere(world, n);
  if (n % 10 === 7) await writeFile(join(home, "settings.json"), JSON.stringify({ outputTokensMax: 4000 + n }));
  if (n % turnsPerDay === turnsPerDay - 1) vi.setSystemTime(Date.now() + day);
}

const rulePath = (work: string): string => join(work, ".claude", "rules", "text.md");

/** As another process of the user's does. */
async function saveFromElsewhere(world: AgentWorld, n: number): Promise<void> {
  const memories = await memoriesOf(world);
  const saved = await memories.commit({
    author: "user",
    provenance: { at: millis(Date.now()), trust: "trusted" },
    message: "saved",
    changes: [
      { path: `turn-${n}.md`, expected: "absent", text: memoryText(`What to look at in turn ${n}`, `Memory ${n}.`) },
    ],
  });
  expect(saved.kind).toBe("committed");
}

/** As a process leaves its log that was killed while it wrote. */
async function tearLog(home: string, id: string): Promise<void> {
  const [project = ""] = await readdir(join(home, "projects"));
  await appendFile(join(home, "projects", project, `${id}.jsonl`), `{"type":"attachment","uu`);
}

const identity = ["-c", "user.name=t", "-c", "user.email=t@t"];

interface Living {
  readonly turns: number;
  readonly model: string;
  readonly variables?: Readonly<Record<string, string>>;
}

interface Lived {
  readonly world: AgentWorld;
  readonly events: readonly LoopEvent[];
}

/** A session of so many turns in a project that does not stand still, closed and opened again every few turns. */
async function lived({ turns, model, variables = {} }: Living): Promise<Lived> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 15, 22) });
  const world = await agentWorld({ responder: worker }, variables);
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.work, "notes.txt"), "begun\n");
  await writeFile(join(world.work, "CLAUDE.md"), "Rules of the start.\n");
  await mkdir(join(world.work, "pkg"));
  await mkdir(join(world.work, ".claude", "rules"), { recursive: true });
  await writeFile(join(world.work, "pkg", "text.txt"), "text\n");
  await git("git", ["init", "-q"], { cwd: world.work });
  await git("git", ["add", "."], { cwd: world.work });
  const events: LoopEvent[] = [];
  let agent: Agent = await world.open({ kind: "new" }, model);
  try {
    for (let n = 1; n <= turns; n += 1) {
      events.push(...(await turn(agent, `Turn ${n}: look again.`)));
      await disturb(world, n);
      if (n % 9 !== 0) continue;
      const { id } = agent.session;
      await agent.close();
      if (n % 18 === 0) await tearLog(world.home, id);
      agent = await world.open({ kind: "resume", id }, model);
    }
    return { world, events };
  } finally {
    await agent.close();
    vi.useRealTimers();
  }
}

/**
 * What was read from the cache, against what a client reads that only ever appends: each request all of the one before.
 * Nothing expires: the simulator's clock stands still.
 */
function readShare(events: readonly LoopEvent[]): number {
  const usages = events.flatMap((event) => (event.kind === "reply-end" ? (event.usage ?? []) : []));
  const whole = usages.map(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite);
  const ideal = whole.slice(0, -1).reduce((sum, tokens) => sum + tokens, 0);
  return usages.slice(1).reduce((sum, { cacheRead }) => sum + cacheRead, 0) / ideal;
}
