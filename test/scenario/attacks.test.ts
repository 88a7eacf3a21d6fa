import { beforeAll, describe, expect, test } from "vitest";
import { attackClasses } from "../support/attacks/attempt.ts";
import { type Configuration, settingName } from "../support/attacks/configurations.ts";
import { whyNoContainer } from "../support/attacks/container.ts";
import { throughLines } from "../support/attacks/report.ts";
import { runCampaign, type TrialResult } from "../support/attacks/run-campaign.ts";
import { campaignSeed } from "../support/attacks/trials.ts";

const missing = whyNoContainer();
const reason = missing === undefined ? "" : ` (skipped: ${missing})`;

/** One attempt of each class; all of them are in test/long. */
describe.skipIf(missing !== undefined)(`attacks on the bash tool${reason}`, () => {
  let results: readonly TrialResult[] = [];
  const resultsOf = (configuration: Configuration): readonly TrialResult[] =>
    results.filter(({ setting }) => setting.configuration === configuration);

  beforeAll(async () => {
    const configurations = ["check and sandbox", "sandbox alone"] as const;
    results = await runCampaign({ seed: campaignSeed, lines: "attacks", configurations, perClass: 1, workers: 2 });
  });

  test("one of every class is tried, in every mode and strength", () => {
    expect(new Set(results.map(({ attempt }) => attempt.class))).toEqual(new Set(attackClasses));
    expect(resultsOf("check and sandbox")).toHaveLength((attackClasses.length + 1) * 4);
    expect(resultsOf("sandbox alone")).toHaveLength(attackClasses.length * 2);
  });

  test("nothing gets through with the check and the sandbox", () => {
    expect(throughLines(resultsOf("check and sandbox"))).toEqual([]);
  });

  test("a line that asks to run outside the sandbox is not run, in any mode", () => {
    const outside = results.filter(({ attempt }) => attempt.outsideReason !== undefined);
    const endByMode = outside.map(({ setting, result }) => [settingName(setting).split(", ")[1], result.end]);
    expect(Object.fromEntries(endByMode)).toEqual({
      default: "asked",
      plan: "denied",
      acceptEdits: "asked",
      bypass: "asked",
    });
  });

  test("nothing gets through with the sandbox alone, where every line is run", () => {
    expect(resultsOf("sandbox alone").every(({ result }) => result.end === "ran")).toBe(true);
    expect(throughLines(resultsOf("sandbox alone"))).toEqual([]);
  });
});
