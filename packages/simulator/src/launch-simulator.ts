import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { Responder } from "./responder/responder.ts";
import { realClock, virtualClock } from "./simulator-clock.ts";
import type { ExtensionOptions } from "./extension.ts";
import { FaultChoice, parseProbableFaults } from "./fault/fault.ts";
import { serveSimulator } from "./http/serve-simulator.ts";
import { Simulator } from "./simulator.ts";
import { openTraceFile, type TraceFile, TraceWriter } from "./trace/trace-writer.ts";

export interface LaunchOptions {
  readonly port: number;
  readonly hostname?: string | undefined;
  readonly responder: Responder;
  readonly seed: number;
  readonly clock: "real" | "virtual";
  /** For example `overloaded 0.1`. */
  readonly faults: readonly string[];
  /** Path of a file that does not exist yet. */
  readonly trace?: string | undefined;
  readonly models: readonly ModelOverride[];
  readonly extensions?: ExtensionOptions;
  readonly onTraceError: (error: Error) => void;
}

export type LaunchOutcome =
  | { readonly kind: "serving"; readonly url: string; close(): Promise<void> }
  /** `code`: `usage`, `exists`, or the operating system's error code. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** Starts a simulator that serves HTTP, with its clock, faults and trace. */
export async function launchSimulator(options: LaunchOptions): Promise<LaunchOutcome> {
  const { seed, responder, models, extensions } = options;
  const faults = parseProbableFaults(options.faults);
  if (faults.kind === "wrong") return { kind: "failed", code: "usage", message: faults.message };
  const clock = options.clock === "virtual" ? virtualClock() : realClock();
  const traced = await openTrace(options);
  if (traced.kind === "failed") return traced;
  const choice = new FaultChoice({ seed, faults: faults.faults });
  const simulator = new Simulator({
    responder,
    seed,
    clock,
    models,
    ...extensions,
    faults: choice,
    trace: traced.trace,
  });
  const { port, hostname } = options;
  const serving = await serveSimulator(simulator, { port, hostname });
  if (serving.kind === "failed") {
    await traced.file?.close();
    return serving;
  }
  // Only now: if the port is in use, the trace file stays empty and does not block the next try.
  await traced.trace?.begin({ seed, startedAt: clock.now() });
  const close = async (): Promise<void> => {
    await serving.close();
    await traced.file?.close();
  };
  return { kind: "serving", url: serving.url, close };
}

type OpenTraceOutcome =
  | { readonly kind: "traced"; readonly trace?: TraceWriter; readonly file?: TraceFile }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

async function openTrace({ trace: path, onTraceError: onError }: LaunchOptions): Promise<OpenTraceOutcome> {
  if (path === undefined) return { kind: "traced" };
  const opened = await openTraceFile({ path, onError }).catch(openTraceFailure);
  if (opened.kind === "failed") return opened;
  if (opened.kind === "exists") return { kind: "failed", code: "exists", message: `${path} is there already` };
  return { kind: "traced", file: opened.file, trace: new TraceWriter({ write: opened.file.write }) };
}

/** Errors of the operating system have a code; anything else is a bug. */
function openTraceFailure(error: unknown): {
  readonly kind: "failed";
  readonly code: string;
  readonly message: string;
} {
  if (!(error instanceof Error) || !("code" in error)) throw error;
  return { kind: "failed", code: String(error.code), message: error.message };
}
