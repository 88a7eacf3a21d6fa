/** A thread of `palimpsest replay`: gets jobs, replays them one after the other, answers each with what became of it. */
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { createEngine } from "../host/engine.ts";
import { replayFile } from "@palimpsest/lab/internal/replay-file";
import type { FileJob } from "./job.ts";
import { replayDepsFor } from "./replay-deps.ts";
import { replayJob } from "./replay-job.ts";

const engine = createEngine({ env: process.env, cwd: process.cwd() });

parentPort?.on("message", (job: FileJob) => {
  const deps = replayDepsFor(engine, job.path);
  void replayJob({ replay: (request) => replayFile(deps, request) }, job).then((answer) =>
    // The rule means windows of a browser.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    parentPort?.postMessage(answer),
  );
});
