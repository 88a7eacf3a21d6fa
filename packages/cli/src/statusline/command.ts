import { setTimeout as wait } from "node:timers/promises";
import { runHookProcess } from "../tool/hooks/process.ts";
import { statuslineTimeoutMs } from "./limits.ts";
import type { StatuslineDeps } from "./statusline.ts";

export interface StatuslineCommand {
  readonly command: string;
  readonly shell: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** As hooks run: a process group of its own, ended as a whole. */
export const statuslineDeps = (command: StatuslineCommand): StatuslineDeps => ({
  run: (input, signal) => runHookProcess({ ...command, input, timeoutMs: statuslineTimeoutMs, signal }),
  // An abort is how it is told that it is not needed any more.
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}),
});
