import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Engine } from "../../engine.ts";
import { checkLog } from "../../loop/fsck.ts";
import type { SessionSummary } from "../../ports/transcripts.ts";
import { millis } from "../../schema/brand.ts";
import { judge, readLock } from "../../store/files/lock-content.ts";
import { lookAtProcess } from "../../store/files/look-at-process.ts";
import { fileRunningGroups } from "../../store/files/running-groups.ts";
import { counted, shortId } from "../human.ts";
import { type Check, failed, fine, warning } from "./check.ts";
import { sessionsLookedAtMax } from "./limits.ts";

/** The newest transcript, locks, and processes that outlived their agents. Nothing is changed or ended. */
export async function sessionChecks(engine: Engine): Promise<readonly Check[]> {
  const sessions = await engine.list("all");
  const [newest] = sessions;
  if (newest === undefined) return [fine("sessions", "none yet")];
  const looked = sessions.slice(0, sessionsLookedAtMax);
  const held = await locks(looked);
  return [
    await transcriptCheck(engine, { newest, count: sessions.length }),
    locksCheck(held),
    await groupsCheck(looked.filter(({ sessionId }) => held.get(sessionId) !== "held")),
  ];
}

interface Newest {
  readonly newest: SessionSummary;
  readonly count: number;
}

async function transcriptCheck(engine: Engine, { newest, count }: Newest): Promise<Check> {
  const source = await engine.openFile(newest.fullPath);
  const id = shortId(newest.sessionId);
  if (source === undefined) return failed("sessions", { says: `${newest.fullPath} can't be read` });
  try {
    const { damage, entries } = await checkLog(source);
    if (damage.length === 0)
      return fine("sessions", `${count}; the newest (${id}) has ${entries} entries and no damage`);
    const says = `the newest (${id}) has ${counted(damage.length, "damaged range")}`;
    return warning("sessions", { says, todo: `palimpsest sessions fsck ${id} --repair` });
  } finally {
    await source.close();
  }
}

type Held = ReadonlyMap<string, "held" | "stale">;

async function locks(sessions: readonly SessionSummary[]): Promise<Held> {
  const deps = { host: hostname(), lookAtProcess, now: () => millis(Date.now()) };
  const found = await Promise.all(
    sessions.map(async ({ sessionId, fullPath }) => {
      const seen = await readLock(join(dirname(fullPath), `${sessionId}.lock`));
      return seen === undefined ? [] : [[sessionId, (await judge(deps, seen)).kind] as const];
    }),
  );
  return new Map(found.flat());
}

function locksCheck(held: Held): Check {
  const count = (state: "held" | "stale"): number => [...held.values()].filter((one) => one === state).length;
  const stale = count("stale");
  const says = `${counted(count("held"), "session")} open`;
  // The next who opens the session takes it over.
  return fine(
    "locks",
    stale === 0 ? says : `${says}; ${counted(stale, "lock")} of processes that are gone, taken over when needed`,
  );
}

/** Only of sessions that nobody holds: others' commands may well run. */
async function groupsCheck(sessions: readonly SessionSummary[]): Promise<Check> {
  const left = await Promise.all(
    sessions.map(async ({ sessionId, fullPath }) => {
      const folder = dirname(fullPath);
      const names = await readdir(join(folder, sessionId)).catch(() => []);
      if (!names.some((name) => name.startsWith("running-"))) return [];
      const groups = await fileRunningGroups({ folder, session: sessionId }).left();
      return groups.filter(({ state }) => state !== "gone").map(({ leader }) => ({ leader, sessionId }));
    }),
  );
  const [first] = left.flat();
  if (first === undefined) return fine("processes", "none was left running");
  const says = `${counted(left.flat().length, "process group")} left running by agents that were killed (${left
    .flat()
    .map(({ leader }) => leader)
    .join(", ")})`;
  return warning("processes", {
    says,
    todo: `palimpsest --resume ${shortId(first.sessionId)} ends what its session left.`,
  });
}
