import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { launchSimulator } from "../../packages/simulator/src/launch-simulator.ts";
import { formatScenarioProblem } from "../../packages/simulator/src/scenario/scenario-form.ts";
import { readScenario } from "../../packages/simulator/src/scenario/read-scenario.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { readTrace, type Trace } from "../../packages/simulator/src/trace/read-trace.ts";
import { fileLines } from "../../packages/simulator/src/trace/trace-writer.ts";
import type { Command, RealClient, Told } from "./client.ts";
import { pathWithThisNode } from "./install.ts";

export interface Run {
  /** Null if it did not end in time. */
  readonly exitCode: number | null;
  readonly wallMillis: number;
  readonly told: Told;
  readonly stderr: string;
  readonly trace: Trace;
}

export interface RunOptions {
  readonly client: RealClient;
  readonly model: string;
  readonly program: string;
  /** Holds the home, the working directory and the trace of this run. */
  readonly folder: string;
}

const scenarioFile = join(import.meta.dirname, "../../examples/scenarios/real-client.yaml");
const prompt = "Run the probe in the shell.";
/** Ten times what the slowest client took. */
const clientMillisMax = 120_000;

/** Asks a client one question; its API is a simulator started for this run. */
export async function runClient({ client, model, program, folder }: RunOptions): Promise<Run> {
  const reading = await readScenario(scenarioFile);
  if (reading.kind !== "scenario") throw new Error(reading.problems.map(formatScenarioProblem).join("\n"));
  await mkdir(folder, { recursive: true });
  const tracePath = join(folder, "trace.jsonl");
  const simulator = await launchSimulator({
    port: 0,
    responder: scriptResponder(reading.scenario),
    seed: 0,
    clock: "real",
    faults: [],
    trace: tracePath,
    models: [],
    onTraceError: (error) => {
      throw error;
    },
  });
  if (simulator.kind === "failed") throw new Error(simulator.message);
  const command = client.command({ url: simulator.url, model, prompt });
  const { stdout, ...run } = await execute(command, { program, folder });
  await simulator.close();
  const read = await readTrace(fileLines(tracePath));
  if (read.kind !== "trace") throw new Error(`the trace is ${read.kind}: ${read.message}`);
  return { ...run, told: client.told(stdout), trace: read.trace };
}

interface ProcessOutcome extends Pick<Run, "exitCode" | "wallMillis" | "stderr"> {
  readonly stdout: string;
}

async function execute(
  command: Command,
  { program, folder }: Pick<RunOptions, "program" | "folder">,
): Promise<ProcessOutcome> {
  const places = { home: join(folder, "home"), work: join(folder, "work") };
  for (const place of Object.values(places)) await mkdir(place);
  for (const { in: place, path, content } of command.files) {
    const file = join(places[place], path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(content));
  }
  const startedAt = performance.now();
  const child = spawn(program, command.args, {
    cwd: places.work,
    env: { ...command.env, HOME: places.home, PATH: pathWithThisNode("/usr/local/bin:/usr/bin:/bin") },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: clientMillisMax,
    killSignal: "SIGKILL",
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { ...output, exitCode, wallMillis: performance.now() - startedAt };
}
