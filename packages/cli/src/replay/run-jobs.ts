import { stat } from "node:fs/promises";
import type { Output } from "../output.ts";
import type { FileJob } from "./job.ts";
import { readKept } from "./kept.ts";
import { progressMillis } from "./limits.ts";
import { runPool, type Thread } from "./pool.ts";
import { progressLine } from "./progress-line.ts";
import type { JobAnswer } from "./replay-job.ts";

/** A file with something to be computed of it. */
export type AnyJob = Pick<FileJob, "path" | "sizeBytes">;

export interface RunJobsDeps<Job> {
  readonly start: () => Thread<Job, JobAnswer>;
  /** Whole, so that it need not be done again. */
  readonly isKept: (job: Job) => Promise<boolean>;
  readonly nowMillis: () => number;
  /** Where a terminal sees how far it is. */
  readonly err: Pick<Output, "progress" | "columns">;
}

export interface RunJobs<Job> {
  readonly jobs: readonly Job[];
  readonly threadsMax: number;
  /** `again`: as if nothing were kept. */
  readonly kept: "use" | "again";
  readonly signal: AbortSignal;
}

export interface JobsDone<Job> {
  /** Whose outcomes are kept, of this run or an earlier one. */
  readonly doneByPath: ReadonlyMap<string, Job>;
  readonly failed: readonly FailedFile[];
}

export interface FailedFile {
  readonly path: string;
  readonly message: string;
}

/** Does what is not kept already, the largest first: a large file begun last would leave all threads but one idle. */
export async function runJobs<Job extends AnyJob>(
  deps: RunJobsDeps<Job>,
  { jobs, threadsMax, kept, signal }: RunJobs<Job>,
): Promise<JobsDone<Job>> {
  const doneByPath = new Map<string, Job>();
  const failed: FailedFile[] = [];
  const waiting: Job[] = [];
  for (const job of jobs)
    if (kept === "use" && (await deps.isKept(job))) doneByPath.set(job.path, job);
    else waiting.push(job);

  const begun = deps.nowMillis();
  const allBytes = waiting.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  let doneFiles = 0;
  let doneBytes = 0;
  const tell = (): void => {
    const elapsedMillis = deps.nowMillis() - begun;
    const columns = Math.max(columnsMin, deps.err.columns ?? 80);
    void deps.err.progress(
      progressLine({ doneFiles, allFiles: waiting.length, doneBytes, allBytes, elapsedMillis, columns }),
    );
  };
  const timer = setInterval(tell, progressMillis);
  try {
    await runPool<Job, JobAnswer>({
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
        tell();
      },
    });
  } finally {
    clearInterval(timer);
    await deps.err.progress("");
  }
  return { doneByPath, failed };
}

/** Some terminals say that they have no columns at all. */
const columnsMin = 40;

/** With its trace where one is asked for. */
export async function isReplayKept({ keptPath, tracePath }: FileJob): Promise<boolean> {
  const kept = await readKept(keptPath);
  if (kept === undefined || kept.kind === "skipped" || tracePath === undefined) return kept !== undefined;
  return stat(tracePath).then(
    () => true,
    () => false,
  );
}
