import { expect, test } from "vitest";
import { formatDollars } from "./format-dollars.ts";

test.each([
  [12.345, "$12.35"],
  [0.05, "$0.05"],
  [0.0149, "$0.01"],
  [0.0042, "$0.004"],
  [0.0002, "less than $0.001"],
])("%d dollars read as %s", (usd, text) => {
  expect(formatDollars(usd)).toBe(text);
});
