import { describe, expect, it } from "vitest";
import { decisionsMax, detailsMax, lineCharsMax } from "../limits.ts";
import { findAnswers, findDecisions, findDetails, findObjection, toFactLine } from "./text-facts.ts";

describe("details of a message", () => {
  it.each<[string, string, readonly string[]]>([
    ["a path, without what ends the sentence", "Look at src/clock/face.ts.", ["src/clock/face.ts"]],
    ["an absolute path and a name with an ending", "Move /etc/tower.conf to bells.md", ["/etc/tower.conf", "bells.md"]],
    ["camel and snake case", "`turnHands` calls wind_up, TowerClock too", ["turnHands", "wind_up", "TowerClock"]],
    [
      "numbers of more than one digit, with units and signs",
      "Wait 250ms, retry #42 on port 8080, 15%",
      ["250ms", "#42", "8080", "15%"],
    ],
    ["versions and flags", "Use v2.10.3 with --no-cache", ["v2.10.3", "--no-cache"]],
    ["letters mixed with digits", "commit 4f2a9c1 broke it", ["4f2a9c1"]],
    ["each once", "port 8080, yes 8080", ["8080"]],
    ["no words of the language, and no single digit", "Please mend it. Do 3 things - and well.", []],
  ])("has %s", (_, said, found) => {
    expect(findDetails(said)).toEqual(found);
  });

  it("stops where a message was pasted", () => {
    const log = Array.from({ length: 3 * detailsMax }, (_, n) => `line_${n}`).join(" ");
    expect(findDetails(log)).toHaveLength(detailsMax);
  });
});

describe("decisions of the user", () => {
  it.each<[string, string, readonly string[]]>([
    ["a sentence that settles something", "It is late. Let's use copper hands. Thanks!", ["Let's use copper hands."]],
    ["what must not be done", "Mend the clock.\nNever touch the bells", ["Never touch the bells"]],
    ["nothing of code", "So:\n```\nyou must not use this\n```\nAnd keep the bells.", ["And keep the bells."]],
    ["nothing of what only asks", "What time is it? Where are the weights?", []],
    ["nothing that is too short to be looked up", "Use it.", []],
  ])("are %s", (_, said, found) => {
    expect(findDecisions(said)).toEqual(found);
  });

  it("are not all that a pasted text says", () => {
    const pasted = Array.from({ length: 3 * decisionsMax }, (_, n) => `You must do number ${n}.`).join("\n");
    expect(findDecisions(pasted)).toHaveLength(decisionsMax);
  });

  it("are what was answered to a question", () => {
    expect(findAnswers('The user answered: "Which metal?"="Copper, please", "How many hands?"="Two".')).toEqual([
      "Copper, please",
      "Two",
    ]);
  });

  it.each<[string, string | undefined]>([
    [
      "The user doesn't want to proceed. To tell you how to proceed, the user said:\nuse the other clock",
      "use the other clock",
    ],
    ["The user doesn't want to take this action right now.", ""],
    ["Error: no such clock", undefined],
  ])("are what was said where a call was not let happen: %j", (result, said) => {
    expect(findObjection(result)).toBe(said);
  });
});

it("makes one line of a fact, cut where it gets long", () => {
  expect(toFactLine("  a\n\tb  c ")).toBe("a b c");
  expect(toFactLine("x".repeat(3 * lineCharsMax))).toHaveLength(lineCharsMax);
});
