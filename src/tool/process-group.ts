import { codeOf } from "./failure.ts";

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
