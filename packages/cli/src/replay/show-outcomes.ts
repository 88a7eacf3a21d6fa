import { writeFile } from "node:fs/promises";
import { renderReport, pickSessions } from "@palimpsest/lab/internal/report/render-report";
import {
  createTally,
  type TallyOptions,
  hasBounds,
  type PolicySummary,
  type PriceSummary,
} from "@palimpsest/lab/internal/tally";
import type { CommandContext } from "../program/command.ts";
import { clip, quantity, formatNumber, clipStart, wrapText } from "../text/format.ts";
import { type FileJob, readOutcomes } from "./file-job.ts";
import { filesShownMax, plottedSessionsMax, intervalSessionsMin } from "./limits.ts";
import type { FailedFile, RunJobsOutcome } from "./run-jobs.ts";
import {
  formatMillions,
  noFigure,
  formatPercent,
  formatRange,
  formatRatios,
} from "@palimpsest/lab/internal/statistics";
import { type Column, table } from "../text/table.ts";

interface ShowOutcomesInput {
  /** In the order of the report. */
  readonly jobs: readonly FileJob[];
  readonly done: RunJobsOutcome<FileJob>;
  readonly counting: TallyOptions;
  readonly format: "text" | "json";
  readonly html: string | undefined;
}

/** Reads the outcomes back one file at a time: however many there are, memory only holds the figures of each. */
export async function showOutcomes(context: CommandContext, input: ShowOutcomesInput): Promise<FileCounts> {
  const { jobs, done, counting, format, html } = input;
  const tally = createTally(counting);
  const picked = pickSessions(plottedSessionsMax);
  const skipped: SkippedFile[] = [];
  const failed: FailedFile[] = [...done.failed];
  const array = jsonArray(context);
  let replayed = 0;
  let longestRounds = 0;
  for (const { path } of jobs) {
    const job = done.doneByPath.get(path);
    if (job === undefined) continue;
    const stored = await readOutcomes(job.keptPath);
    if (stored === undefined) failed.push({ path, message: "what was kept of it can't be read: run it again" });
    if (stored?.kind === "skipped") skipped.push({ path, why: stored.why });
    if (stored?.kind !== "replayed") continue;
    replayed += 1;
    if (html !== undefined) picked.add(stored.outcomes);
    for (const { contextByRound: _, ...figures } of stored.outcomes) {
      tally.add(figures);
      longestRounds = Math.max(longestRounds, figures.rounds);
      if (format === "json") await array.add(figures);
    }
  }
  if (format === "json") await array.end();
  // Computed only if shown: the intervals of thousands of sessions take seconds.
  const summaries = format === "text" || html !== undefined ? tally.summaries() : [];
  if (format === "text") {
    const look = { columns: context.out.columns, roundsMin: counting.roundsMin, longestRounds };
    await context.out.write(summaries.map((summary) => replayText(summary, look)).join("\n"));
  }
  const notes = countNotes({ files: jobs.length, replayed, skipped: skipped.length, failed: failed.length });
  if (html !== undefined) await writeFile(html, renderReport({ summaries, plotted: picked.sessions(), notes }));
  await reportRest(context, { notes, skipped, failed });
  return { replayed, failed: failed.length };
}

export interface FileCounts {
  readonly replayed: number;
  readonly failed: number;
}

export interface SkippedFile {
  readonly path: string;
  readonly why: string;
}

/** One JSON value, written piece by piece. */
export function jsonArray({ out }: CommandContext): {
  readonly add: (value: object) => Promise<void>;
  readonly end: () => Promise<void>;
} {
  let separator = "[";
  return {
    add: async (value) => {
      await out.bytes(Buffer.from(`${separator}${JSON.stringify(value)}`));
      separator = ",";
    },
    end: () => out.bytes(Buffer.from(separator === "[" ? "[]\n" : "]\n")),
  };
}

