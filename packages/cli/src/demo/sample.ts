import { execFile } from "node:child_process";
import { cp, realpath } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { testCommand } from "./facts.ts";

/** As far up from the sources as from what is built from them. */
const sample = fileURLToPath(new URL("../../sample-project", import.meta.url));

/** A copy to work on; where it really is. */
export async function copySample(folder: string): Promise<string> {
  await cp(sample, folder, { recursive: true });
  return await realpath(folder);
}

/** This Node in front: the tests need no other, and the person may have an older one. */
export const pathWithNode = (): string => [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);

export interface TestRun {
  readonly passed: number;
  readonly failed: number;
}

/** The project's tests, run by the demo itself: what the model says of them is not taken on trust. */
export async function testsIn(cwd: string, signal: AbortSignal): Promise<TestRun> {
  const output = await promisify(execFile)(process.execPath, testCommand.split(" ").slice(1), {
    cwd,
    signal,
    env: { PATH: pathWithNode() },
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => stdoutOf(error),
  );
  signal.throwIfAborted();
  return { passed: figureIn(output, "pass"), failed: figureIn(output, "fail") };
}

/** Tests that fail end the process with 1, which is no failure here. */
function stdoutOf(error: unknown): string {
  if (error instanceof Error && "stdout" in error && typeof error.stdout === "string") return error.stdout;
  throw error;
}

function figureIn(output: string, name: "pass" | "fail"): number {
  const figure = new RegExp(`^ℹ ${name} (\\d+)$`, "m").exec(output)?.[1];
  if (figure === undefined) throw new Error("the sample project's tests did not run");
  return Number(figure);
}
