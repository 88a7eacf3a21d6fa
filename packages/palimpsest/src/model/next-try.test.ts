import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelFailure } from "../ports/model-port.ts";
import { millis } from "../schema/brand.ts";
import { retryLimitsDefault } from "./limits.ts";
import { nextTry } from "./next-try.ts";

const limits = {
  triesMax: 4,
  backoffMillis: millis(500),
  backoffMillisMax: millis(1_500),
  retryAfterMillisMax: millis(120_000),
};
const overloaded: ModelFailure = { why: "overloaded", retry: "later", message: "Overloaded" };
const asking = (seconds: number): ModelFailure => ({
  why: "rate-limited",
  retry: "later",
  message: "Slow down",
  retryAfterMs: millis(seconds * 1_000),
});

describe("after a try that failed", () => {
  it.each([
    { rule: "the first wait is short", failure: overloaded, attempt: 1, random: 1, ms: 500 },
    { rule: "the second may be twice as long", failure: overloaded, attempt: 2, random: 1, ms: 1_000 },
    { rule: "no wait is longer than the limit", failure: overloaded, attempt: 3, random: 1, ms: 1_500 },
    { rule: "chance may cut a wait to nothing", failure: overloaded, attempt: 3, random: 0, ms: 0 },
    { rule: "chance cuts evenly", failure: overloaded, attempt: 2, random: 0.25, ms: 250 },
    { rule: "what the server asks for is waited", failure: asking(7), attempt: 1, random: 0, ms: 7_000 },
    { rule: "chance only adds to it", failure: asking(7), attempt: 3, random: 0.5, ms: 7_250 },
    { rule: "the longest that it may ask for", failure: asking(120), attempt: 1, random: 0, ms: 120_000 },
    { rule: "at once, if it says so", failure: asking(0), attempt: 1, random: 0, ms: 0 },
  ])("$rule", ({ failure, attempt, random, ms }) => {
    expect(nextTry({ failure, attempt, random, limits })).toEqual({ kind: "wait", ms });
  });

  it.each<{ rule: string; failure: ModelFailure; attempt: number; message: string }>([
    {
      rule: "what can't succeed is not tried again",
      failure: { why: "refused", retry: "never", message: "No such field" },
      attempt: 1,
      message: "No such field",
    },
    { rule: "tries have an end", failure: overloaded, attempt: 4, message: "Overloaded (tried 4 times)" },
    {
      rule: "a long wait is told, not waited",
      failure: asking(121),
      attempt: 1,
      message: "Slow down (the server asks to wait 3 minutes)",
    },
    {
      rule: "a very long wait is told in hours",
      failure: asking(4 * 3_600),
      attempt: 1,
      message: "Slow down (the server asks to wait 4 hours)",
    },
  ])("$rule", ({ failure, attempt, message }) => {
    expect(nextTry({ failure, attempt, random: 0.5, limits })).toEqual({ kind: "give-up", message });
  });

  it("always ends, and never waits longer than the limits allow", () => {
    const longest = retryLimitsDefault.retryAfterMillisMax + retryLimitsDefault.backoffMillis;
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 20 }), (chances) => {
        const plans = chances.map((random, at) =>
          nextTry({ failure: overloaded, attempt: at + 1, random, limits: retryLimitsDefault }),
        );
        const waits = plans.filter((plan) => plan.kind === "wait");
        expect(waits).toHaveLength(retryLimitsDefault.triesMax - 1);
        for (const { ms } of waits) expect(ms >= 0 && ms <= longest).toBe(true);
      }),
    );
  });
});
