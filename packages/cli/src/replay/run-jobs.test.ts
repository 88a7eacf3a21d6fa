import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../../test/fixture/replay/outcome.ts";
import { type FileJob, createFileJob, writeOutcomes } from "./file-job.ts";
import type { RunOutcome, PoolThread } from "./run-pool.ts";
import { progressLine, formatDuration, hasKeptOutcomes, type RunJobsInput, runJobs } from "./run-jobs.ts";
import type { JobOutcome } from "./replay-job.ts";

const sizes = { small: 1, large: 100, middle: 10 };

function jobsIn(folder: string, trace?: string): readonly FileJob[] {
  return Object.entries(sizes).map(([path, sizeBytes]) =>
    createFileJob(
      { path, sizeBytes, modifiedMillis: 0 },
      {
        policies: ["never"],
        prices: ["5m"],
        windowTokens: undefined,
        refetch: "charged",
        cache: "marked",
        compaction: "stand-in",
        version: "1",
        rules: "",
        keptFolder: folder,
        traceFolder: trace,
      },
    ),
  );
}

const keeps = async (job: FileJob): Promise<RunOutcome<JobOutcome>> => {
  await writeOutcomes(job.keptPath, { kind: "replayed", outcomes: [outcomeOf({ file: job.path })] });
  return { kind: "answered", answer: { kind: "kept" } };
};

function world(run: (job: FileJob) => Promise<RunOutcome<JobOutcome>> = keeps) {
  const begun: string[] = [];
  const lines: string[] = [];
  const start = (): PoolThread<FileJob, JobOutcome> => ({
    run: (job) => {
      begun.push(job.path);
      return run(job);
    },
    close: async () => undefined,
  });
  const err = { progress: async (line: string) => void lines.push(line), columns: 80 };
  const folder = mkdtempSync(join(tmpdir(), "jobs-"));
  const call = (changes: Partial<RunJobsInput<FileJob>> = {}) =>
    runJobs(
      { start, isKept: hasKeptOutcomes, err, nowMillis: () => 0 },
      { jobs: jobsIn(folder), threadsMax: 1, kept: "use", signal: new AbortController().signal, ...changes },
    );
  return { begun, lines, folder, call };
}

describe("running jobs", () => {
  it("begins with the largest file", async () => {
    const { begun, call } = world();
    await call();
    expect(begun).toEqual(["large", "middle", "small"]);
  });

  it("does not replay what is kept already, unless told to", async () => {
    const { begun, call } = world();
    await call();
    begun.length = 0;
    expect((await call()).doneByPath.size).toBe(3);
    expect(begun).toEqual([]);
    await call({ kept: "again" });
    expect(begun).toHaveLength(3);
  });

  it("goes on where a stopped run was", async () => {
    const stop = new AbortController();
    const { begun, call, folder } = world(async (job) => {
      if (job.path === "middle") stop.abort();
      return keeps(job);
    });
    expect([...(await call({ signal: stop.signal })).doneByPath.keys()]).toEqual(["large"]);
    rmSync(jobsIn(folder)[2]?.keptPath ?? "");
    begun.length = 0;
    expect((await call()).doneByPath.size).toBe(3);
    expect(begun).toEqual(["middle", "small"]);
  });

  it("replays a file again whose trace is asked for and not there", async () => {
    const { begun, call, folder } = world();
    await call();
    begun.length = 0;
    const traced = jobsIn(folder, folder);
    for (const { path, tracePath = "" } of traced) if (path !== "small") writeFileSync(tracePath, "");
    await call({ jobs: traced });
    expect(begun).toEqual(["small"]);
  });

  it.each<[string, RunOutcome<JobOutcome>]>([
    ["a bug", { kind: "answered", answer: { kind: "failed", message: "why" } }],
    ["a crash", { kind: "crashed", message: "why" }],
  ])("tells of %s in one file and does the others", async (_, ran) => {
    const { call } = world(async (job) => (job.path === "large" ? ran : keeps(job)));
    const { failed, doneByPath } = await call();
    expect(failed).toEqual([{ path: "large", message: "why" }]);
    expect([...doneByPath.keys()].toSorted()).toEqual(["middle", "small"]);
  });

  it("shows how far it is after every file, and wipes the line at the end", async () => {
    const { lines, call } = world();
    await call();
    expect(lines.map((line) => /\d of 3 files/.exec(line)?.[0])).toEqual([
      "1 of 3 files",
      "2 of 3 files",
      "3 of 3 files",
      undefined,
    ]);
    expect(lines.at(-1)).toBe("");
  });
});

describe("the line of progress", () => {
  const some = {
    doneFiles: 312,
    allFiles: 1_204,
    doneBytes: 41e6,
    allBytes: 100e6,
    elapsedMillis: 10_000,
    columns: 100,
  };

  it("says files, share of the bytes, rate and the time that is left", () => {
    expect(progressLine(some)).toBe("████████░░░░░░░░░░░░ 312 of 1,204 files 41 % 3.9 MB/s 15 s left");
  });

  it("promises no time before there is a rate", () => {
    expect(progressLine({ ...some, elapsedMillis: 1_000 })).not.toContain("left");
    expect(progressLine({ ...some, doneBytes: 0 })).not.toContain("left");
  });

  it("is whole where all files are empty, and never wider than the terminal", () => {
    expect(progressLine({ ...some, doneBytes: 0, allBytes: 0 })).toContain("100 %");
    expect(progressLine({ ...some, columns: 30 }).length).toBeLessThan(30);
  });

  it.each([
    [0, "0 s"],
    [89_000, "89 s"],
    [91_000, "2 min"],
    [2 * 3_600_000, "2.0 h"],
  ])("writes %d ms as %s", (millis, text) => expect(formatDuration(millis)).toBe(text));
});