export function countNotes({
  files,
  replayed,
  skipped,
  failed,
}: FileCounts & { readonly files: number; readonly skipped: number }): readonly string[] {
  const missing = files - replayed - skipped - failed;
  return [
    `${quantity(replayed, "file")} replayed, ${formatNumber(skipped)} without a session, ${formatNumber(failed)} failed`,
    ...(missing === 0
      ? []
      : [`stopped before ${formatNumber(missing)} of ${quantity(files, "file")}: run it again to go on`]),
  ];
}

/** On stderr: stdout holds the figures. */
export async function reportRest(
  { err, out }: CommandContext,
  {
    notes,
    skipped,
    failed,
  }: {
    readonly notes: readonly string[];
    readonly skipped: readonly SkippedFile[];
    readonly failed: readonly FailedFile[];
  },
): Promise<void> {
  const width = Math.max(24, (out.columns ?? 120) - 60);
  for (const note of notes) await err.write(`${note}\n`);
  for (const [why, files] of [...Map.groupBy(skipped, (file) => file.why)].slice(0, filesShownMax))
    await err.write(`skipped (${clip(why, 100)}): ${formatNumber(files.length)}\n`);
  for (const { path, message } of failed.slice(0, filesShownMax))
    await err.write(`failed: ${clipStart(path, width)}  ${clip(message, 160)}\n`);
  if (failed.length > filesShownMax) await err.write(`  … and ${formatNumber(failed.length - filesShownMax)} more\n`);
}

/** The cells of a policy's row, by column heading. */
interface ReplaySection {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly cells: (policy: PolicySummary) => readonly string[];
  /** Below the table. */
  readonly note?: string | undefined;
}

const width = 80;
/** Some terminals report no columns at all. */
const widthMin = 40;

interface ReplayLook {
  /** The terminal's width: if the tables do not fit, each policy has lines of its own. */
  readonly columns: number | undefined;
  /** Sessions with fewer are not in the figures. */
  readonly roundsMin: number;
  /** Of all sessions, including those that are not in the figures. */
  readonly longestRounds: number;
}

/** The figures at one price table. */
export function replayText(summary: PriceSummary, { columns: terminalColumns = width, ...look }: ReplayLook): string {
  const columns = Math.max(widthMin, terminalColumns);
  const { prices, compaction, sessions, rounds, tooShort, hopeless } = summary;
  const head = `${prices} prices: ${quantity(sessions, "session")}, ${quantity(rounds, "round")}`;
  const omissions = [
    ...(compaction === "stand-in" ? [] : [`compaction ${compaction}: summaries are made from what was said`]),
    ...(tooShort === 0 ? [] : [`left out with too few rounds: ${formatNumber(tooShort)}`]),
    ...(tooShort === 0 || sessions + hopeless > 0 ? [] : [allShortText(tooShort, look)]),
    ...(hopeless === 0 ? [] : [`left out, since no policy comes through: ${formatNumber(hopeless)}`]),
  ];
  const first = `${[head, ...omissions].map((line) => wrapText(line, columns)).join("\n")}\n`;
  if (sessions === 0) return first;
  const sections = replaySections(summary).map((section) =>
    sectionText({ section, policies: summary.policies, columns }),
  );
  return [first, ...sections, usageInLogText(summary, columns)].filter((text) => text !== "").join("\n");
}

/** If there are no figures, says what would show some. */
function allShortText(sessions: number, { roundsMin, longestRounds }: Omit<ReplayLook, "columns">): string {
  const most = `${sessions === 1 ? "" : "at most "}${quantity(longestRounds, "round")}`;
  return `${most} of at least ${formatNumber(roundsMin)}: --rounds-min 1 shows ${sessions === 1 ? "it" : "them"}`;
}

