import type { ShellEnd } from "./run.ts";

/** How a command ended, for the model; empty where there is nothing to say. */
export function endWords({ how }: Pick<ShellEnd, "how">, timeoutMs: number): string {
  switch (how.kind) {
    case "exited":
      return how.code === 0 ? "" : `exit code ${how.code}`;
    case "killed":
      return `ended by ${how.signal}`;
    case "timed-out":
      return `ended after ${timeoutMs} ms, its time limit`;
    case "aborted":
      return "interrupted";
    case "not-started":
      return `the shell could not be started: ${how.why}`;
  }
}
