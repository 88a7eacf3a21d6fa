import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { errorCode } from "./error-code.ts";
import { groupLookMs, shellKillGraceMs } from "./limits.ts";

/** False if there is no such process; true for a process of another user. Signal 0 only checks. */
export function signalProcess(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, signal);
  } catch (error) {
    if (errorCode(error) === "EPERM") return true;
    if (errorCode(error) === "ESRCH") return false;
    throw error;
  }
}

/**
 * Signals every process of a group, by its leader's id. False if the group has no processes left. Signal 0 only checks.
 */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if (errorCode(error) === "ESRCH" || errorCode(error) === "EPERM") return false;
    throw error;
  }
}

/**
 * Asks a program in a sandbox to end, by the id of the sandbox's own process. Ending that one would kill everything
 * inside at once, so the signal goes to the group inside, which its only child leads. False if there is nothing left to
 * signal.
 */
export function terminateInside(leader: number | undefined): boolean {
  const inside = leader === undefined ? undefined : firstChild(leader);
  return (inside !== undefined && signalGroup(inside, "SIGTERM")) || signalGroup(leader, "SIGTERM");
}

function firstChild(leader: number): number | undefined {
  try {
    const [child = ""] = readFileSync(`/proc/${leader}/task/${leader}/children`, "utf8").trim().split(" ");
    return child === "" ? undefined : Number(child);
  } catch (error) {
    // It has ended, or this kernel does not list children.
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** Asks the whole group to end, then kills it. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, "SIGTERM")) return;
  for (let waitedMs = 0; waitedMs < shellKillGraceMs; waitedMs += groupLookMs) {
    await wait(groupLookMs);
    if (!signalGroup(leader, 0)) return;
  }
  signalGroup(leader, "SIGKILL");
}
