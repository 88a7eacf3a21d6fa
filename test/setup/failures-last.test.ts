import { expect, it } from "vitest";
import { failureLines } from "./failures-last.ts";

it("a run that failed ends with each failure on one line, and then the count", () => {
  const failed = [
    { file: "src/a.test.ts", test: "adds > twice", error: "\nexpected 3 to be 4\n\n- Expected\n+ Received" },
    { file: "src/b.test.ts", error: "Cannot find module './b.ts'" },
    { file: "src/c.test.ts", test: "throws", error: undefined },
  ];
  expect(failureLines({ passed: 12, failed })).toEqual([
    "src/a.test.ts › adds > twice: expected 3 to be 4",
    "src/b.test.ts: Cannot find module './b.ts'",
    "src/c.test.ts › throws: no reason was given",
    "12 passed, 3 failed",
  ]);
});

it("a run that passed ends as it always does", () => {
  expect(failureLines({ passed: 12, failed: [] })).toEqual([]);
});
