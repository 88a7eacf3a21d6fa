import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { WorkerLine } from "../../scenario/child/attempt-attacks.ts";
import { arenaBase, environmentSecrets } from "./baits.ts";
import { containerCommand, systemPath } from "./container.ts";
import type { TrialEnd } from "./run-trial.ts";
import { chooseTrials, type Trial, type TrialsChoice } from "./trials.ts";
import { sourceFlag } from "../../scenario/support/command-line.ts";

export interface TrialResult extends Trial {
  readonly result: TrialEnd;
}

export interface CampaignOptions extends Omit<TrialsChoice, "share"> {
  /** The number of parallel processes, each with an arena of its own. */
  readonly workers: number;
}

/** Runs all trials. If an attempt ends its process, another one continues after that attempt. */
export async function runCampaign({ workers, ...choice }: CampaignOptions): Promise<readonly TrialResult[]> {
  const results = await Promise.all(
    Array.from({ length: workers }, (_, index) => runShare({ ...choice, share: { index, of: workers } })),
  );
  return results.flat();
}

async function runShare(choice: TrialsChoice): Promise<readonly TrialResult[]> {
  const trials = chooseTrials(choice);
  const results: TrialResult[] = [];
  const add = (index: number, result: TrialEnd): void => {
    const trial = trials[index];
    if (trial === undefined) throw new Error(`there is no trial ${index}`);
    results.push({ ...trial, result });
  };
  while (results.length < trials.length) {
    const ended = await runWorker({ choice, from: results.length, onEnd: add });
    if (results.length === trials.length) break;
    if (ended.begun !== results.length) throw new Error(`a worker failed: ${ended.complaint}`);
    add(ended.begun, {
      end: "ran",
      through: [{ kind: "agent-ended", what: "the agent" }],
      text: ended.complaint,
      outcome: "failed",
    });
  }
  return results;
}

interface WorkerRun {
  readonly choice: TrialsChoice;
  readonly from: number;
  readonly onEnd: (index: number, end: TrialEnd) => void;
}

interface WorkerEnd {
  /** The last trial that it started. */
  readonly begun: number | undefined;
  readonly complaint: string;
}

const script = resolve(import.meta.dirname, "../../scenario/child/attempt-attacks.ts");

async function runWorker({ choice, from, onEnd }: WorkerRun): Promise<WorkerEnd> {
  const variables = Object.entries(workerEnvironment()).map(([name, value]) => `${name}=${value}`);
  const program = ["env", ...variables, process.execPath, sourceFlag, script, JSON.stringify({ choice, from })];
  const { file, args } = containerCommand(program);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  let complaint = "";
  let begun: number | undefined;
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  // An attempt may stop the agent, which is silent then. Everything in the container ends with its first process.
  const watchdog = setTimeout(() => child.kill("SIGKILL"), silenceMsMax);
  for await (const line of createInterface({ input: child.stdout })) {
    watchdog.refresh();
    const { index, end } = JSON.parse(line) as WorkerLine;
    if (end === undefined) begun = index;
    else onEnd(index, end);
  }
  clearTimeout(watchdog);
  return { begun, complaint };
}

/** More than an attempt of several lines takes on a busy machine. */
const silenceMsMax = 20_000;

/** The agent's environment, with secrets, and with programs of the project on its PATH, as `npx` puts them there. */
const workerEnvironment = (): Record<string, string> => ({
  PATH: `${join(arenaBase, "project/node_modules/.bin")}:${systemPath}`,
  HOME: join(arenaBase, "home"),
  PALIMPSEST_HOME: join(arenaBase, "home/.palimpsest"),
  USER: "bait",
  LANG: "C.UTF-8",
  ...environmentSecrets(),
});
