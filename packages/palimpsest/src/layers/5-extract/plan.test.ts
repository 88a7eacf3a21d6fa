import { expect, test } from "vitest";
import { type ExtractionMoment, type ExtractionRule, findExtractionCause } from "./plan.ts";

const moment: ExtractionMoment = { at: "turn-end", turns: 1, said: ["Fix the parser"], tokens: 100, cache: "warm" };
const correction = { said: ["No, use tabs."] };

test.each<[string, Partial<ExtractionRule>, Partial<ExtractionMoment>, string | undefined]>([
  ["each turn", { everyTurns: 1 }, {}, "turns"],
  ["each third turn: not yet", { everyTurns: 3 }, { turns: 2 }, undefined],
  ["each third turn", { everyTurns: 3 }, { turns: 3 }, "turns"],
  ["a correction", { corrections: "at-once" }, correction, "correction"],
  ["no correction", { corrections: "at-once" }, {}, undefined],
  ["enough new text", { growthTokens: 8_000 }, { tokens: 8_000 }, "growth"],
  ["too little new text", { growthTokens: 8_000 }, { tokens: 7_999 }, undefined],
  ["the session's end on a warm cache", { atEnd: "while-warm" }, { at: "session-end" }, "end"],
  ["the session's end on a cold cache", { atEnd: "while-warm" }, { at: "session-end", cache: "cold" }, undefined],
  ["the session's end, if the rule does not want it", { everyTurns: 1 }, { at: "session-end" }, undefined],
  [
    "without a new message of the user, never",
    { everyTurns: 1, growthTokens: 1 },
    { said: [], tokens: 9_999 },
    undefined,
  ],
])("an extraction is due after %s", (_, rule, happened, cause) => {
  expect(findExtractionCause({ turnsMax: 5, ...rule }, { ...moment, ...happened })).toBe(cause);
});
