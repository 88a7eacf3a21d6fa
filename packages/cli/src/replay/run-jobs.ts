import { stat } from "node:fs/promises";
import type { Output } from "../program/output.ts";
import { type FileJob, readOutcomes } from "./file-job.ts";
import { progressMillis } from "./limits.ts";
import { runPool, type PoolThread } from "./run-pool.ts";
import type { JobOutcome } from "./replay-job.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { clip, formatNumber } from "../text/format.ts";

/** A file to compute something from. */
type AnyJob = Pick<FileJob, "path" | "sizeBytes">;

interface RunJobsDeps<Job> {
  readonly start: () => PoolThread<Job, JobOutcome>;
  /** Whether its outcomes are complete, so that it need not be done again. */
  readonly isKept: (job: Job) => Promise<boolean>;
  readonly nowMillis: () => number;
  /** Shows progress at a terminal. */
  readonly err: Pick<Output, "progress" | "columns">;
}

export interface RunJobsInput<Job> {
  readonly jobs: readonly Job[];
  readonly threadsMax: number;
  /** `again`: as if nothing were stored. */
  readonly kept: "use" | "again";
  readonly signal: AbortSignal;
}

export interface RunJobsOutcome<Job> {
  /** Jobs with stored outcomes, from this run or an earlier one. */
  readonly doneByPath: ReadonlyMap<string, Job>;
  readonly failed: readonly FailedFile[];
}

export interface FailedFile {
  readonly path: string;
  readonly message: string;
}

/**
 * Runs the jobs without stored outcomes, the largest first: a large file started last would leave all threads but one
 * idle.
 */
export async function runJobs<Job extends AnyJob>(
  deps: RunJobsDeps<Job>,
  { jobs, threadsMax, kept, signal }: RunJobsInput<Job>,
): Promise<RunJobsOutcome<Job>> {
  const doneByPath = new Map<string, Job>();
  const failed: FailedFile[] = [];
  const waiting: Job[] = [];
  for (const job of jobs)
    if (kept === "use" && (await deps.isKept(job))) doneByPath.set(job.path, job);
    else waiting.push(job);

  const startedAt = deps.nowMillis();
  const allBytes = waiting.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  let doneFiles = 0;
  let doneBytes = 0;
  const showProgress = (): void => {
    const elapsedMillis = deps.nowMillis() - startedAt;
    const columns = Math.max(columnsMin, deps.err.columns ?? 80);
    void deps.err.progress(
      progressLine({ doneFiles, allFiles: waiting.length, doneBytes, allBytes, elapsedMillis, columns }),
    );
  };
  const timer = setInterval(showProgress, progressMillis);
  try {
    await runPool<Job, JobOutcome>({
      jobs: waiting.toSorted((one, other) => other.sizeBytes - one.sizeBytes),
      threadsMax,
      start: deps.start,
      signal,
      onRan: (job, ran) => {
        doneFiles += 1;
        doneBytes += job.sizeBytes;
        const outcome = ran.kind === "answered" ? ran.answer : ran;
        if (outcome.kind === "kept") doneByPath.set(job.path, job);
        else failed.push({ path: job.path, message: outcome.message });
        showProgress();
      },
    });
  } finally {
    clearInterval(timer);
    await deps.err.progress("");
  }
  return { doneByPath, failed };
}

/** Some terminals report no columns at all. */
const columnsMin = 40;

/** With its trace, if one is asked for. */
export async function hasKeptOutcomes({ keptPath, tracePath }: FileJob): Promise<boolean> {
  const kept = await readOutcomes(keptPath);
  if (kept === undefined || kept.kind === "skipped" || tracePath === undefined) return kept !== undefined;
  return stat(tracePath).then(
    () => true,
    () => false,
  );
}

interface ProgressInput {
  readonly doneFiles: number;
  readonly allFiles: number;
  readonly doneBytes: number;
  readonly allBytes: number;
  readonly elapsedMillis: number;
  readonly columns: number;
}

const barWidth = 20;
/** Before that, a rate says more about starting than about the work. */
const rateMillisMin = 2_000;

/** By bytes, not by files: the largest come first, and a thousand small ones after them take no time. */
export function progressLine(progress: ProgressInput): string {
  const { doneFiles, allFiles, doneBytes, allBytes, elapsedMillis, columns } = progress;
  const share = allBytes === 0 ? 1 : doneBytes / allBytes;
  const full = Math.floor(share * barWidth);
  const bar = `${"█".repeat(full)}${"░".repeat(barWidth - full)}`;
  const parts = [
    `${bar} ${formatNumber(doneFiles)} of ${formatNumber(allFiles)} files`,
    `${Math.floor(share * 100)} %`,
  ];
  if (elapsedMillis >= rateMillisMin && doneBytes > 0) {
    const bytesPerMilli = doneBytes / elapsedMillis;
    parts.push(
      `${formatBytes(bytesPerMilli * 1_000)}/s`,
      `${formatDuration((allBytes - doneBytes) / bytesPerMilli)} left`,
    );
  }
  return clip(parts.join("  "), columns - 1);
}

export function formatDuration(millis: number): string {
  const seconds = Math.ceil(millis / 1_000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}
