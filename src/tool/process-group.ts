import { setTimeout as wait } from "node:timers/promises";
import { codeOf } from "./failure.ts";
import { groupLookMs, shellKillGraceMs } from "./limits.ts";

/** Signals every process of a group, by its leader's id. False once the group has none. 0 only asks. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if (codeOf(error) === "ESRCH" || codeOf(error) === "EPERM") return false;
    throw error;
  }
}

/** Asks the whole group to end, then ends it. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, "SIGTERM")) return;
  for (let waitedMs = 0; waitedMs < shellKillGraceMs; waitedMs += groupLookMs) {
    await wait(groupLookMs);
    if (!signalGroup(leader, 0)) return;
  }
  signalGroup(leader, "SIGKILL");
}
