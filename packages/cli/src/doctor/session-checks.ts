import type { Workspace, ProjectStore } from "../host/workspace.ts";
import { checkLog } from "palimpsest/internal/session/check-log";
import type { SessionSummary } from "palimpsest/internal/ports/store";
import { quantity, shortId } from "../text/format.ts";
import { type Check, failingCheck, okCheck, warningCheck } from "./check.ts";
import { sessionsLookedAtMax } from "./limits.ts";

/** The newest transcript, leases, and processes that outlived their agents. Nothing is changed or ended. */
export async function sessionChecks(workspace: Workspace): Promise<readonly Check[]> {
  const sessions = await listAllSessions(workspace);
  const [newest] = sessions;
  if (newest === undefined) return [okCheck("sessions", "none yet")];
  const recent = sessions.slice(0, sessionsLookedAtMax);
  const leases = await readLeases(recent);
  return [
    await transcriptCheck(newest, sessions.length),
    leasesCheck(leases),
    await groupsCheck(recent.filter(({ sessionId }) => leases.get(sessionId) !== "held")),
  ];
}

interface StoredSession extends SessionSummary {
  readonly store: ProjectStore;
}

/** Of every project, newest first. */
async function listAllSessions(workspace: Workspace): Promise<readonly StoredSession[]> {
  const found: StoredSession[] = [];
  for (const store of await workspace.stores("all"))
    for (const summary of await store.sessions.list()) found.push({ ...summary, store });
  return found.toSorted((one, other) => other.modified.localeCompare(one.modified));
}

async function transcriptCheck({ store, sessionId }: StoredSession, count: number): Promise<Check> {
  const source = await store.transcripts.openForReading(sessionId).catch(() => undefined);
  const id = shortId(sessionId);
  if (source === undefined)
    return failingCheck("sessions", { says: `${store.transcripts.linkTo?.(sessionId) ?? sessionId} can't be read` });
  try {
    const { damage, entries } = await checkLog(source);
    if (damage.length === 0)
      return okCheck("sessions", `${count}; the newest (${id}) has ${entries} entries and no damage`);
    const says = `the newest (${id}) has ${quantity(damage.length, "damaged range")}`;
    return warningCheck("sessions", { says, todo: `palimpsest sessions fsck ${id} --repair` });
  } finally {
    await source.close();
  }
}

type LeaseStates = ReadonlyMap<string, "held" | "left">;

async function readLeases(sessions: readonly StoredSession[]): Promise<LeaseStates> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const { kind } = await store.leases.look(sessionId);
      return kind === "free" ? [] : [[sessionId, kind] as const];
    }),
  );
  return new Map(found.flat());
}

function leasesCheck(leases: LeaseStates): Check {
  const count = (state: "held" | "left"): number => [...leases.values()].filter((lease) => lease === state).length;
  const left = count("left");
  const says = `${quantity(count("held"), "session")} open`;
  // The next process that opens the session takes it over.
  return okCheck(
    "locks",
    left === 0 ? says : `${says}; ${quantity(left, "lock")} of processes that are gone, taken over when needed`,
  );
}

/** Only of sessions that no process holds: commands of the others may well run. */
async function groupsCheck(sessions: readonly StoredSession[]): Promise<Check> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const groups = (await store.runningGroupsFor?.(sessionId).left()) ?? [];
      return groups.filter(({ state }) => state !== "gone").map(({ leader }) => ({ leader, sessionId }));
    }),
  );
  const leftover = found.flat();
  const [first] = leftover;
  if (first === undefined) return okCheck("processes", "none was left running");
  const leaders = leftover.map(({ leader }) => leader).join(", ");
  const says = `${quantity(leftover.length, "process group")} left running by agents that were killed (${leaders})`;
  return warningCheck("processes", {
    says,
    todo: `palimpsest --resume ${shortId(first.sessionId)} ends what its session left.`,
  });
}
