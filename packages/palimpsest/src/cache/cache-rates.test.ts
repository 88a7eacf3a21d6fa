import { expect, it } from "vitest";
import { callRates, ratesForModel, usualRates } from "./cache-rates.ts";

const prices = { input: 4, output: 20, cacheRead: 0.2, cacheWrite5m: 5, cacheWrite1h: 8 };

it("rates are prices by that of an uncached token", () => {
  expect(ratesForModel({ prices }, "5m")).toEqual({ read: 0.05, write: 1.25, output: 5 });
  expect(ratesForModel({ prices }, "1h")).toEqual({ read: 0.05, write: 2, output: 5 });
});

it.each([undefined, { prices: { ...prices, input: 0 } }])("the usual ones where nobody knows better", (model) => {
  expect(ratesForModel(model, "1h")).toBe(usualRates["1h"]);
});

it("another model's call is priced by what the conversation's model asks for a prompt of that length", () => {
  const long = { ...prices, input: 8, output: 30 };
  const base = { prices, longPrompt: { overTokens: 200_000, prices: long } };
  const small = { prices: { ...prices, input: 1, output: 5 } };
  expect(callRates(small, { base, promptTokens: 200_000 })).toEqual({ input: 1 / 4, output: 5 / 4 });
  expect(callRates(small, { base, promptTokens: 200_001 })).toEqual({ input: 1 / 8, output: 5 / 8 });
});
