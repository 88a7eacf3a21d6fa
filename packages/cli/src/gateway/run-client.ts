import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";

export interface ClientProcess {
  readonly program: string;
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The terminal sends Ctrl-C to both programs; the client decides what to do with it. */
const ignore = (): void => undefined;

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
      resolve(
        failure({
          code: exitCode.notFound,
          message: `${client.program} can't be started (${error.message})`,
          hint: "Install it, or put its folder on the PATH.",
        }),
      );
    });
    child.once("exit", (code, signal) => {
      release();
      resolve({ kind: "exit", code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) });
    });
  });
}
