import { writeFile } from "node:fs/promises";
import { fidelityPlot } from "@palimpsest/lab/internal/fidelity/fidelity-plot";
import {
  FidelityTally,
  type CompactionSummary,
  type FidelityFigures,
  type FidelitySummary,
  computeShownShare,
} from "@palimpsest/lab/internal/fidelity/fidelity-tally";
import type { CommandContext } from "../program/command.ts";
import type { FailedFile, RunJobsOutcome } from "../replay/run-jobs.ts";
import { type FileCounts, jsonArray, countNotes, type SkippedFile, reportRest } from "../replay/show-outcomes.ts";
import { type FidelityJob, readMeasured } from "./fidelity-job.ts";
import { type FactKind, factKinds } from "@palimpsest/lab/internal/fidelity/fact";
import type { SummariserName } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { quantity, wrapText, formatNumber } from "../text/format.ts";
import { type Column, table } from "../text/table.ts";

interface ShowMeasuredInput {
  /** In the order of the report. */
  readonly jobs: readonly FidelityJob[];
  readonly done: RunJobsOutcome<FidelityJob>;
  readonly under: FidelityConditions;
  readonly format: "text" | "json";
  readonly svg: string | undefined;
}

/** Reads the outcomes back one file at a time: memory only holds the figures of all. */
export async function showMeasured(context: CommandContext, input: ShowMeasuredInput): Promise<FileCounts> {
  const { jobs, done, under, format, svg } = input;
  const tally = new FidelityTally();
  const skipped: SkippedFile[] = [];
  const failed: FailedFile[] = [...done.failed];
  const array = jsonArray(context);
  let replayed = 0;
  for (const { path } of jobs) {
    const job = done.doneByPath.get(path);
    if (job === undefined) continue;
    const stored = await readMeasured(job.keptPath);
    if (stored === undefined) failed.push({ path, message: "what was kept of it can't be read: run it again" });
    if (stored?.kind === "skipped") skipped.push({ path, why: stored.why });
    if (stored?.kind !== "measured") continue;
    replayed += 1;
    tally.add(stored);
    if (format === "json") for (const outcome of stored.outcomes) await array.add(outcome);
  }
  if (format === "json") await array.end();
  const figures = tally.figures();
  if (format === "text") await context.out.write(fidelityText(figures, under));
  if (svg !== undefined) await writeFile(svg, fidelityPlot(figures, under));
  const notes = countNotes({ files: jobs.length, replayed, skipped: skipped.length, failed: failed.length });
  await reportRest(context, { notes, skipped, failed });
  return { replayed, failed: failed.length };
}

interface FidelityConditions {
  readonly window: number | "none";
  readonly summariser: SummariserName;
  /** Those that were asked for. */
  readonly compactions: readonly number[];
}

const width = 80;

/** What each policy shows, recovers and loses after each compaction, with a bar. */
export function fidelityText({ compactions, runs }: FidelityFigures, under: FidelityConditions): string {
  const sessions = Math.max(0, ...runs.map((run) => run.sessions));
  const window = under.window === "none" ? "no window" : `a window of ${formatNumber(under.window)} tokens`;
  const head = `${quantity(sessions, "session")} under ${window}. ${summariserText[under.summariser]}`;
  const uncompacted = runs.filter(({ compacted }) => compacted === 0).map(({ policy }) => policy);
  const failing = runs
    .filter(({ failed }) => failed > 0)
    .map(({ policy, failed }) => `${policy} in ${formatNumber(failed)}`);
  const unreached = under.compactions.filter((n) => !compactions.some(({ compaction }) => compaction === n));
  const notes = [
    head,
    ...(uncompacted.length === 0 ? [] : [`No compaction, so no figures: ${uncompacted.join(", ")}.`]),
    ...(failing.length === 0 ? [] : [`Could send nothing that fits from some round on: ${failing.join(", ")}.`]),
    ...(unreached.length === 0 || sessions === 0
      ? []
      : [`No policy came to compaction ${unreached.join(", ")}: a smaller --window has more of them.`]),
  ];
  const top = notes.map((line) => `${wrapText(line, width)}\n`).join("");
  return [top, ...compactions.map(compactionText)].join("\n");
}

const summariserText: Readonly<Record<SummariserName, string>> = {
  rules: "Summaries by one set of rules for all policies, in place of a model.",
  extract: "Summaries extracted without a model, as the engine does where none answers.",
};

function compactionText({ compaction, policies }: CompactionSummary): string {
  const shown = table(
    ["policy", ...factKinds.map((kind) => kindHeads[kind])].map(column),
    policies.map(({ policy, facts }) => [policy, ...factKinds.map((kind) => percent(computeShownShare(facts[kind])))]),
  );
  const rest = table(
    ["policy", "sessions", "by id", "back", "lost", "needed", "lost", "before", "after"].map(column),
    policies.map(restCells),
  );
  const bars = policies
    .map((summary) => `${summary.policy.padEnd(nameWidth(policies))}  ${factsBar(summary)}\n`)
    .join("");
  return [
    `After compaction ${compaction}: shown verbatim, in % of all facts of a kind\n${shown}`,
    `Messages shown by id alone, in %; facts that come back, that are lost; needed\nlater: shown in %, lost; tokens of the context\n${rest}`,
    `All facts: █ shown, ▒ comes back, · lost\n${bars}`,
  ].join("\n");
}

const column = (title: string, at: number): Column => ({ title, align: at === 0 ? "left" : "right" });

const kindHeads: Readonly<Record<FactKind, string>> = {
  userMessages: "msgs",
  filesModified: "mod",
  filesRead: "read",
  commands: "cmds",
  errors: "errs",
  lastErrors: "last",
  details: "ids",
  decisions: "decs",
  openTodos: "todo",
};

const restCells = (summary: FidelitySummary): readonly string[] => [
  summary.policy,
  formatNumber(summary.sessions),
  percent(summary.userMessages === 0 ? undefined : summary.userMessagesByReference / summary.userMessages),
  formatNumber(summary.all.recoverable),
  formatNumber(summary.all.lost),
  percent(computeShownShare(summary.needed)),
  formatNumber(summary.needed.lost),
  formatNumber(summary.tokensBefore),
  formatNumber(summary.tokensAfter),
];

/** Rounded down: 99.9% must not look like all. */
const percent = (share: number | undefined): string => (share === undefined ? "-" : String(Math.floor(share * 100)));

const nameWidth = (policies: readonly FidelitySummary[]): number =>
  Math.max(...policies.map(({ policy }) => policy.length));

const barWidth = 50;

function factsBar({ all: { shown, recoverable, lost } }: FidelitySummary): string {
  const sum = Math.max(1, shown + recoverable + lost);
  const full = Math.floor((shown / sum) * barWidth);
  // Rounded up, so that a single lost fact is visible.
  const gone = Math.ceil((lost / sum) * barWidth);
  return `${"█".repeat(full)}${"▒".repeat(Math.max(0, barWidth - full - gone))}${"·".repeat(gone)}`;
}
