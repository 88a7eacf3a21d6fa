import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { quietBeforeAnswerMs, shownBeforeAnswerMs } from "../limits.ts";
import {
  guardAfterDraw,
  openGuard,
  guardAfterPress,
  type AnswerGuard,
  guardAfterStray,
  undrawnGuard,
} from "./create-dialog.ts";

type Step = readonly ["draw" | "press", number];

const after = (steps: readonly Step[]): AnswerGuard["kind"] => {
  let quiet: AnswerGuard = undrawnGuard;
  for (const [step, at] of steps)
    quiet = step === "draw" ? guardAfterDraw(quiet, millis(at)) : guardAfterPress(quiet, millis(at));
  return quiet.kind;
};

const draw: Step = ["draw", 0];
/** One each tenth of a second, as who types. */
const keysUntil = (end: number): readonly Step[] =>
  Array.from({ length: end / 100 }, (_, index): Step => ["press", (index + 1) * 100]);

test.each<[string, readonly Step[], AnswerGuard["kind"]]>([
  ["no key counts before anything was drawn", [["press", 9_000]], "undrawn"],
  ["nor right behind it", [draw, ["press", shownBeforeAnswerMs - 1]], "since"],
  ["one after a while does", [draw, ["press", shownBeforeAnswerMs]], "open"],
  ["nor before the keys have been quiet, however long it has been there", [draw, ...keysUntil(5_000)], "since"],
  ["and then one counts", [draw, ...keysUntil(5_000), ["press", 5_000 + quietBeforeAnswerMs]], "open"],
  ["once one has counted, all do", [draw, ["press", shownBeforeAnswerMs], ["press", shownBeforeAnswerMs + 1]], "open"],
  ["another frame changes nothing", [draw, ["draw", shownBeforeAnswerMs - 1], ["press", shownBeforeAnswerMs]], "open"],
  [
    "a clock that is set back makes it begin anew",
    [
      ["draw", 9_000],
      ["press", 0],
      ["press", shownBeforeAnswerMs],
    ],
    "open",
  ],
])("%s", (_, steps, expected) => {
  expect(after(steps)).toBe(expected);
});

test("what is open stays open", () => {
  expect(guardAfterPress(openGuard, millis(0))).toBe(openGuard);
});

test("a letter that means nothing only wants the keys to be quiet again", () => {
  const quiet = guardAfterStray(millis(10_000));
  expect(guardAfterPress(quiet, millis(10_000 + quietBeforeAnswerMs - 1)).kind).toBe("since");
  expect(guardAfterPress(quiet, millis(10_000 + quietBeforeAnswerMs)).kind).toBe("open");
});
