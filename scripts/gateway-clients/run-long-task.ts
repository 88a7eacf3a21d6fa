import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launchSimulator } from "../../packages/simulator/src/launch-simulator.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { readTrace, type Trace } from "../../packages/simulator/src/trace/read-trace.ts";
import { fileLines } from "../../packages/simulator/src/trace/trace-writer.ts";
import { clientMillisMax, prompt, roundMillisMax } from "../real-clients/check-client.ts";
import type { OwnCompaction, RealClient } from "../real-clients/client.ts";
import { type ClientRun, runClient } from "../real-clients/run-client.ts";
import { clientScenario } from "../real-clients/scenario.ts";
import { type GatewayReport, startGateway } from "./gateway-process.ts";
import { startRecorder } from "./recorder.ts";

/**
 * `gateway`: through it, the client's own compaction off. `alone`: the same without the gateway. `own`: without it, and the
 * client compacts by its own means.
 */
export const wayNames = ["gateway", "alone", "own"] as const;
export type Way = (typeof wayNames)[number];

export interface LongTask {
  readonly client: RealClient;
  readonly model: string;
  readonly way: Way;
  readonly rounds: number;
  readonly installed: string;
  readonly folder: string;
  /** A file that gets the client's requests. */
  readonly record?: string | undefined;
}

export interface LongRun extends ClientRun {
  readonly trace: Trace;
  readonly windowTokens: number;
  readonly gateway: GatewayReport | undefined;
}

/** The upstream's window, in tokens. */
const windowTokensUsual = 60_000;
/** For a client's own compaction; some compact only when it is full. Claude Code's smallest is larger. */
const ownWindowTokensMin = 50_000;
/** About 1,700 tokens. */
const linesOfResult = 110;
const roundsBetweenRecalls = 50;
/** Without the gateway the window is full after a tenth of the rounds. */
const aloneMillisMax = 60_000;
/** The model that Claude Code takes by itself. */
const defaultModel = "claude-opus-5-5";

/** Gives a client a task of many rounds in a window that holds a tenth of it. */
export async function runLongTask(task: LongTask): Promise<LongRun> {
  const { client, model, way, rounds, folder, installed } = task;
  await mkdir(folder, { recursive: true });
  const trace = join(folder, "trace.jsonl");
  const ownWindowTokens = Math.max(ownWindowTokensMin, client.smallWindowTokens ?? 0);
  const windowTokens = way === "own" ? Math.max(windowTokensUsual, ownWindowTokens) : windowTokensUsual;
  const simulator = await launchSimulator({
    port: 0,
    responder: scriptResponder(
      clientScenario({ client, model, kind: "compaction", rounds, linesOfResult, roundsBetweenRecalls }),
    ),
    seed: 0,
    clock: "real",
    faults: [],
    trace,
    models: [{ id: model === "default" ? defaultModel : model, windowTokens }],
    onTraceError: (error) => {
      throw error;
    },
  });
  if (simulator.kind === "failed") throw new Error(simulator.message);
  const gateway =
    way === "gateway"
      ? await startGateway({ folder, upstream: simulator.url, contextTokens: windowTokens })
      : undefined;
  const target = gateway?.url ?? simulator.url;
  const recorder = task.record === undefined ? undefined : await startRecorder({ target, file: task.record });
  const compaction: OwnCompaction =
    way === "own" && client.smallWindowTokens !== undefined
      ? { kind: "on", windowTokens: ownWindowTokens }
      : { kind: "off" };
  const run = await runClient({
    client,
    installed,
    folder,
    baseUrl: recorder?.url ?? target,
    model,
    prompt,
    compaction,
    // A terminal whose task fails waits for its user.
    timeoutMillis: way === "alone" ? aloneMillisMax : clientMillisMax + rounds * roundMillisMax,
  });
  await recorder?.close();
  const report = await gateway?.stop();
  await simulator.close();
  const read = await readTrace(fileLines(trace));
  if (read.kind !== "trace") throw new Error(`the trace is ${read.kind}: ${read.message}`);
  return { ...run, trace: read.trace, windowTokens, gateway: report };
}
