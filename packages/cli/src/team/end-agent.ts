import { setTimeout as wait } from "node:timers/promises";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import { sessionId } from "palimpsest/internal/schema/brand";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { endGroup } from "../tool/signal-group.ts";
import { killGraceMs, killLookMs } from "./limits.ts";

interface EndAgentInput {
  readonly pid: number;
  readonly session: string | undefined;
  /** Of the session's project. Undefined if there is no such session. */
  readonly files: SessionFiles | undefined;
}

export type EndAgentOutcome = "ended" | "killed" | "refused";

/**
 * Asks the process to end, which ends its commands in order. One that does not is killed, and so are the commands that
 * its session has on record. `refused`: the system does not let us.
 */
export async function endAgent({ pid, session, files }: EndAgentInput): Promise<EndAgentOutcome> {
  if (!signal(pid, "SIGTERM")) return (await isGone(pid)) ? "ended" : "refused";
  for (let waitedMs = 0; waitedMs < killGraceMs; waitedMs += killLookMs) {
    await wait(killLookMs);
    if (await isGone(pid)) return "ended";
  }
  if (!signal(pid, "SIGKILL")) return (await isGone(pid)) ? "ended" : "refused";
  while (!(await isGone(pid))) await wait(killLookMs);
  if (session === undefined) return "killed";
  // Nobody else has the session now: its holder has just ended.
  const left = (await files?.runningGroupsFor?.(sessionId(session)).left()) ?? [];
  await Promise.all(left.filter(({ state }) => state === "ours").map(({ leader }) => endGroup(leader)));
  return "killed";
}

const isGone = async (pid: number): Promise<boolean> => (await lookAtProcess(pid)).kind === "dead";

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}
