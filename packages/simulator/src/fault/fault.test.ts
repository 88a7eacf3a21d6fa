import { describe, expect, it } from "vitest";
import {
  FaultChoice,
  type ProbableFault,
  parseProbableFault,
  parseProbableFaults,
  type Fault,
  faultKinds,
  formatFault,
  parseFault,
} from "./fault.ts";
import * as fc from "fast-check";
import { millis } from "palimpsest/internal/schema/brand";
import { clockJumpMillisMax, pauseMillisMax, usageFactorMax } from "../limits.ts";

const overloaded: ProbableFault = { fault: { kind: "overloaded" }, probability: 0.2 };
const reset: ProbableFault = { fault: { kind: "reset" }, probability: 0.05 };
const numbers = Array.from({ length: 20_000 }, (_, at) => at + 1);

describe("FaultChoice", () => {
  it("gives the same request the same fault, in whatever order requests come", () => {
    const once = new FaultChoice({ faults: [overloaded, reset], seed: 7 });
    const again = new FaultChoice({ faults: [overloaded, reset], seed: 7 });
    const backwards = numbers.toReversed().map((number) => again.choose(number));
    expect(numbers.map((number) => once.choose(number))).toEqual(backwards.toReversed());
  });

  it("gives other faults for another seed", () => {
    const kinds = (seed: number) => {
      const choice = new FaultChoice({ faults: [overloaded], seed });
      return numbers.slice(0, 200).map((number) => choice.choose(number)?.kind);
    };
    expect(kinds(1)).not.toEqual(kinds(2));
  });

  it("gives each fault as often as its probability says", () => {
    const choice = new FaultChoice({ faults: [overloaded, reset], seed: 3 });
    const chosen = numbers.map((number) => choice.choose(number)?.kind);
    const share = (kind: string) => chosen.filter((one) => one === kind).length / numbers.length;
    expect(share("overloaded")).toBeCloseTo(0.2, 1.5);
    expect(share("reset")).toBeCloseTo(0.05, 1.5);
  });

  it("never gives what has no probability and always what is certain", () => {
    const faults = [
      { ...reset, probability: 0 },
      { ...overloaded, probability: 1 },
    ];
    const choice = new FaultChoice({ faults, seed: 9 });
    expect(new Set(numbers.map((number) => choice.choose(number)?.kind))).toEqual(new Set(["overloaded"]));
  });

  it("does not take more than certainty", () => {
    expect(() => new FaultChoice({ faults: [overloaded, { ...reset, probability: 0.9 }], seed: 1 })).toThrow("1.1");
  });
});

describe("the text of faults by chance", () => {
  it.each<[string, ProbableFault]>([
    ["overloaded 0.1", { fault: { kind: "overloaded" }, probability: 0.1 }],
    ["rate-limit retry-after=3  .05 ", { fault: { kind: "rate-limit", retryAfterSeconds: 3 }, probability: 0.05 }],
    ["hang 1", { fault: { kind: "hang" }, probability: 1 }],
  ])("%j is a fault with its probability", (text, fault) => {
    expect(parseProbableFault(text)).toEqual({ kind: "fault", fault });
  });

  it.each([
    ["overloaded", /probability from 0 to 1: overloaded$/],
    ["0.1", /probability from 0 to 1: 0\.1$/],
    ["overloaded 1.5", /probability from 0 to 1/],
    ["overloaded -0.5", /probability from 0 to 1/],
    ["overlaoded 0.5", /^unknown fault overlaoded/],
    ["break after=x 0.5", /^break: after is a number of events, not x$/],
  ])("%j is wrong, and the message says why", (text, message) => {
    expect(parseProbableFault(text)).toEqual({ kind: "wrong", message: expect.stringMatching(message) as string });
  });

  it("takes ten faults of a tenth each and refuses an eleventh", () => {
    const ten = Array.from({ length: 10 }, () => "overloaded 0.1");
    expect(parseProbableFaults(ten)).toMatchObject({ kind: "faults" });
    expect(parseProbableFaults([...ten, "reset 0.1"])).toEqual({
      kind: "wrong",
      message: "the probabilities of faults add up to 1.1: a request gets one at most",
    });
    expect(parseProbableFaults(["overloaded 0.1", "nothing 0.1"])).toMatchObject({ kind: "wrong" });
  });
});

