import { spawn } from "node:child_process";
import type { ClientOutput, Places } from "./client.ts";

/** What a process wrote, and how it ended. */
export interface ProcessOutcome extends ClientOutput {
  readonly exitCode: number | null;
  readonly stderr: string;
}

export interface ProcessInput {
  readonly program: string;
  readonly args: readonly string[];
  readonly places: Places;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMillis: number;
}

/** Runs a program without input until it ends. */
export async function runProcess({ program, args, places, env, timeoutMillis }: ProcessInput): Promise<ProcessOutcome> {
  const child = spawn(program, args, {
    cwd: places.work,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMillis,
    killSignal: "SIGKILL",
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { ...output, endFile: "", exitCode };
}
