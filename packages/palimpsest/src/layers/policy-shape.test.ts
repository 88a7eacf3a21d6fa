import { describe, expect, it } from "vitest";
import { autoCallsRounds } from "../context/compact/limits.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import type { Policy } from "./policy.ts";
import { policyShape } from "./policy-shape.ts";

const preset = getPreset("palimpsest");
const { byPrice } = preset.clear;
const { compact, summary } = preset;
if (byPrice?.worth === undefined || compact?.early === undefined || summary?.userMessages === undefined)
  throw new Error("the preset lacks a rule");
const { worth } = byPrice;
const { early } = compact;
const { userMessages } = summary;

const withClearShare = (windowShareMin: { readonly warm: number; readonly cold: number }): Policy => ({
  ...preset,
  clear: { ...preset.clear, byPrice: { ...byPrice, worth: { ...worth, windowShareMin } } },
});

describe("a share of the window", () => {
  it.each<[string, (share: number) => Policy]>([
    ["that a warm clear makes room for", (warm) => withClearShare({ warm, cold: 0 })],
    ["that a cold clear makes room for", (cold) => withClearShare({ warm: 0, cold })],
    [
      "from which compaction is early",
      (fromWindowShare) => ({ ...preset, compact: { ...compact, early: { ...early, fromWindowShare } } }),
    ],
    [
      "for the user's messages",
      (windowShareMax) => ({ ...preset, summary: { ...summary, userMessages: { ...userMessages, windowShareMax } } }),
    ],
  ])("%s is from 0 to 1", (_, withShare) => {
    const accepted = [-0.1, 0, 0.5, 1, 1.1, 65].map((share) => policyShape.safeParse(withShare(share)).success);
    expect(accepted).toEqual([false, true, true, true, false, false]);
  });
});

it("calls are limited in no more rounds than are searched for them", () => {
  const accepts = (inRounds: number): boolean =>
    policyShape.safeParse({
      ...preset,
      summary: { ...summary, failures: { ...summary.failures, callsMax: { calls: 6, inRounds } } },
    }).success;
  expect(accepts(autoCallsRounds)).toBe(true);
  expect(accepts(autoCallsRounds + 1)).toBe(false);
});
