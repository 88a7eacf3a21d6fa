import { execFile } from "node:child_process";
import { z } from "zod";

/** The task of a driver, its only argument. */
const form = z.object({
  baseUrl: z.string(),
  model: z.string(),
  prompt: z.string(),
  api: z.enum(["messages", "responses", "chat"]),
  compaction: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("off") }),
    z.object({ kind: z.literal("on"), windowTokens: z.number() }),
  ]),
});

export const task = form.parse(JSON.parse(process.argv[2] ?? ""));

/** Undefined if the library's own compaction is off. */
export const windowTokens = task.compaction.kind === "on" ? task.compaction.windowTokens : undefined;

export const apiKey = "sk-none";
/** Long enough for a prompt that is cached. */
export const instructions = "You run commands in the shell, one at a time, and report what they print. ".repeat(120);
export const bashDescription = "Runs a command in the shell.";
export const roundsMax = 10_000;
export const outputTokensMax = 8_192;

const outputBytesMax = 10_000_000;

/** A failed command has an output too. */
export const runShell = (command: string): Promise<string> =>
  new Promise((resolve) => {
    execFile("bash", ["-c", command], { maxBuffer: outputBytesMax }, (error, stdout, stderr) =>
      resolve(`${stdout}${stderr}${error === null ? "" : error.message}`),
    );
  });

export const printAnswer = (answer: string): void => void process.stdout.write(`${JSON.stringify({ answer })}\n`);