describe("parseFault", () => {
  it.each<[string, Fault]>([
    ["rate-limit", { kind: "rate-limit" }],
    ["rate-limit retry-after=3", { kind: "rate-limit", retryAfterSeconds: 3 }],
    ["server-error", { kind: "server-error" }],
    ["  overloaded ", { kind: "overloaded" }],
    ["break", { kind: "break", afterEvents: 5 }],
    ["break after=0", { kind: "break", afterEvents: 0 }],
    ["overloaded-midway", { kind: "overloaded-midway", afterEvents: 3 }],
    ["trickle", { kind: "trickle", everyMs: millis(50) }],
    ["trickle   every=10", { kind: "trickle", everyMs: millis(10) }],
    ["wrong-usage", { kind: "wrong-usage", factor: 0.5 }],
    ["wrong-usage factor=1e-7", { kind: "wrong-usage", factor: 1e-7 }],
    ["wrong-usage factor=1000", { kind: "wrong-usage", factor: 1000 }],
    ["clock-jump", { kind: "clock-jump", byMs: millis(600_000) }],
    ["clock-jump by=-5", { kind: "clock-jump", byMs: millis(-5) }],
  ])("%j is a fault", (text, fault) => {
    expect(parseFault(text)).toEqual({ kind: "fault", fault });
  });

  it.each([
    ["", /^a fault has a name: one of rate-limit, /],
    ["overlaoded", /^unknown fault overlaoded: one of .*clock-jump$/],
    ["hang after=3", /^hang takes nothing more: after=3$/],
    ["break 5", /^break takes after=a number of events, not 5$/],
    ["break every=5", /^break takes after=a number of events, not every=5$/],
    ["break after=5 after=6", /^break takes after=a number of events, not after=5 after=6$/],
    ["break after=", /^break: after is a number of events, not empty$/],
    ["break after=-1", /^break: after is a number of events, not -1$/],
    ["break after=1.5", /not 1\.5$/],
    ["trickle every=0x10", /^trickle: every is whole milliseconds up to \d+, not 0x10$/],
    ["rate-limit retry-after=soon", /^rate-limit: retry-after is whole seconds, not soon$/],
    ["wrong-usage factor=-1", /^wrong-usage: factor is a number from 0 to 1000, not -1$/],
    ["wrong-usage factor=1000.5", /not 1000\.5$/],
    ["wrong-usage factor=1e300", /^wrong-usage: factor is a number from 0 to 1000, not 1e300$/],
    ["wrong-usage factor=Infinity", /not Infinity$/],
    ["clock-jump by=8640000000000000", /^clock-jump: by is whole milliseconds, a hundred years at most, not 864/],
  ])("%j is wrong, and the message says why", (text, message) => {
    expect(parseFault(text)).toEqual({ kind: "wrong", message: expect.stringMatching(message) as string });
  });

  it("reads back whatever faultText writes", () => {
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    const anyFault = fc
      .record({
        kind: fc.constantFrom(...faultKinds),
        count,
        jump: fc.integer({ min: -clockJumpMillisMax, max: clockJumpMillisMax }),
        factor: fc.double({ min: 0, max: usageFactorMax, noNaN: true, noDefaultInfinity: true }),
      })
      .map(({ kind, count, jump, factor }): Fault => {
        if (kind === "rate-limit") return count % 2 === 0 ? { kind } : { kind, retryAfterSeconds: count };
        if (kind === "break" || kind === "overloaded-midway") return { kind, afterEvents: count };
        if (kind === "trickle") return { kind, everyMs: millis(count % pauseMillisMax) };
        if (kind === "wrong-usage") return { kind, factor };
        if (kind === "clock-jump") return { kind, byMs: millis(jump) };
        return { kind };
      });
    fc.assert(
      fc.property(anyFault, (fault) => {
        expect(parseFault(formatFault(fault))).toEqual({ kind: "fault", fault });
      }),
    );
  });
});
