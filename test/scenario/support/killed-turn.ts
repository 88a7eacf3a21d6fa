import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { openWorkspace } from "../../../packages/cli/src/host/workspace.ts";
import { repairLog } from "../../../packages/palimpsest/src/session/check-log.ts";
import { readLog } from "../../../packages/palimpsest/src/session/counted-log.ts";
import type { ByteRange } from "../../../packages/palimpsest/src/ports/transcripts.ts";
import type { SessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { Responder, MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import { violations } from "../../../packages/palimpsest/src/transcript/violations.ts";
import { palimpsest, type Said } from "./command-line.ts";
import { type AgentWorld, agentWorld, firstBreak, refused, turn } from "./whole-agent.ts";

const model = "claude-sonnet-5-5";
const preload = (script: string): string =>
  `--import=${pathToFileURL(resolve(import.meta.dirname, "../child", script)).href}`;

/** A command with an effect that shows how often it ran; `then` stands behind it. */
const effect = (n: number, then: string): MoveBlock => ({
  type: "tool_use",
  name: "bash",
  input: { command: `echo call-${n} >> effects.txt${then}` },
});

/** Each turn: thinks, runs two commands that no turn ran before, says that it is done. Asked to die, its first command runs until the agent is killed. */
const doer: Responder = {
  name: "doer",
  respond: ({ request }) => {
    const blocks = request.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const last = request.messages.at(-1)?.content;
    const isAnswered = typeof last !== "string" && last?.some(({ type }) => type === "tool_result") === true;
    const asked = blocks.findLast(({ type }) => type === "text");
    const isNew = asked?.type === "text" && typeof last !== "string" && last?.at(-1) === asked;
    if (isAnswered && !isNew) return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
    const calls = blocks.filter(({ type }) => type === "tool_use").length;
    const then = asked?.type === "text" && asked.text === "Die." ? "; touch running; sleep 60" : "";
    const said: MoveBlock[] = [
      { type: "thinking", thinking: "What next?" },
      { type: "text", text: "Two commands." },
      effect(calls + 1, then),
      effect(calls + 2, ""),
    ];
    return { move: { kind: "say", blocks: said } };
  },
};

export interface KillWorld extends AgentWorld {
  readonly id: SessionId;
}

/** A project with a session of one turn. */
export async function killWorld(): Promise<KillWorld> {
  const world = await agentWorld({ responder: doer });
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "Begin.");
  await agent.close();
  return { ...world, id: agent.session.id };
}

/** The command line goes on with the session; `env` says where it dies. */
export function goOn(world: AgentWorld, prompt: string, env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const { ANTHROPIC_BASE_URL = "", ANTHROPIC_API_KEY = "" } = world.env;
  const options = ["--model", model, "--permission-mode", "bypassPermissions"];
  const calling = { home: world.home, cwd: world.work, env: { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, ...env } };
  return palimpsest(calling, "-p", prompt, "--continue", ...options);
}

/** Goes on with a command that does not end, and dies while it runs: from outside, for nothing in a sandbox can kill it. */
export function dieInCommand(world: AgentWorld): Promise<Said> {
  return goOn(world, "Die.", { NODE_OPTIONS: preload("kill-when.ts"), KILL_WHEN: join(world.work, "running") });
}

/** The changes to the disk that one turn makes. */
export async function changesOfTurn(): Promise<readonly string[]> {
  const world = await killWorld();
  const report = join(world.work, "changes.json");
  const said = await goOn(world, "Work.", { NODE_OPTIONS: preload("kill-at.ts"), KILL_REPORT: report });
  expect(said).toMatchObject({ code: 0, out: "Done.\n" });
  return JSON.parse(await readFile(report, "utf8")) as string[];
}

export interface KillPoint {
  readonly at: number;
  readonly how: "before" | "half";
}

/**
 * Killed there, the session goes on: nothing lost, nothing doubled, nothing run again. `too-late`: a command that ended
 * before anybody looked is not recorded as running, so a turn may make a few changes less than were counted.
 */
async function goesOnAfterKill({ at, how }: KillPoint): Promise<"killed" | "too-late"> {
  const world = await killWorld();
  const said = await goOn(world, "Work.", { NODE_OPTIONS: preload("kill-at.ts"), KILL_AT: `${at} ${how}` });
  const killed = said.signal === "SIGKILL";
  if (!killed) expect({ at, how, ...said }).toMatchObject({ code: 0, out: "Done.\n" });
  await expectGoesOn(world);
  return killed ? "killed" : "too-late";
}

export async function expectGoesOn(world: KillWorld): Promise<void> {
  const path = await logPath(world);
  const left = await readFile(path);
  const whole = left.subarray(0, left.lastIndexOf("\n") + 1);
  const said = await goOn(world, "Go on.");
  expect(said).toMatchObject({ code: 0, out: "Done.\n" });
  const now = await readFile(path);
  expect(now.subarray(0, whole.length).equals(whole)).toBe(true);
  expect(refused(world.seen)).toEqual([]);
  expect(firstBreak(world.seen)).toBeUndefined();
  await expectWhole(world, left.length > whole.length ? [{ start: whole.length, end: left.length }] : []);
}

/** No damage but a line that was killed while it was written, a valid view without a doubled word of anybody, and each command ran once at most. */
async function expectWhole(world: KillWorld, torn: readonly ByteRange[]): Promise<void> {
  const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(world.id);
  if (found.kind !== "ours") throw new Error(found.kind);
  const repair = await repairLog(found.deps, { id: world.id, circumstances: { cwd: "/project", version: "0.0.0" } });
  if (repair.kind !== "repaired") throw new Error(repair.kind);
  expect(repair.found.damage.map(({ start, end }) => ({ start, end }))).toEqual(torn);
  expect(repair.left).toMatchObject({ damage: [], accepted: [] });
  const log = await readLog(found.deps, world.id);
  const { messages = [] } = log?.fold.view() ?? {};
  expect(violations(messages, { end: "any" })).toEqual([]);
  const blocks = messages.flatMap(({ content }) => content);
  for (const words of ["Begin.", "Work.", "Go on."])
    expect(blocks.filter((block) => block.type === "text" && block.text === words).length).toBeLessThanOrEqual(1);
  const asked = blocks.flatMap((block) => (block.type === "tool_use" ? [JSON.stringify(block.input)] : []));
  const ran = (await readFile(join(world.work, "effects.txt"), "utf8")).trimEnd().split("\n");
  expect(new Set(ran).size).toBe(ran.length);
  for (const effectOf of ran) expect(asked.filter((input) => input.includes(`${effectOf} `))).toHaveLength(1);
  expect(ran).toContain("call-1");
  expect(ran.length).toBeGreaterThanOrEqual(4);
}

async function logPath(world: KillWorld): Promise<string> {
  const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(world.id);
  if (found.kind !== "ours") throw new Error(found.kind);
  return found.path;
}

/** Every change, and the middle of every write. */
export const everyPoint = (changes: readonly string[]): readonly KillPoint[] =>
  changes.flatMap((change, at) => [
    { at, how: "before" } as const,
    ...(change === "write" ? [{ at, how: "half" } as const] : []),
  ]);

/** Two at a time: more only wait for a processor. */
export async function expectAllGoOn(points: readonly KillPoint[]): Promise<void> {
  const outcomes: string[] = [];
  for (let at = 0; at < points.length; at += 2)
    outcomes.push(...(await Promise.all(points.slice(at, at + 2).map((point) => goesOnAfterKill(point)))));
  expect(outcomes.filter((outcome) => outcome === "killed").length).toBeGreaterThan(points.length * 0.7);
}
