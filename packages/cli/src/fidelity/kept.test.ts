import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { MeasureFileOutcome } from "@palimpsest/lab/internal/fidelity/measure-fidelity";
import { byKind, noFates } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { createFidelityJob, type FidelityJobOptions, writeMeasured, readMeasured } from "./fidelity-job.ts";

const file = { path: "/a.jsonl", sizeBytes: 9, modifiedMillis: 1 };
const options: FidelityJobOptions = {
  policies: ["palimpsest"],
  windowTokens: undefined,
  summariser: "rules",
  compactions: [1],
  version: "1",
  rules: "r",
  keptFolder: "/kept",
};
const measured: MeasureFileOutcome = {
  kind: "measured",
  outcomes: [
    {
      file: "/a.jsonl",
      policy: "palimpsest",
      window: "none",
      summariser: "rules",
      compaction: 1,
      round: 3,
      summary: "shared",
      userMessages: 1,
      userMessagesVerbatim: 1,
      userMessagesByReference: 0,
      facts: byKind(() => noFates),
      neededLater: byKind(() => noFates),
      tokensBefore: 9,
      tokensAfter: 3,
    },
  ],
  runs: [
    { policy: "palimpsest", compactions: 1 },
    { policy: "none", compactions: 0, failedAt: 4 },
  ],
};

describe("what is kept of a measured file", () => {
  it("has the same name for the same file and options, and another for any other", () => {
    const { keptPath } = createFidelityJob(file, options);
    expect(createFidelityJob({ ...file }, { ...options }).keptPath).toBe(keptPath);
    const others: readonly Partial<FidelityJobOptions>[] = [
      { policies: ["opencode"] },
      { windowTokens: "none" },
      { summariser: "extract" },
      { compactions: [2] },
      { version: "2" },
      { rules: "s" },
    ];
    const names = others.map((changes) => createFidelityJob(file, { ...options, ...changes }).keptPath);
    const grown = createFidelityJob({ ...file, sizeBytes: 10 }, options).keptPath;
    expect(new Set([keptPath, grown, ...names]).size).toBe(others.length + 2);
  });

  it.each<[string, MeasureFileOutcome]>([
    ["outcomes", measured],
    ["why there are none", { kind: "skipped", why: "it is empty" }],
  ])("comes back as it was: %s", async (_, one) => {
    const path = join(mkdtempSync(join(tmpdir(), "kept-")), "one.jsonl");
    await writeMeasured(path, one);
    expect(await readMeasured(path)).toEqual(one);
  });

  it("is nothing where it is missing, torn or of another form", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "kept-")), "one.jsonl");
    expect(await readMeasured(path)).toBeUndefined();
    await writeMeasured(path, measured);
    const whole = readFileSync(path, "utf8");
    for (const text of [whole.slice(0, -9), whole.replace('"lost"', '"gone"'), ""]) {
      writeFileSync(path, text);
      expect(await readMeasured(path)).toBeUndefined();
    }
  });
});
