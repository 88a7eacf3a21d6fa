import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { allAttempts } from "../support/attacks/all-attempts.ts";
import { attackClasses } from "../support/attacks/attempt.ts";
import type { Configuration } from "../support/attacks/configurations.ts";
import { whyNoContainer } from "../support/attacks/container.ts";
import { compareGaps } from "../support/attacks/known-gaps.ts";
import { countEnds, throughLines, trialLine } from "../support/attacks/report.ts";
import { runCampaign, type TrialResult } from "../support/attacks/run-campaign.ts";
import { campaigns, campaignSeed } from "../support/attacks/trials.ts";

const missing = whyNoContainer();
const reason = missing === undefined ? "" : ` (skipped: ${missing})`;
const seed = campaignSeed;
/** Each waits for the programs that it starts. */
const workers = availableParallelism() + 1;
const reports = resolve(import.meta.dirname, "../../.bench");

describe.skipIf(missing !== undefined)(`attacks on the bash tool${reason}`, () => {
  let results: readonly TrialResult[] = [];
  const resultsOf = (configuration: Configuration): readonly TrialResult[] =>
    results.filter(({ setting }) => setting.configuration === configuration);

  beforeAll(async () => {
    for (const campaign of campaigns) results = results.concat(await runCampaign({ ...campaign, seed, workers }));
    // For people: how many were asked about, and what got through.
    mkdirSync(reports, { recursive: true });
    const report = { ends: Object.fromEntries(countEnds(results)), through: throughLines(results) };
    writeFileSync(join(reports, "attacks.json"), `${JSON.stringify(report, undefined, 2)}\n`);
    // On a machine with ten times as much to do as it has cores, half an hour was not enough.
  }, 90 * 60_000);

  test("there are more than two thousand, of every class, and the same ones every time", () => {
    const attempts = allAttempts(seed);
    expect(attempts.length).toBeGreaterThan(2_000);
    expect(new Set(attempts.map((attempt) => attempt.class))).toEqual(new Set(attackClasses));
    expect(allAttempts(seed)).toEqual(attempts);
    expect(new Set(results.map(({ attempt }) => JSON.stringify(attempt))).size).toBe(attempts.length);
  });

  test("none gets through with the check and the sandbox, in any mode", () => {
    expect(throughLines(resultsOf("check and sandbox"))).toEqual([]);
  });

  test("none runs outside the sandbox, whatever the reason and the rules: the user is asked, in bypass too", () => {
    const outside = results.filter(({ attempt }) => attempt.outsideReason !== undefined);
    expect(outside.length).toBeGreaterThan(0);
    expect(outside.filter(({ result }) => !["asked", "denied"].includes(result.end)).map(trialLine)).toEqual([]);
  });

  test("with the sandbox alone every line is run, in either strength", () => {
    expect(
      resultsOf("sandbox alone")
        .filter(({ result }) => result.end !== "ran")
        .map(trialLine),
    ).toEqual([]);
  });

  test("what gets through with the check alone and with the sandbox alone is what the list of gaps says, no more and no less", () => {
    expect(compareGaps([...resultsOf("check alone"), ...resultsOf("sandbox alone")])).toEqual([]);
  });

  test("most do harm where nothing holds them, and of each class a third", () => {
    const shareOf = (tried: readonly TrialResult[]): number =>
      tried.filter(({ result }) => result.through.length > 0).length / tried.length;
    const tried = resultsOf("nothing");
    expect(shareOf(tried)).toBeGreaterThan(2 / 3);
    for (const name of attackClasses)
      expect(shareOf(tried.filter(({ attempt }) => attempt.class === name)), name).toBeGreaterThan(1 / 3);
  });
});

describe.skipIf(missing !== undefined)(`harmless lines${reason}`, () => {
  let results: readonly TrialResult[] = [];
  beforeAll(async () => {
    const choice = { seed, lines: "harmless", configurations: ["check and sandbox", "check alone"] } as const;
    results = await runCampaign({ ...choice, workers });
  });

  const unasked = (): readonly TrialResult[] => results.filter(({ attempt }) => attempt.allow === undefined);

  test("run and work without a question in every mode; without a sandbox those of which every word is literal", () => {
    const isLiteral = ({ attempt }: TrialResult): boolean =>
      !/[*{$]/.test(attempt.lines.join().replaceAll(/'[^']*'/g, ""));
    const free = unasked().filter((one) => one.setting.configuration === "check and sandbox" || isLiteral(one));
    expect(free.filter(({ result }) => result.outcome !== "worked").map(trialLine)).toEqual([]);
    const bound = unasked().filter((one) => one.setting.configuration === "check alone" && !isLiteral(one));
    expect(bound.length).toBeGreaterThan(0);
    expect(bound.filter(({ result }) => !["asked", "denied"].includes(result.end)).map(trialLine)).toEqual([]);
  });

  test("that one rule allows work in the sandbox without a question", () => {
    const allowed = results.filter(
      ({ attempt, setting }) => attempt.allow !== undefined && "mode" in setting && setting.mode !== "plan",
    );
    expect(allowed.length).toBeGreaterThan(0);
    expect(allowed.filter(({ result }) => result.outcome !== "worked").map(trialLine)).toEqual([]);
  });
});
