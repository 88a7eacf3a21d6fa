import { describe, expect, it } from "vitest";
import type { Model } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { Spent, UsageSplit } from "palimpsest/internal/cache/usage-split";
import { type Price, priceReply } from "./iteration.ts";

const model = (id: string): Model => {
  const found = findModel(id);
  if (found === undefined) throw new Error(`no model ${id}`);
  return found;
};

const split = (parts: Partial<UsageSplit>): UsageSplit => ({
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  ...parts,
});

/** A million tokens of each kind. */
const million: Spent = {
  usage: {
    inputTokens: 1_000_000,
    cacheReadTokens: 1_000_000,
    cacheWrite5mTokens: 1_000_000,
    cacheWrite1hTokens: 1_000_000,
  },
  outputTokens: 1_000_000,
};

/** Input, 5m write, 1h write, read, output. */
const row = ({ usdByKind: { input, cacheWrite5m, cacheWrite1h, cacheRead, output } }: Price): readonly number[] => [
  input,
  cacheWrite5m,
  cacheWrite1h,
  cacheRead,
  output,
];

describe("a million tokens of each kind", () => {
  it.each<[string, readonly number[]]>([
    ["claude-fable-5-2", [8, 10, 16, 0.2, 40]],
    ["claude-fable-5-1", [10, 12.5, 20, 0.25, 50]],
    ["claude-fable-5", [10, 12.5, 20, 1, 50]],
    ["claude-opus-5-5", [4, 5, 8, 0.2, 20]],
    ["claude-opus-5", [5, 6.25, 10, 0.5, 25]],
    ["claude-sonnet-5-5", [2, 2.5, 4, 0.2, 10]],
    ["claude-sonnet-4-6", [3, 3.75, 6, 0.3, 15]],
    ["claude-haiku-5-5", [0.5, 0.625, 1, 0.05, 2.5]],
    ["claude-haiku-4-5", [1, 1.25, 2, 0.1, 5]],
  ])("%s", (id, usd) => expect(row(priceReply(model(id), million))).toEqual(usd));

  it.each<[string, Partial<Spent>, readonly number[]]>([
    ["claude-opus-5", { speed: "fast" }, [10, 12.5, 20, 1, 50]],
    ["claude-opus-4-8", { speed: "fast" }, [10, 12.5, 20, 1, 50]],
    ["claude-opus-5-5", { speed: "fast" }, [8, 10, 16, 0.4, 40]],
    ["claude-opus-4-7", { speed: "fast" }, [5, 6.25, 10, 0.5, 25]],
    ["claude-sonnet-5", { speed: "fast" }, [2, 2.5, 4, 0.2, 10]],
    ["claude-opus-5", { speed: "standard" }, [5, 6.25, 10, 0.5, 25]],
    ["claude-sonnet-4-6", { inferenceGeo: "us" }, [3.3, 4.125, 6.6, 0.33, 16.5]],
    ["claude-sonnet-4-6", { inferenceGeo: "global" }, [3, 3.75, 6, 0.3, 15]],
    ["claude-sonnet-4-5", { inferenceGeo: "us" }, [3, 3.75, 6, 0.3, 15]],
    ["claude-opus-5", { inferenceGeo: "us", speed: "fast" }, [11, 13.75, 22, 1.1, 55]],
  ])("%s with %o", (id, more, usd) => expect(row(priceReply(model(id), { ...million, ...more }))).toEqual(usd));
});

describe("prompts longer than a model's limit for the lower price", () => {
  it.each<[string, Partial<UsageSplit>, number]>([
    ["100,000 tokens of input", { inputTokens: 100_000 }, 0.01],
    ["one more", { inputTokens: 100_001 }, 0.050_000_5],
    ["what was read counts", { inputTokens: 1, cacheReadTokens: 100_000 }, 0.005_000_5],
    ["what is written for five minutes counts", { inputTokens: 1, cacheWrite5mTokens: 100_000 }, 0.062_500_5],
    ["what is written for an hour counts", { inputTokens: 1, cacheWrite1hTokens: 100_000 }, 0.100_000_5],
  ])("Haiku 5.5, %s", (_, usage, usd) => {
    expect(priceReply(model("claude-haiku-5-5"), { usage: split(usage), outputTokens: 0 }).totalUsd).toBe(usd);
  });

  it("the reply is priced by the prompt, and does not make it longer", () => {
    const output = (inputTokens: number): number =>
      priceReply(model("claude-haiku-5-5"), { usage: split({ inputTokens }), outputTokens: 10_000 }).usdByKind.output;
    expect([output(100_000), output(100_001)]).toEqual([0.005, 0.025]);
  });
});

it("the total is the sum of its kinds without binary noise", () => {
  const usage = split({ inputTokens: 3, cacheReadTokens: 7, cacheWrite5mTokens: 1, cacheWrite1hTokens: 1 });
  const price = priceReply(model("claude-sonnet-4-6"), { usage, outputTokens: 1, inferenceGeo: "us" });
  expect(price).toEqual({
    usdByKind: {
      input: 0.000_009_9,
      cacheRead: 0.000_002_31,
      cacheWrite5m: 0.000_004_125,
      cacheWrite1h: 0.000_006_6,
      output: 0.000_016_5,
    },
    totalUsd: 0.000_039_435,
    usdPerMTok: { input: 3.3, cacheWrite5m: 4.125, cacheWrite1h: 6.6, cacheRead: 0.33, output: 16.5 },
  });
});
