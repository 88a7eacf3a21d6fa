import { basename, resolve } from "node:path";
import { quantile, sum } from "../packages/lab/src/statistics.ts";
import type { RecordedRound } from "../packages/lab/src/recording/recording.ts";
import { describeCall } from "../packages/palimpsest/src/layers/7-agents/describe-call.ts";
import { judgeProgress } from "../packages/palimpsest/src/layers/7-agents/judge-progress.ts";
import { progressEveryMs } from "../packages/palimpsest/src/layers/7-agents/limits.ts";
import { compareProgressCalls, newestCall, renderNewest } from "../packages/palimpsest/src/layers/7-agents/progress.ts";
import type { Message } from "../packages/palimpsest/src/schema/block.ts";
import { estimateBlock } from "../packages/palimpsest/src/tokens/estimate-block.ts";
import { findCheapestModel, findModel } from "../packages/palimpsest/src/tokens/known-models.ts";
import { recordingsBelow } from "./need-table.ts";

/**
 * How often a progress line can be made of the newest call alone, and what a model's line would cost, over recorded
 * sessions as if each were a background agent. `node scripts/progress-windows.ts <model> <folder>…` prints the table of
 * docs/layers/7-agents.md; nothing is written.
 */
export interface ProgressWindows {
  /** Times, every 30 seconds while the agent works, at which something was said since the last one. */
  due: number;
  /** The newest call names a file or function: its line passes the rules for a model's line. */
  named: number;
  /** Another line can be made of it: "Running npm test". */
  other: number;
  /** Times at which nothing new was said. */
  unchanged: number;
  /** Times at which a fork would cost less than the small call. */
  forks: number;
  readonly forkNanos: number[];
  readonly smallNanos: number[];
  /** What the agent's own requests cost by the same prices. */
  agentNanos: number;
}

export const noWindows = (): ProgressWindows => ({
  due: 0,
  named: 0,
  other: 0,
  unchanged: 0,
  forks: 0,
  forkNanos: [],
  smallNanos: [],
  agentNanos: 0,
});

/** A pause of the user's, or a command that takes this long, is no work that is watched. */
const gapMsMax = 10 * 60_000;

type WatchedRound = Pick<RecordedRound, "at" | "opens" | "usage" | "outputTokens"> & {
  readonly messages: readonly Message[];
};

/** Adds one session. `model`: for the prices. */
export function addWindows(windows: ProgressWindows, rounds: readonly WatchedRound[], model: string): void {
  const known = findModel(model);
  const messages: Message[] = [];
  let mark = 0;
  let contextTokens = 0;
  for (const [at, round] of rounds.entries()) {
    messages.push(...round.messages);
    contextTokens =
      round.usage === undefined ? contextTokens : round.usage.input + round.usage.cacheRead + round.usage.cacheWrite;
    if (known !== undefined && round.usage !== undefined)
      windows.agentNanos +=
        1_000 *
        (round.usage.input * known.prices.input +
          round.usage.cacheRead * known.prices.cacheRead +
          round.usage.cacheWrite * known.prices.cacheWrite5m +
          round.outputTokens * known.prices.output);
    const next = rounds[at + 1];
    // Until the next request of the same turn, this is the newest that was said.
    if (next === undefined || next.opens === "turn" || next.at - round.at > gapMsMax) continue;
    const ticks = Math.floor(next.at / progressEveryMs) - Math.floor(round.at / progressEveryMs);
    for (let tick = 0; tick < ticks; tick += 1) {
      if (mark === messages.length) windows.unchanged += 1;
      else addDue(windows, { messages, contextTokens, model });
      mark = messages.length;
    }
  }
}

function addDue(
  windows: ProgressWindows,
  {
    messages,
    contextTokens,
    model,
  }: { readonly messages: readonly Message[]; readonly contextTokens: number; readonly model: string },
): void {
  windows.due += 1;
  const call = newestCall(messages.slice(-10));
  const line = call === undefined ? undefined : describeCall(call.name, call.input);
  if (line !== undefined && judgeProgress(line, messages).kind === "line") windows.named += 1;
  else if (line !== undefined) windows.other += 1;
  const choice = compareProgressCalls({
    model: findModel(model),
    cachedTokens: contextTokens,
    freshTokens: 0,
    small: findCheapestModel(model),
    excerptTokens: estimateBlock({ type: "text", text: renderNewest(messages) }),
  });
  if (choice.way === "fork") windows.forks += 1;
  if (choice.forkNanos !== undefined) windows.forkNanos.push(choice.forkNanos);
  if (choice.smallNanos !== undefined) windows.smallNanos.push(choice.smallNanos);
}

const toMessages = ({ before, reply }: RecordedRound): readonly Message[] =>
  [...before, ...reply].flatMap((entry): readonly Message[] =>
    entry.kind === "user" || entry.kind === "assistant" ? [{ role: entry.kind, content: entry.blocks }] : [],
  );

const percent = (part: number, whole: number): string => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`);
const dollars = (nanos: number): string => `$${(nanos / 1e9).toFixed(5)}`;
const median = (values: readonly number[]): number =>
  quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );

async function main(model: string, folders: readonly string[]): Promise<void> {
  console.log(`prices of ${model}, small call ${findCheapestModel(model)?.id ?? "none"}`);
  console.log(
    "| recordings | sessions | due | unchanged | names a file or function | another line | none | fork, median | small call, median | fork cheaper | small calls, of the agent's cost |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const folder of folders) {
    const windows = noWindows();
    let sessions = 0;
    for await (const { rounds } of recordingsBelow(resolve(folder))) {
      sessions += 1;
      addWindows(
        windows,
        rounds.map((round) => ({ ...round, messages: toMessages(round) })),
        model,
      );
    }
    const { due, named, other, unchanged, forkNanos, smallNanos, agentNanos } = windows;
    const cells = [
      basename(folder),
      sessions,
      due,
      unchanged,
      percent(named, due),
      percent(other, due),
      percent(due - named - other, due),
      forkNanos.length === 0 ? "–" : dollars(median(forkNanos)),
      smallNanos.length === 0 ? "–" : dollars(median(smallNanos)),
      windows.forks,
      agentNanos === 0 ? "–" : `${((100 * sum(smallNanos)) / agentNanos).toFixed(3)} %`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

if (import.meta.main) await main(process.argv[2] ?? "", process.argv.slice(3));
