/** Tries attacks in one arena, with the secrets of its environment in it, and tells of each in a line of JSON. */
import { isContained } from "../../support/attacks/container.ts";
import { openStage, runTrial, type TrialEnd } from "../../support/attacks/run-trial.ts";
import { arenaFor, chooseTrials, type WorkerOrder } from "../../support/attacks/trials.ts";

/** That a trial begins, so that it is known which one ended this process; then what became of it. */
export type WorkerLine =
  | { readonly index: number; readonly end?: undefined }
  | { readonly index: number; readonly end: TrialEnd };

if (!isContained()) throw new Error("attacks are tried in their container, nowhere else");

const order = JSON.parse(process.argv[2] ?? "") as WorkerOrder;
const tell = (line: WorkerLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const stage = await openStage(arenaFor[order.choice.lines]);
for (const [index, trial] of chooseTrials(order.choice).entries()) {
  if (index < order.from) continue;
  tell({ index });
  tell({ index, end: await runTrial(stage, trial) });
}
// What listens and runs here goes with the container, which ends with this process.
process.exit();
