/** A thread of `palimpsest fidelity`: gets jobs, measures them one after the other, answers each with what became of it. */
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { createEngine } from "../host/engine.ts";
import { measureFile } from "@palimpsest/lab/internal/fidelity/measure-file";
import { sessionRecall } from "@palimpsest/lab/internal/fidelity/session-recall";
import type { JobAnswer } from "../replay/replay-job.ts";
import { replayDepsFor } from "../replay/replay-deps.ts";
import type { FidelityJob } from "./job.ts";
import { keepMeasured } from "./kept.ts";

const engine = createEngine({ env: process.env, cwd: process.cwd() });

/** Must not reject: a bug that one file brings to light costs this file only. */
async function measureJob({ keptPath, ...job }: FidelityJob): Promise<JobAnswer> {
  try {
    await keepMeasured(
      keptPath,
      await measureFile({ ...replayDepsFor(engine, job.path), newRecall: sessionRecall }, job),
    );
    return { kind: "kept" };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on("message", (job: FidelityJob) => {
  // The rule means windows of a browser.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  void measureJob(job).then((answer) => parentPort?.postMessage(answer));
});