const replaySections = ({ baseline, policies }: PriceSummary): readonly ReplaySection[] => [
  moneySection({ baseline, policies }),
  ...(policies.some(hasBounds) ? boundSections : []),
  {
    heading: "What it did",
    columns: ["policy", "edits", "compactions", "refetched", "peak", "refused"],
    cells: ({ policy, edits, compactions, refetched, peakContext, refused }) => [
      policy,
      ...[edits, compactions, refetched, peakContext, refused].map(formatNumber),
    ],
  },
];

const boundSections: readonly ReplaySection[] = [
  {
    heading: "Cost without re-fetching, over the best with clearing and compacting",
    columns: ["policy", "mean", "median", "p90", "max"],
    cells: ({ policy, overFull }) => [policy, ...formatRatios(overFull)],
  },
  {
    heading: "The same over the best with clearing alone",
    columns: ["policy", "mean", "median", "p90", "max"],
    cells: ({ policy, overClearOnly }) => [policy, ...formatRatios(overClearOnly)],
  },
];

function moneySection({ baseline, policies }: Pick<PriceSummary, "baseline" | "policies">): ReplaySection {
  const baselineSessions = policies.find(({ policy }) => policy === baseline)?.sessions ?? 0;
  return {
    heading: `Money, in tokens at the base input price; saving against ${baseline}`,
    columns: ["policy", "cost", "saving", "95 % interval", "with rework"],
    cells: ({ policy, cost, saving, savingWithRework, sessions }) => [
      policy,
      formatMillions(cost),
      saving === undefined ? noFigure : formatPercent(saving.estimate),
      saving === undefined || Math.min(sessions, baselineSessions) < intervalSessionsMin
        ? noFigure
        : formatRange(saving),
      savingWithRework === undefined ? noFigure : formatPercent(savingWithRework.estimate),
    ],
    note: failuresText(policies),
  };
}

/** A policy that fails somewhere has figures of the other sessions only. */
function failuresText(policies: readonly PolicySummary[]): string | undefined {
  const failing = policies.filter(({ failedSessions }) => failedSessions > 0);
  if (failing.length === 0) return undefined;
  const each = failing.map(
    ({ policy, failedSessions, sessions }) =>
      `${policy} in ${formatNumber(failedSessions)} of ${formatNumber(failedSessions + sessions)}`,
  );
  return `Fails, and has figures of the other sessions only: ${each.join(", ")}.`;
}

function sectionText({
  section,
  policies,
  columns,
}: {
  readonly section: ReplaySection;
  readonly policies: readonly PolicySummary[];
  readonly columns: number;
}): string {
  const rows = policies.map(section.cells);
  const text = table(
    section.columns.map((title, at): Column => ({ title, align: at === 0 ? "left" : "right" })),
    rows,
  );
  const fits = text.split("\n").every((line) => line.length <= columns);
  const note = section.note === undefined ? "" : `${wrapText(section.note, columns)}\n`;
  return `${wrapText(section.heading, columns)}\n${fits ? text : recordLines(section, rows)}${note}`;
}

/** A name and its figures below it, one a line. */
const recordLines = ({ columns }: ReplaySection, rows: readonly (readonly string[])[]): string =>
  rows
    .map(([name = "", ...cells]) =>
      [name, ...cells.map((cell, at) => `  ${columns[at + 1] ?? ""}: ${cell}`)].map((line) => `${line}\n`).join(""),
    )
    .join("");

function usageInLogText({ recorded, baseline }: PriceSummary, columns: number): string {
  if (recorded === undefined) return "";
  const { sessions, cost, lossCost, baselineCost, ratioMedian } = recorded;
  const loss =
    lossCost === 0 ? "" : ` (${formatMillions(lossCost)} of it for caches that were lost before they expired)`;
  const text = `The usage that was recorded in ${quantity(sessions, "session")} costs ${formatMillions(cost)}${loss}; ${baseline} costs ${formatMillions(baselineCost)} in the same, at the median ${ratioMedian.toFixed(2)} times as much.`;
  return `${wrapText(text, columns)}\n`;
}
