import { cp, readFile, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { openWorkspace, type ResolvedLog } from "../../../packages/cli/src/host/workspace.ts";
import { repairLog } from "../../../packages/palimpsest/src/session/check-log.ts";
import { readLog } from "../../../packages/palimpsest/src/session/counted-log.ts";
import type { SessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { violations } from "../../../packages/palimpsest/src/transcript/violations.ts";
import { palimpsest, type Said } from "./command-line.ts";
import { countLeftOut, lastRequest, saidIn } from "./compaction-checks.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./compaction-world.ts";
import { fillSession } from "./filled-session.ts";
import { everyPoint, type KillPoint } from "./killed-turn.ts";
import type { SummaryAnswer } from "./summary-answers.ts";
import { refused } from "./whole-agent.ts";

const preload = pathToFileURL(resolve(import.meta.dirname, "../child/kill-at.ts")).href;
const windowTokens = 40_000;
/** Without quotes: it is looked for in the log as it is. */
const during = "Go on while it is killed, CODE-KILLED.";

interface KillPath {
  /** Of the window, as large as the session is before. */
  readonly share: number;
  readonly answers: readonly SummaryAnswer[];
  readonly believedTokens?: number;
  readonly command: "turn" | "compact";
}

/** Every way to a boundary. */
export const killPaths = {
  fork: { share: 0.75, answers: ["good"], command: "turn" },
  stream: { share: 0.75, answers: ["tool-call", "good"], command: "turn" },
  extractive: { share: 1.2, answers: ["nonsense"], command: "turn" },
  reactive: { share: 1.2, answers: ["good"], believedTokens: 200_000, command: "turn" },
  manual: { share: 0.5, answers: ["good"], command: "compact" },
} as const satisfies Record<string, KillPath>;
export type KillPathName = keyof typeof killPaths;

/** A session that the next command compacts, and a copy of all that is on disk of it. */
interface KillScene {
  readonly world: CompactionWorld;
  readonly path: KillPath;
  readonly id: SessionId;
  readonly saved: string;
}

async function killScene(name: KillPathName): Promise<KillScene> {
  const path: KillPath = killPaths[name];
  const { believedTokens = windowTokens } = path;
  const world = await compactionWorld({ windowTokens, believedTokens });
  const agent = await world.open();
  const tokens = path.share * windowTokens;
  world.said.push(...(await fillSession(agent.session, { tokens, shape: "no-results", model: world.model })));
  await agent.close();
  const saved = `${world.home}-saved`;
  await cp(world.home, saved, { recursive: true });
  return { world, path, id: agent.session.id, saved };
}

async function changesOf(scene: KillScene): Promise<readonly string[]> {
  const report = `${scene.saved}.json`;
  expect(await command(scene, { KILL_REPORT: report })).toMatchObject({ code: 0 });
  const log = (await logBytes(scene)).toString("utf8");
  expect(log.split('"compact_boundary"')).toHaveLength(2);
  return JSON.parse(await readFile(report, "utf8")) as string[];
}

/** Killed there, the session goes on: nothing lost, nothing doubled, and the view is that of the last committed entry. */
async function goesOnAfterKill(scene: KillScene, { at, how }: KillPoint): Promise<"killed" | "too-late"> {
  const { world } = scene;
  const killed = await command(scene, { KILL_AT: `${at} ${how}` });
  const log = await logBytes(scene);
  const whole = log.subarray(0, log.lastIndexOf("\n") + 1);
  world.summariser.asked.splice(0);
  world.seen.splice(0);
  world.worker.left = 1;
  const next = taskText(777);
  expect(await run(scene, ["-p", next, "--continue"])).toMatchObject({ code: 0 });
  expect((await logBytes(scene)).subarray(0, whole.length).equals(whole)).toBe(true);
  const begun = whole.includes(during) ? [during] : [];
  const all = [...world.said, ...begun, next];
  const said = saidIn(lastRequest(world));
  const leftOut = countLeftOut(lastRequest(world));
  // The request itself says how many: it must not say that most are.
  expect(leftOut).toBeLessThan(all.length / 4);
  expect(said.at(-1)).toBe(next);
  expect({ at, how, said }).toEqual({ at, how, said: all.filter((_, nth) => nth < 1 || nth > leftOut) });
  expect(refused(world.seen).length).toBeLessThanOrEqual(scene.path.believedTokens === undefined ? 0 : 1);
  await expectWhole(scene, log.length - whole.length);
  return killed.signal === "SIGKILL" ? "killed" : "too-late";
}

async function expectWhole(scene: KillScene, tornBytes: number): Promise<void> {
  const { deps } = await found(scene);
  const repair = await repairLog(deps, { id: scene.id, circumstances: { cwd: "/project", version: "0.0.0" } });
  if (repair.kind !== "repaired") throw new Error(repair.kind);
  expect(repair.found.damage.length).toBeLessThanOrEqual(tornBytes > 0 ? 1 : 0);
  expect(repair.left).toMatchObject({ damage: [], accepted: [] });
  const log = await readLog(deps, scene.id);
  expect(violations(log?.fold.view().messages ?? [], { end: "any" })).toEqual([]);
}

/** From what was saved, so that each kill finds the same. */
async function command(scene: KillScene, env: Readonly<Record<string, string>>): Promise<Said> {
  const { world, path, id, saved } = scene;
  await rm(world.home, { recursive: true, force: true });
  await cp(saved, world.home, { recursive: true });
  Object.assign(world.worker, { left: 1, rounds: 0 });
  world.summariser.answers = path.answers;
  world.summariser.asked.splice(0);
  const args = path.command === "compact" ? ["compact", id, "--yes"] : ["-p", during, "--continue"];
  return run(scene, args, { NODE_OPTIONS: `--import=${preload}`, ...env });
}

function run(
  { world, path }: KillScene,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said> {
  const { home, work, url, model } = world;
  const { believedTokens = windowTokens } = path;
  const own = {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "any",
    PALIMPSEST_CONTEXT_TOKENS: String(believedTokens),
  };
  const mode = args[0] === "compact" ? [] : ["--permission-mode", "bypassPermissions"];
  return palimpsest({ home, cwd: work, env: { ...own, ...env } }, ...args, "--model", model, ...mode);
}

async function found({ world, id }: KillScene): Promise<Extract<ResolvedLog, { kind: "ours" }>> {
  const log = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(id);
  if (log.kind !== "ours") throw new Error(log.kind);
  return log;
}

const logBytes = async (scene: KillScene): Promise<Buffer> => readFile((await found(scene)).path);

/** At every point, or at so many of them from its beginning to its end. Two scenes at a time: more only wait for a processor. */
export async function expectAllGoOn(name: KillPathName, pointsMax = Infinity): Promise<void> {
  const scenes = await Promise.all([killScene(name), killScene(name)]);
  const every = everyPoint(await changesOf(scenes[0]));
  expect(every.length).toBeGreaterThan(10);
  const points = every.filter((_, nth) => nth % Math.max(1, Math.ceil(every.length / pointsMax)) === 0);
  const lanes = await Promise.all(
    scenes.map(async (scene, lane) => {
      const outcomes: string[] = [];
      for (const point of points.filter((_, nth) => nth % scenes.length === lane))
        outcomes.push(await goesOnAfterKill(scene, point));
      return outcomes;
    }),
  );
  expect(lanes.flat().filter((outcome) => outcome === "killed").length).toBeGreaterThan(points.length * 0.7);
}
