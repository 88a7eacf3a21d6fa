import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { processListMs } from "../limits.ts";
import { errorCode } from "./disk.ts";

/** `started` tells a process from a later one with the same pid; undefined if the system does not provide it. */
export type ProcessState = { readonly kind: "dead" } | { readonly kind: "alive"; readonly started: string | undefined };

export type LookAtProcess = (pid: number) => Promise<ProcessState>;

export const lookAtProcess: LookAtProcess = async (pid) => {
  if (!takesSignals(pid)) return { kind: "dead" };
  if (process.platform === "linux") return (await readFromProc(pid)) ?? { kind: "alive", started: undefined };
  return { kind: "alive", started: await startFromPs(pid) };
};

/** True for a process of another user as well: the system refuses the signal, but the process exists. */
function takesSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

async function readFromProc(pid: number): Promise<ProcessState | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    const fields = fieldsFrom3(stat);
    const ticks = fields[22 - 3];
    if (hasEnded(fields)) return { kind: "dead" };
    // Ticks count from boot, so the boot id is included: a machine that boots the same way twice repeats pid and ticks.
    return { kind: "alive", started: ticks === undefined ? undefined : `${boot.trim()}/${ticks}` };
  } catch {
    return undefined;
  }
}

/** The fields from the third on. The second is a name that may contain spaces and parentheses, so they start after the last one. */
const fieldsFrom3 = (stat: string): readonly string[] => stat.slice(stat.lastIndexOf(")") + 2).split(" ");

/** A zombie has ended and waits for its parent: it accepts signals but no longer writes anything. */
const hasEnded = ([state]: readonly string[]): boolean => state === "Z" || state === "X";

/** Whether any process of the group is running, even if its leader has ended. On Linux, zombies do not count. */
export async function isGroupRunning(leader: number): Promise<boolean> {
  if (!takesSignals(-leader)) return false;
  if (process.platform !== "linux") return true;
  try {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
    return stats.map(fieldsFrom3).some((fields) => fields[5 - 3] === String(leader) && !hasEnded(fields));
  } catch {
    return true;
  }
}

async function startFromPs(pid: number): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  try {
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)], {
      env,
      timeout: processListMs,
    });
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
