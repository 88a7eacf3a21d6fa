/** A thread of `palimpsest replay`: gets jobs, replays them one after the other, answers each with what became of it. */
import { dirname, join, sep } from "node:path";
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { createEngine, sha256 } from "../../engine.ts";
import { replayFile } from "../../replay/replay-file.ts";
import { fileBlobs } from "../../store/files/blobs.ts";
import type { FileJob } from "./job.ts";
import { replayJob } from "./replay-job.ts";

const engine = createEngine({ env: process.env, cwd: process.cwd() });
const ownSessions = join(engine.home, "projects") + sep;

parentPort?.on("message", (job: FileJob) => {
  // Sessions of ours keep large results beside them; nothing is written, so nothing needs to last.
  const blobs = job.path.startsWith(ownSessions)
    ? { blobs: fileBlobs({ folder: dirname(job.path), durability: "never" }) }
    : {};
  const deps = { sha256, open: (path: string) => engine.openFile(path), ...blobs };
  void replayJob({ replay: (request) => replayFile(deps, request) }, job).then((answer) =>
    // The rule means windows of a browser.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    parentPort?.postMessage(answer),
  );
});
