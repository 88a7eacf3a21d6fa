import { resolve } from "node:path";
import { needTable } from "palimpsest/internal/cache/need-table.data";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import {
  compactionsDefault,
  fidelityVersion,
  replayVersion,
  windowTokensDefault,
} from "@palimpsest/lab/internal/limits";
import { summariserNames } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { command, type Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import {
  type FidelityJob,
  createFidelityJob,
  type FidelityJobOptions,
  readMeasured,
} from "../fidelity/fidelity-job.ts";
import { parseFidelityOptions } from "../fidelity/fidelity-options.ts";
import { showMeasured } from "../fidelity/show-measured.ts";
import { rulesHash, prepareOutcomesFolder } from "../replay/file-job.ts";
import { knownPolicies, policiesText } from "../replay/replay-options.ts";
import { checkOutputPaths, findSessionFiles } from "../replay/session-files.ts";
import { runJobs } from "../replay/run-jobs.ts";
import { threadHeapMb, startWorkerThread } from "../replay/run-pool.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { readOwnVersion } from "../program/read-own-version.ts";

export const fidelityCommand = command({
  name: "fidelity",
  summary: "what is left of recorded sessions after compactions, by policy",
  operands: {
    paths: {
      shown: "file|folder|session",
      summary: "transcripts, folders with everything below them, or sessions",
      takes: "some",
    },
  },
  options: {
    policy: { type: "string", shown: "list", summary: "policies separated by commas (default presets)" },
    compactions: {
      type: "string",
      shown: "list",
      summary: `after which compactions of a session (default ${compactionsDefault.join(",")})`,
    },
    window: { type: "string", shown: "n|none", summary: "tokens of the model's window: 200k, 1M (default 200k)" },
    summariser: {
      type: "string",
      shown: summariserNames.join("|"),
      summary: "what writes the summaries of all policies (default rules)",
    },
    jobs: {
      type: "string",
      shown: "n",
      summary: "files measured in parallel (default: as many as the machine can)",
    },
    svg: { type: "string", shown: "file", summary: "draw what is shown after each compaction" },
    fresh: { type: "boolean", summary: "ignore the outcomes of earlier runs" },
  },
  json: "an array with one object for each file, policy and compaction",
  details: [
    "Sessions are replayed as by `palimpsest replay`, with real compactions. After each chosen one, every fact of the part that it covers is shown verbatim, recoverable (by an id in the view, or by recall) or lost.",
    "All policies have the same summariser; ledger, audit and restored files are each policy's own. To reach the tenth compaction in a short session, take a smaller --window: the output says which. docs/fidelity.md defines every figure.",
    policiesText,
    "Outcomes are kept for a while in the user's cache, so a stopped run can be resumed. Files without a session are counted and skipped.",
    "Exit code 1: a file could not be measured, none held a session, or the run was stopped. Exit code 3: there is no such file, folder or session, or no place for the drawing.",
  ],
  run: async (context, { operands, options, format }): Promise<Outcome> => {
    const chosen = parseFidelityOptions(options, knownPolicies);
    if (chosen.kind === "failure") return chosen;
    const found = await findSessionFiles(context, operands.paths);
    if (found.kind === "failure") return found;
    const svg = options.svg === undefined ? undefined : resolve(context.cwd, options.svg);
    const pathFailure = await checkOutputPaths({
      file: svg === undefined ? undefined : { path: svg, what: "drawing" },
      traceFolder: undefined,
    });
    if (pathFailure !== undefined) return pathFailure;

    const rules = rulesHash({ policies: chosen.policies.flatMap((name) => findPolicy(name) ?? []), needTable });
    const version = `${readOwnVersion()} ${replayVersion} ${fidelityVersion}`;
    const keptFolder = await prepareOutcomesFolder(context.env, Date.now());
    const jobOptions: FidelityJobOptions = { ...chosen, rules, version, keptFolder };
    const jobs = found.files.map((file) => createFidelityJob(file, jobOptions));
    const threadsMax = Math.min(chosen.jobs, jobs.length);
    const stop = stopSignal();
    const done = await runJobs<FidelityJob>(
      {
        start: () => startWorkerThread({ module: workerModule, heapMb: threadHeapMb(threadsMax) }),
        isKept: async ({ keptPath }) => (await readMeasured(keptPath)) !== undefined,
        nowMillis: () => performance.now(),
        err: context.err,
      },
      { jobs, threadsMax, kept: options.fresh ? "again" : "use", signal: stop.signal },
    );
    stop.release();
    const { summariser, compactions, windowTokens } = chosen;
    const under = { window: windowTokens ?? windowTokensDefault, summariser, compactions };
    const { replayed, failed } = await showMeasured(context, { jobs, done, under, format, svg });
    const isComplete = !stop.signal.aborted && failed === 0 && replayed > 0;
    return isComplete ? exitCode.fine : exitCode.negative;
  },
});

/** With this file's own extension: the sources run as they are, the published package as JavaScript. */
const workerModule = new URL(`../fidelity/worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
