import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Appending {
  readonly folder: string;
  readonly session: string;
  readonly name: string;
  readonly count: number;
  /** `tell`: say each number that was appended. */
  readonly meanwhile: "tell" | "be quiet";
  /** `hold`: keep the session open until killed. */
  readonly afterwards: "close" | "hold";
  /** In blocks of the shell's `ulimit -f`. */
  readonly fileBlocksMax?: number;
}

export interface Child {
  readonly process: ChildProcess;
  /** The next line it says; undefined at its end. */
  readonly next: () => Promise<Record<string, unknown> | undefined>;
  readonly ended: Promise<void>;
}

/** A real process that writes to a session; killed at the end of the running test if it is still there. */
export function runAppend(options: Appending): Child {
  const script = fileURLToPath(new URL("./append.ts", import.meta.url));
  const { folder, session, name, count, meanwhile, afterwards } = options;
  const args = [script, folder, session, name, String(count), meanwhile, afterwards];
  const limit = options.fileBlocksMax === undefined ? "" : `ulimit -f ${options.fileBlocksMax}; `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", process.execPath, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const line = await lines.next();
    return line.done === true ? undefined : (JSON.parse(line.value) as Record<string, unknown>);
  };
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return { process: child, next, ended };
}
