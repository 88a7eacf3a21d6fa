/**
 * A thread of `palimpsest fidelity`: receives jobs, measures them one after the other, and answers each with its
 * outcome.
 */
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { openWorkspace } from "../host/workspace.ts";
import { measureFile } from "@palimpsest/lab/internal/fidelity/measure-fidelity";
import { createSessionRecall } from "@palimpsest/lab/internal/fidelity/judged-fact";
import { type JobOutcome, createReplayDeps } from "../replay/replay-job.ts";
import { type FidelityJob, writeMeasured } from "./fidelity-job.ts";

const workspace = openWorkspace({ env: process.env, cwd: process.cwd() });

/** Must not reject: a bug that one file triggers costs this file only. */
async function measureJob({ keptPath, ...job }: FidelityJob): Promise<JobOutcome> {
  try {
    await writeMeasured(
      keptPath,
      await measureFile({ ...createReplayDeps(workspace, job.path), newRecall: createSessionRecall }, job),
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
