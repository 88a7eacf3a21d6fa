import { expect, it } from "vitest";
import { type StoredCase, withCases } from "../bench/stored.ts";

const measured = (commit: string, value: number): StoredCase => ({
  conditions: { commit },
  figures: [{ name: "a figure", value, unit: "×", detail: "" }],
});
const casesIn = (file: string): unknown => (JSON.parse(file) as { cases: unknown }).cases;

it("a run of one case leaves the stored figures of the others, each with its own conditions", () => {
  const whole = withCases(undefined, { append: measured("one", 1), view: measured("one", 2) });
  const again = withCases(whole, { view: measured("one with changes", 3) });
  expect(casesIn(again)).toEqual({ append: measured("one", 1), view: measured("one with changes", 3) });
});

it("a file of another form is written anew", () => {
  expect(casesIn(withCases('{"figures":[]}', { view: measured("one", 2) }))).toEqual({ view: measured("one", 2) });
});
