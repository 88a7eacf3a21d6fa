import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../../test/fixture/replay/outcome.ts";
import type { ReplayOutcome } from "@palimpsest/lab/internal/replay-outcome";
import { createOutput } from "../program/output.ts";
import { program } from "../program/program.ts";
import { createFileJob, writeOutcomes } from "./file-job.ts";
import type { ReplayOptions } from "./replay-options.ts";
import { showOutcomes } from "./show-outcomes.ts";

const chosen: ReplayOptions = {
  kind: "options",
  policies: ["never", "rule"],
  prices: ["5m"],
  windowTokens: undefined,
  refetch: "charged",
  cache: "marked",
  compaction: "stand-in",
  jobs: 1,
  roundsMin: 30,
  baseline: "never",
};

const counting = { baseline: "never", roundsMin: 30 };

type Fate = readonly Partial<ReplayOutcome>[] | "no session" | "gone" | "failed" | "not begun";

/** Shows files with these fates, in this order. */
async function shown(fates: Readonly<Record<string, Fate>>, format: "text" | "json") {
  const folder = mkdtempSync(join(tmpdir(), "show-"));
  const jobs = Object.keys(fates).map((path) =>
    createFileJob(
      { path, sizeBytes: 1, modifiedMillis: 0 },
      { ...chosen, version: "1", rules: "", keptFolder: folder, traceFolder: undefined },
    ),
  );
  const doneByPath = new Map<string, (typeof jobs)[number]>();
  for (const job of jobs) {
    const fate = fates[job.path];
    if (fate === undefined || fate === "failed" || fate === "not begun") continue;
    doneByPath.set(job.path, job);
    if (fate === "gone") continue;
    await writeOutcomes(
      job.keptPath,
      fate === "no session"
        ? { kind: "skipped", why: "it holds no session" }
        : { kind: "replayed", outcomes: fate.map((one) => outcomeOf({ file: job.path, ...one })) },
    );
  }
  const failed = jobs.filter(({ path }) => fates[path] === "failed").map(({ path }) => ({ path, message: "a bug" }));
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const context = {
    stdin: new PassThrough(),
    out: createOutput(stdout, {}),
    err: createOutput(stderr, {}),
    env: {},
    cwd: "/",
    program,
    called: "palimpsest replay",
  };
  const html = join(folder, "report.html");
  const counts = await showOutcomes(context, { jobs, done: { doneByPath, failed }, counting, format, html });
  const text = (stream: PassThrough): string => String(stream.read() ?? "");
  return { ...counts, out: text(stdout), err: text(stderr), html: readFileSync(html, "utf8") };
}

const both = [{ policy: "never" }, { policy: "rule", inputCost: 500_000 }];

describe("showing outcomes", () => {
  it("as JSON is one array on one line, in the order of the files, without what only plots need", async () => {
    const { out } = await shown({ b: both, a: both, c: "no session" }, "json");
    expect(out.trimEnd()).not.toContain("\n");
    const rows = JSON.parse(out) as readonly ReplayOutcome[];
    expect(rows.map(({ file, policy }) => `${file} ${policy}`)).toEqual(["b never", "b rule", "a never", "a rule"]);
    const { contextByRound: _, ...figures } = outcomeOf({ file: "b" });
    expect(rows[0]).toEqual(figures);
  });

  it("as JSON has a field for a bound also where there is none", async () => {
    const { out } = await shown({ a: [{ prices: "auto", optimumFull: null, optimumClearOnly: null }] }, "json");
    expect(JSON.parse(out)).toMatchObject([{ optimumFull: null, optimumClearOnly: null }]);
  });

  it("as JSON is an empty array where nothing was replayed", async () => {
    expect((await shown({ a: "no session" }, "json")).out).toBe("[]\n");
  });

  it("as text has the figures on stdout and what became of the files on stderr", async () => {
    const { out, err, replayed } = await shown(
      { a: both, b: "no session", c: "no session", d: "failed", e: "not begun" },
      "text",
    );
    expect(replayed).toBe(1);
    expect(out).toMatch(/^rule +0\.50M +50\.0 %/m);
    expect(err).toBe(
      [
        "1 file replayed, 2 without a session, 1 failed",
        "stopped before 1 of 5 files: run it again to go on",
        "skipped (it holds no session): 2",
        "failed: d  a bug",
        "",
      ].join("\n"),
    );
  });

  it("counts a file as failed whose outcomes are gone when they are read back", async () => {
    const { err, failed } = await shown({ a: both, b: "gone" }, "text");
    expect(failed).toBe(1);
    expect(err).toContain("1 file replayed, 0 without a session, 1 failed\n");
    expect(err).toContain("failed: b  what was kept of it can't be read");
  });

  it("as a page holds the same figures", async () => {
    const { html } = await shown({ a: both }, "text");
    expect(html).toContain("50.0 %");
    expect(html).toContain("1 file replayed, 0 without a session, 0 failed");
    expect(html).toContain("<polyline");
  });
});
