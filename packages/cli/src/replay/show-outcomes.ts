import { writeFile } from "node:fs/promises";
import { renderReport } from "@palimpsest/lab/internal/report/html";
import { pickSessions } from "@palimpsest/lab/internal/report/plotted";
import { createTally, type TallyOptions } from "@palimpsest/lab/internal/summary";
import type { CommandContext } from "../command.ts";
import { clipped, counted, humanCount, tail } from "../human.ts";
import { replayText } from "../replay-text.ts";
import type { FileJob } from "./job.ts";
import { readKept } from "./kept.ts";
import { filesShownMax, plottedSessionsMax } from "./limits.ts";
import type { FailedFile, JobsDone } from "./run-jobs.ts";

export interface Showing {
  /** In the order in which outcomes are told. */
  readonly jobs: readonly FileJob[];
  readonly done: JobsDone<FileJob>;
  readonly counting: TallyOptions;
  readonly format: "text" | "json";
  readonly html: string | undefined;
}

/** Reads the outcomes back one file at a time: however many there are, memory holds the figures of each and no more. */
export async function showOutcomes(context: CommandContext, showing: Showing): Promise<Counts> {
  const { jobs, done, counting, format, html } = showing;
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
    const kept = await readKept(job.keptPath);
    if (kept === undefined) failed.push({ path, message: "what was kept of it can't be read: run it again" });
    if (kept?.kind === "skipped") skipped.push({ path, why: kept.why });
    if (kept?.kind !== "replayed") continue;
    replayed += 1;
    if (html !== undefined) picked.add(kept.outcomes);
    for (const { contextByRound: _, ...figures } of kept.outcomes) {
      tally.add(figures);
      longestRounds = Math.max(longestRounds, figures.rounds);
      if (format === "json") await array.add(figures);
    }
  }
  if (format === "json") await array.end();
  // Not where nobody reads them: the intervals of thousands of sessions take seconds.
  const summaries = format === "text" || html !== undefined ? tally.summaries() : [];
  if (format === "text") {
    const look = { columns: context.out.columns, roundsMin: counting.roundsMin, longestRounds };
    await context.out.write(summaries.map((summary) => replayText(summary, look)).join("\n"));
  }
  const notes = notesOf({ files: jobs.length, replayed, skipped: skipped.length, failed: failed.length });
  if (html !== undefined) await writeFile(html, renderReport({ summaries, plotted: picked.sessions(), notes }));
  await tellRest(context, { notes, skipped, failed });
  return { replayed, failed: failed.length };
}

export interface Counts {
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
  let before = "[";
  return {
    add: async (value) => {
      await out.bytes(Buffer.from(`${before}${JSON.stringify(value)}`));
      before = ",";
    },
    end: () => out.bytes(Buffer.from(before === "[" ? "[]\n" : "]\n")),
  };
}

interface Rest {
  readonly notes: readonly string[];
  readonly skipped: readonly SkippedFile[];
  readonly failed: readonly FailedFile[];
}

export function notesOf({
  files,
  replayed,
  skipped,
  failed,
}: Counts & { readonly files: number; readonly skipped: number }): readonly string[] {
  const missing = files - replayed - skipped - failed;
  return [
    `${counted(replayed, "file")} replayed, ${humanCount(skipped)} without a session, ${humanCount(failed)} failed`,
    ...(missing === 0
      ? []
      : [`stopped before ${humanCount(missing)} of ${counted(files, "file")}: run it again to go on`]),
  ];
}

/** On stderr: stdout holds the figures. */
export async function tellRest({ err, out }: CommandContext, { notes, skipped, failed }: Rest): Promise<void> {
  const width = Math.max(24, (out.columns ?? 120) - 60);
  for (const note of notes) await err.write(`${note}\n`);
  for (const [why, files] of [...Map.groupBy(skipped, (file) => file.why)].slice(0, filesShownMax))
    await err.write(`skipped (${clipped(why, 100)}): ${humanCount(files.length)}\n`);
  for (const { path, message } of failed.slice(0, filesShownMax))
    await err.write(`failed: ${tail(path, width)}  ${clipped(message, 160)}\n`);
  if (failed.length > filesShownMax) await err.write(`  … and ${humanCount(failed.length - filesShownMax)} more\n`);
}
