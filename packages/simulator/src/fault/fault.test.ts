import { describe, expect, it } from "vitest";
import { FaultChoice, type ProbableFault, parseProbableFault, parseProbableFaults } from "./fault.ts";

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
