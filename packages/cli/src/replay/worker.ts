/**
 * A thread of `palimpsest replay`: receives jobs, replays them one after the other, and answers each with its outcome.
 */
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { openWorkspace } from "../host/workspace.ts";
import { replayFile } from "@palimpsest/lab/internal/replay-file";
import type { FileJob } from "./file-job.ts";
import { createReplayDeps, replayJob } from "./replay-job.ts";

const workspace = openWorkspace({ env: process.env, cwd: process.cwd() });

parentPort?.on("message", (job: FileJob) => {
  const deps = createReplayDeps(workspace, job.path);
  void replayJob({ replay: (request) => replayFile(deps, request) }, job).then((answer) =>
    // The rule means windows of a browser.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    parentPort?.postMessage(answer),
  );
});
