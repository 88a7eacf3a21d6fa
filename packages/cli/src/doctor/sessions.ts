import type { Engine, EngineDeps } from "../host/engine.ts";
import { checkLog } from "palimpsest/internal/session/fsck";
import type { SessionSummary } from "palimpsest/internal/ports/session-list";
import { counted, shortId } from "../human.ts";
import { type Check, failed, fine, warning } from "./check.ts";
import { sessionsLookedAtMax } from "./limits.ts";

/** The newest transcript, leases, and processes that outlived their agents. Nothing is changed or ended. */
export async function sessionChecks(engine: Engine): Promise<readonly Check[]> {
  const sessions = await storedSessions(engine);
  const [newest] = sessions;
  if (newest === undefined) return [fine("sessions", "none yet")];
  const looked = sessions.slice(0, sessionsLookedAtMax);
  const held = await leases(looked);
  return [
    await transcriptCheck(newest, sessions.length),
    leasesCheck(held),
    await groupsCheck(looked.filter(({ sessionId }) => held.get(sessionId) !== "held")),
  ];
}

interface StoredSession extends SessionSummary {
  readonly store: EngineDeps;
}

/** Of every project, newest first. */
async function storedSessions(engine: Engine): Promise<readonly StoredSession[]> {
  const found: StoredSession[] = [];
  for (const store of await engine.stores("all"))
    for (const summary of await store.sessions.list()) found.push({ ...summary, store });
  return found.toSorted((one, other) => other.modified.localeCompare(one.modified));
}

async function transcriptCheck({ store, sessionId }: StoredSession, count: number): Promise<Check> {
  const source = await store.transcripts.openForReading(sessionId).catch(() => undefined);
  const id = shortId(sessionId);
  if (source === undefined)
    return failed("sessions", { says: `${store.transcripts.linkTo?.(sessionId) ?? sessionId} can't be read` });
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

type Held = ReadonlyMap<string, "held" | "left">;

async function leases(sessions: readonly StoredSession[]): Promise<Held> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const { kind } = await store.leases.look(sessionId);
      return kind === "free" ? [] : [[sessionId, kind] as const];
    }),
  );
  return new Map(found.flat());
}

function leasesCheck(held: Held): Check {
  const count = (state: "held" | "left"): number => [...held.values()].filter((one) => one === state).length;
  const left = count("left");
  const says = `${counted(count("held"), "session")} open`;
  // The next who opens the session takes it over.
  return fine(
    "locks",
    left === 0 ? says : `${says}; ${counted(left, "lock")} of processes that are gone, taken over when needed`,
  );
}

/** Only of sessions that nobody holds: others' commands may well run. */
async function groupsCheck(sessions: readonly StoredSession[]): Promise<Check> {
  const found = await Promise.all(
    sessions.map(async ({ sessionId, store }) => {
      const groups = (await store.runningGroupsFor?.(sessionId).left()) ?? [];
      return groups.filter(({ state }) => state !== "gone").map(({ leader }) => ({ leader, sessionId }));
    }),
  );
  const left = found.flat();
  const [first] = left;
  if (first === undefined) return fine("processes", "none was left running");
  const leaders = left.map(({ leader }) => leader).join(", ");
  const says = `${counted(left.length, "process group")} left running by agents that were killed (${leaders})`;
  return warning("processes", {
    says,
    todo: `palimpsest --resume ${shortId(first.sessionId)} ends what its session left.`,
  });
}
