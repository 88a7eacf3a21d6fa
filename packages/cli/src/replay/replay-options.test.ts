import { describe, expect, it } from "vitest";
import { type ReplayArguments, parseReplayOptions } from "./replay-options.ts";

const known = {
  all: ["rule", "mask", "never", "cold-only"],
  presets: ["rule", "mask"],
  ablation: ["rule", "rule-bare"],
};
const none: ReplayArguments = {
  policy: undefined,
  prices: undefined,
  window: undefined,
  refetch: undefined,
  cache: undefined,
  compaction: undefined,
  jobs: undefined,
  "rounds-min": undefined,
};
const optionsOf = (given: Partial<ReplayArguments>) => parseReplayOptions({ ...none, ...given }, known);

describe("the options of a replay", () => {
  it("are the presets and never, at five-minute prices, where nothing is said", () => {
    expect(optionsOf({})).toMatchObject({
      policies: ["never", "rule", "mask"],
      prices: ["5m"],
      windowTokens: undefined,
      refetch: "charged",
      cache: "marked",
      compaction: "stand-in",
      roundsMin: undefined,
      baseline: "never",
    });
  });

  it.each<[Partial<ReplayArguments>, object]>([
    [{ policy: "cold-only, rule,cold-only" }, { policies: ["cold-only", "rule"], baseline: "cold-only" }],
    [{ policy: "cold-only,all" }, { policies: ["cold-only", "rule", "mask", "never"], baseline: "never" }],
    [{ policy: "presets" }, { policies: ["rule", "mask"], baseline: "rule" }],
    [{ policy: "ablation" }, { policies: ["rule", "rule-bare"], baseline: "rule" }],
    [{ policy: "never,rule-bare" }, { policies: ["never", "rule-bare"], baseline: "never" }],
    [
      { refetch: "free", cache: "prefix" },
      { refetch: "free", cache: "prefix" },
    ],
    [{ compaction: "extract" }, { compaction: "extract" }],
    [{ window: "none" }, { windowTokens: "none" }],
    [{ window: "200k" }, { windowTokens: 200_000 }],
    [{ window: "1M" }, { windowTokens: 1_000_000 }],
    [{ prices: "1h,auto,1h" }, { prices: ["1h", "auto"] }],
    [
      { window: "1_000_000", jobs: "3", "rounds-min": "1" },
      { windowTokens: 1_000_000, jobs: 3, roundsMin: 1 },
    ],
  ])("are what %o says", (given, expected) => expect(optionsOf(given)).toMatchObject(expected));

  it.each<[Partial<ReplayArguments>, RegExp, RegExp]>([
    [
      { policy: "cold" },
      /unknown policy cold: did you mean cold-only\?/,
      /all, presets, ablation, rule, mask, never, cold-only/,
    ],
    [{ policy: "xyzzy" }, /unknown policy xyzzy$/, /all, presets, ablation, rule/],
    [{ policy: " , " }, /names no policy/, /all, presets/],
    [{ prices: "2h" }, /unknown prices 2h/, /5m, 1h, auto/],
    [{ prices: "" }, /names no prices/, /5m/],
    [{ refetch: "fre" }, /unknown refetch fre: did you mean free\?/, /charged, free/],
    [{ cache: "" }, /unknown cache/, /marked, prefix/],
    [{ compaction: "extrac" }, /unknown compaction extrac: did you mean extract\?/, /stand-in, extract/],
    [{ window: "0" }, /--window 0/, /from 1,000 on/],
    [{ window: "200kB" }, /--window 200kB/, /whole number/],
    [{ jobs: "2k" }, /--jobs 2k/, /from 1 to 64/],
    [{ jobs: "65" }, /--jobs 65/, /from 1 to 64/],
    [{ "rounds-min": "-1" }, /--rounds-min -1/, /whole number/],
    [{ window: "_" }, /--window _/, /whole number/],
  ])("are refused where they can't be meant: %o", (given, message, hint) => {
    expect(optionsOf(given)).toMatchObject({
      kind: "failure",
      code: 2,
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    });
  });
});
