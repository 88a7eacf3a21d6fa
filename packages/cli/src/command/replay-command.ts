import { resolve } from "node:path";
import { needTable } from "palimpsest/internal/cache/need-table.data";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import { cacheNames, compactionNames, priceNames, refetchNames } from "@palimpsest/lab/internal/replay-outcome";
import { command, type Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { type JobOptions, createFileJob, rulesHash, prepareOutcomesFolder } from "../replay/file-job.ts";
import { roundsMinDefault } from "../replay/limits.ts";
import { parseReplayOptions, knownPolicies, policiesText } from "../replay/replay-options.ts";
import { replayVersion } from "@palimpsest/lab/internal/limits";
import { checkOutputPaths, findSessionFiles } from "../replay/session-files.ts";
import { showOutcomes } from "../replay/show-outcomes.ts";
import { hasKeptOutcomes, runJobs } from "../replay/run-jobs.ts";
import { threadHeapMb, startWorkerThread } from "../replay/run-pool.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { readOwnVersion } from "../program/read-own-version.ts";

export const replayCommand = command({
  name: "replay",
  summary: "what recorded sessions would have cost under other policies",
  operands: {
    paths: {
      shown: "file|folder|session",
      summary: "transcripts, folders with all below them, or sessions as `palimpsest view` takes them",
      takes: "some",
    },
  },
  options: {
    policy: { type: "string", shown: "list", summary: "policies with commas between them (default never,presets)" },
    prices: {
      type: "string",
      shown: priceNames.join("|"),
      summary: "lifetime of the cache that is paid for; several with commas between them (default 5m)",
    },
    window: { type: "string", shown: "n|none", summary: "tokens of the model's window: 200k, 1M (default 200k)" },
    refetch: {
      type: "string",
      shown: refetchNames.join("|"),
      summary: "what it costs when a result is needed that was cleared (default charged)",
    },
    cache: {
      type: "string",
      shown: cacheNames.join("|"),
      summary: "what can be read again: what was marked, or any common prefix (default marked)",
    },
    compaction: {
      type: "string",
      shown: compactionNames.join("|"),
      summary: "of a fixed size, or made from what was said, as without a model (default stand-in)",
    },
    jobs: {
      type: "string",
      shown: "n",
      summary: "files that are replayed at once (default: as many as the machine can)",
    },
    trace: { type: "string", shown: "folder", summary: "write the requests of each file to a file of JSON lines" },
    html: { type: "string", shown: "file", summary: "write a report with plots, one file that needs nothing else" },
    "rounds-min": {
      type: "string",
      shown: "n",
      summary: "sessions with fewer are left out of the figures (default 30; 1 where no folder is named)",
    },
    fresh: { type: "boolean", summary: "replay also what an earlier run has done" },
  },
  json: "an array with one object for each file, policy and prices",
  details: [
    "Recorded replies and results come in as they were recorded; a policy decides only what the model is shown. Money is counted in tokens at the base input price, by the cache of the simulator and with the gaps that were recorded.",
    policiesText,
    "Savings are against the policy never, or the first where it is not among those asked for. docs/replay.md defines every figure.",
    "Outcomes are kept for a while in the user's cache, so a run that was stopped goes on where it was. Files that hold no session are counted and passed over.",
    "Exit code 1: a file could not be replayed, none held a session, or the run was stopped. Exit code 3: there is no such file, folder or session, or no place for what is to be written.",
  ],
  run: async (context, { operands, options, format }): Promise<Outcome> => {
    const chosen = parseReplayOptions(options, knownPolicies);
    if (chosen.kind === "failure") return chosen;
    const found = await findSessionFiles(context, operands.paths);
    if (found.kind === "failure") return found;
    const html = options.html === undefined ? undefined : resolve(context.cwd, options.html);
    const traceFolder = options.trace === undefined ? undefined : resolve(context.cwd, options.trace);
    const pathFailure = await checkOutputPaths({
      file: html === undefined ? undefined : { path: html, what: "report" },
      traceFolder,
    });
    if (pathFailure !== undefined) return pathFailure;

    const folders = { keptFolder: await prepareOutcomesFolder(context.env, Date.now()), traceFolder };
    const rules = rulesHash({ policies: chosen.policies.flatMap((name) => findPolicy(name) ?? []), needTable });
    const jobOptions: JobOptions = { ...chosen, ...folders, rules, version: `${readOwnVersion()} ${replayVersion}` };
    const jobs = found.files.map((file) => createFileJob(file, jobOptions));
    const threadsMax = Math.min(chosen.jobs, jobs.length);
    const stop = stopSignal();
    const done = await runJobs(
      {
        start: () => startWorkerThread({ module: workerModule, heapMb: threadHeapMb(threadsMax) }),
        isKept: hasKeptOutcomes,
        nowMillis: () => performance.now(),
        err: context.err,
      },
      { jobs, threadsMax, kept: options.fresh ? "again" : "use", signal: stop.signal },
    );
    stop.release();
    const roundsMin = chosen.roundsMin ?? (found.named === "one by one" ? 1 : roundsMinDefault);
    const counting = { baseline: chosen.baseline, roundsMin };
    const { replayed, failed } = await showOutcomes(context, { jobs, done, counting, format, html });
    const isComplete = !stop.signal.aborted && failed === 0 && replayed > 0;
    return isComplete ? exitCode.fine : exitCode.negative;
  },
});

/** With this file's own extension: the sources run as they are, the published package as JavaScript. */
const workerModule = new URL(`../replay/worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
