import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { processListMs } from "../limits.ts";
import { codeOf } from "./failure.ts";

/** `started` tells a process from a later one with the same pid; undefined where the system does not tell. */
export type SeenProcess = { readonly kind: "dead" } | { readonly kind: "alive"; readonly started: string | undefined };

export type LookAtProcess = (pid: number) => Promise<SeenProcess>;

export const lookAtProcess: LookAtProcess = async (pid) => {
  if (!takesSignals(pid)) return { kind: "dead" };
  if (process.platform === "linux") return (await seenInProc(pid)) ?? { kind: "alive", started: undefined };
  return { kind: "alive", started: await startFromPs(pid) };
};

/** A process of another user counts as alive: the signal is refused, not lost. */
function takesSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

async function seenInProc(pid: number): Promise<SeenProcess | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    // The name in field 2 may hold spaces and brackets; behind its last bracket field 3 begins.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ticks] = [fields[0], fields[22 - 3]];
    // A zombie has ended and waits for its parent: it takes signals but writes nothing any more.
    if (state === "Z" || state === "X") return { kind: "dead" };
    // Ticks count from boot, so the boot belongs to it: a machine that starts the same way twice repeats pid and ticks.
    return { kind: "alive", started: ticks === undefined ? undefined : `${boot.trim()}/${ticks}` };
  } catch {
    return undefined;
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
