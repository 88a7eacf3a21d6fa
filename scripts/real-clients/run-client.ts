import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ClientAnswer, ClientStart, ClientTask, Places, RealClient } from "./client.ts";
import { pathWithThisNode } from "./install.ts";
import { runInTerminal } from "./run-in-terminal.ts";
import { type ProcessInput, runProcess } from "./run-process.ts";

export interface RunOptions extends ClientTask {
  readonly client: RealClient;
  /** Where it is installed. */
  readonly installed: string;
  /** Gets a home and a working directory; must not exist yet. */
  readonly folder: string;
  readonly timeoutMillis: number;
}

export interface ClientRun {
  /** Null if it did not end in time. */
  readonly exitCode: number | null;
  readonly wallMillis: number;
  readonly answer: ClientAnswer;
  readonly stdout: string;
  readonly stderr: string;
}

/** Gives a client one task, with an empty home, and waits until it has ended. */
export async function runClient(options: RunOptions): Promise<ClientRun> {
  const { client, folder, installed, timeoutMillis } = options;
  const start = client.start(options);
  const places = { home: join(folder, "home"), work: join(folder, "work") };
  await writeFiles(start, places);
  const env = { ...start.env, HOME: places.home, PATH: pathWithThisNode("/usr/local/bin:/usr/bin:/bin") };
  const input: ProcessInput = { ...programCommand(start, installed), places, env, timeoutMillis };
  const startedAt = performance.now();
  const outcome = start.terminal === undefined ? await runProcess(input) : await runInTerminal(input, start.terminal);
  const { exitCode, stdout, stderr } = outcome;
  return { exitCode, stdout, stderr, wallMillis: performance.now() - startedAt, answer: client.readAnswer(outcome) };
}

async function writeFiles({ files }: ClientStart, places: Places): Promise<void> {
  for (const place of [places.home, places.work]) await mkdir(place, { recursive: true });
  for (const { in: place, path, content } of files) {
    const file = join(places[place], path);
    const value = content(places);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof value === "string" ? value : JSON.stringify(value));
  }
}

const programCommand = (
  { program, args }: ClientStart,
  installed: string,
): { readonly program: string; readonly args: readonly string[] } =>
  program.kind === "bin"
    ? { program: join(installed, "node_modules", ".bin", program.name), args }
    : { program: process.execPath, args: [join(installed, "drivers", `${program.name}.ts`), ...args] };
