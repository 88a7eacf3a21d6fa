import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launchSimulator } from "../../packages/simulator/src/launch-simulator.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { readTrace, type Trace } from "../../packages/simulator/src/trace/read-trace.ts";
import { fileLines } from "../../packages/simulator/src/trace/trace-writer.ts";
import type { RealClient } from "./client.ts";
import { type ClientRun, runClient } from "./run-client.ts";
import { clientScenario, type RunKind } from "./scenario.ts";

export interface CheckOptions {
  readonly client: RealClient;
  readonly model: string;
  readonly kind: RunKind;
  readonly rounds?: number | undefined;
  readonly installed: string;
  /** Holds the home, the working directory and the trace of this run. */
  readonly folder: string;
}

export interface CheckedRun extends ClientRun {
  readonly trace: Trace;
}

export const prompt = "Run the probe in the shell.";
/** Several times what the slowest client took, and as much for each round. */
export const clientMillisMax = 150_000;
export const roundMillisMax = 5_000;

/** Gives a client one task; its API is a simulator that is started for this run. */
export async function checkClient(options: CheckOptions): Promise<CheckedRun> {
  const { client, model, kind, rounds, folder, installed } = options;
  await mkdir(folder, { recursive: true });
  const tracePath = join(folder, "trace.jsonl");
  const simulator = await launchSimulator({
    port: 0,
    responder: scriptResponder(clientScenario({ client, model, kind, ...(rounds === undefined ? {} : { rounds }) })),
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
  const windowTokens = kind === "compaction" ? client.smallWindowTokens : undefined;
  const run = await runClient({
    client,
    installed,
    folder,
    baseUrl: simulator.url,
    model,
    prompt,
    compaction: windowTokens === undefined ? { kind: "off" } : { kind: "on", windowTokens },
    timeoutMillis: clientMillisMax + (rounds ?? 0) * roundMillisMax,
  });
  await simulator.close();
  const read = await readTrace(fileLines(tracePath));
  if (read.kind !== "trace") throw new Error(`the trace is ${read.kind}: ${read.message}`);
  return { ...run, trace: read.trace };
}
