import { spawn } from "node:child_process";
import { access, constants as modes, stat } from "node:fs/promises";
import { constants } from "node:os";
import { delimiter, join, resolve as resolvePath } from "node:path";
import process from "node:process";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";

export interface ClientProcess {
  readonly program: string;
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The terminal sends Ctrl-C to both programs; the client decides what to do with it. */
const ignore = (): void => undefined;

/**
 * Undefined if the program can be started, as far as the PATH tells. To be asked before a gateway is started for it. Without a
 * PATH the system has one of its own, and Windows adds endings to a name: then only the start tells.
 */
export async function checkProgram({ env, cwd }: CommandContext, program: string): Promise<Failure | undefined> {
  const folders = env["PATH"]?.split(delimiter);
  if (folders === undefined || process.platform === "win32") return undefined;
  for (const folder of folders) if (await isExecutable(join(resolvePath(cwd, folder), program))) return undefined;
  return notStarted(program, "it is not on the PATH");
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, modes.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

const notStarted = (program: string, why: string): Failure =>
  failure({
    code: exitCode.notFound,
    message: `${program} can't be started (${why})`,
    hint: "Install it, or put its folder on the PATH.",
  });

/** Runs the client in this terminal and passes on signals and its exit code. */
export function runClient({ env, cwd }: CommandContext, client: ClientProcess): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(client.program, client.args, { cwd, env: { ...env, ...client.env }, stdio: "inherit" });
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
    const release = (): void => {
      process.off("SIGINT", ignore).off("SIGQUIT", ignore).off("SIGTERM", pass).off("SIGHUP", pass);
    };
    process.on("SIGINT", ignore).on("SIGQUIT", ignore).on("SIGTERM", pass).on("SIGHUP", pass);
    child.once("error", (error) => {
      release();
      resolve(notStarted(client.program, error.message));
    });
    child.once("exit", (code, signal) => {
      release();
      resolve({ kind: "exit", code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) });
    });
  });
}
