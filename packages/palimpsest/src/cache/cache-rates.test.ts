import { expect, it } from "vitest";
import { ratesForModel, usualRates } from "./cache-rates.ts";

const prices = { input: 4, output: 20, cacheRead: 0.2, cacheWrite5m: 5, cacheWrite1h: 8 };

it("rates are prices by that of an uncached token", () => {
  expect(ratesForModel({ prices }, "5m")).toEqual({ read: 0.05, write: 1.25, output: 5 });
  expect(ratesForModel({ prices }, "1h")).toEqual({ read: 0.05, write: 2, output: 5 });
});

it.each([undefined, { prices: { ...prices, input: 0 } }])("the usual ones where nobody knows better", (model) => {
  expect(ratesForModel(model, "1h")).toBe(usualRates["1h"]);
});
