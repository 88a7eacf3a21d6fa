import { expect, test } from "vitest";
import { rungs, refusalLadder } from "./refusal-ladder.ts";

test("a refusal that names nothing walks the rungs from the cheapest to the summary of everything", () => {
  expect(refusalLadder({ why: "refused" })).toEqual([
    "server-summary",
    "thinking",
    "media",
    "other-blocks",
    "everything",
  ]);
});

test("one that names its cause goes straight there, and then to the others, each once", () => {
  const walked = refusalLadder({ why: "refused", part: "media" });
  expect(walked[0]).toBe("media");
  expect(walked.toSorted()).toEqual(rungs.toSorted());
});

test("what is too long is made shorter first", () => {
  expect(refusalLadder({ why: "too-long" })).toEqual(["shorter", ...rungs]);
});

test.each(["unauthorised", "spend-limit", "not-found", "rate-limited", "overloaded", "server", "network"] as const)(
  "%s is not about the body: no rung helps",
  (why) => {
    expect(refusalLadder({ why })).toEqual([]);
  },
);

test.each(["tools", "settings"] as const)("a refusal that names %s is not cured by less of what was said", (beside) => {
  expect(refusalLadder({ why: "refused", beside })).toEqual([]);
});
