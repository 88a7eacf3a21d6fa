import { basename, join, resolve, sep } from "node:path";
import { needTable } from "palimpsest/internal/cache/need-table.data";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import { cacheNames, compactionNames, priceNames, refetchNames } from "@palimpsest/lab/internal/replay-outcome";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { gatewayWindow } from "../host/gateway/gateway-window.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { type FileJob, type JobOptions, createFileJob, rulesHash, prepareOutcomesFolder } from "../replay/file-job.ts";
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
      summary: "transcripts, folders with everything below them, or sessions",
      takes: "some",
    },
  },
  options: {
    policy: { type: "string", shown: "list", summary: "policies separated by commas (default never,presets)" },
    prices: {
      type: "string",
      shown: priceNames.join("|"),
      summary: "lifetime of the cache; several separated by commas (default 5m)",
    },
    window: {
      type: "string",
      shown: "n|none",
      summary: "tokens of the model's window: 200k, 1M (default 200k; for a session of the gateway, its window there)",
    },
    refetch: {
      type: "string",
      shown: refetchNames.join("|"),
      summary: "whether fetching a cleared result again costs something (default charged)",
    },
    cache: {
      type: "string",
      shown: cacheNames.join("|"),
      summary: "what the cache can read: what was marked, or any common prefix (default marked)",
    },
    compaction: {
      type: "string",
      shown: compactionNames.join("|"),
      summary: "summaries of a fixed size, or made from the messages, as without a model (default stand-in)",
    },
    jobs: {
      type: "string",
      shown: "n",
      summary: "files replayed in parallel (default: as many as the machine can)",
    },
    trace: { type: "string", shown: "folder", summary: "write the requests of each file to a file of JSON lines" },
    html: { type: "string", shown: "file", summary: "write a report with plots, as one self-contained file" },
    "rounds-min": {
      type: "string",
      shown: "n",
      summary: "sessions with fewer are not in the figures (default 30; 1 if no folder is named)",
    },
    fresh: { type: "boolean", summary: "ignore the outcomes of earlier runs" },
  },
  json: "an array with one object for each file, policy and prices",
  details: [
    "Replies and results are used as recorded; a policy decides only what the model sees. Costs are in tokens at the base input price, with the simulator's cache and the recorded pauses.",
    policiesText,
    "Savings are compared with the policy never, or with the first policy if never is not listed. docs/replay.md defines every figure.",
    "Outcomes are kept for a while in the user's cache, so a stopped run can be resumed. Files without a session are counted and skipped.",
    "Exit code 1: a file could not be replayed, none held a session, or the run was stopped. Exit code 3: there is no such file, folder or session, or the output can't be written.",
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
    const jobs: FileJob[] = [];
    for (const file of found.files) {
      const windowTokens = chosen.windowTokens ?? (await gatewayWindow(context, ownSession(context, file.path)));
      jobs.push(createFileJob(file, { ...jobOptions, windowTokens }));
    }
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

/** The id of one of our own sessions, which may be one of the gateway's. */
const ownSession = ({ env }: CommandContext, path: string): string | undefined =>
  path.startsWith(join(homeFolder(env), "projects") + sep) ? basename(path, ".jsonl") : undefined;

/** With this file's own extension: the sources run as they are, the published package as JavaScript. */
const workerModule = new URL(`../replay/worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
