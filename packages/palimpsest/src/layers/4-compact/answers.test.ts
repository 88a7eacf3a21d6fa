import { describe, expect, it } from "vitest";
import { parseAnswers, refusalText } from "./facts/fact-book.ts";

describe("what the user answered", () => {
  it("is told question by question, without what the client says around it", () => {
    const said = 'User has answered: "Which one?"="the first", "And when?"="now" user notes: now. Go on.';
    expect(parseAnswers(said, "Ask")).toEqual([
      { question: "Which one?", answer: "the first" },
      { question: "And when?", answer: "now" },
    ]);
  });

  it("is the whole result where no such form is in it", () => {
    expect(parseAnswers("the second", "Ask")).toEqual([{ question: "Ask", answer: "the second" }]);
  });

  it.each([
    [
      "their own words",
      "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nleave the lock file\n\nNote: The user's next message may contain more.",
      "leave the lock file",
    ],
    ["what the client says, where they said nothing", "The user rejected this.", "The user rejected this."],
    [
      "what the client says, where their words are blank",
      "It stops here, the user said:\n ",
      "It stops here, the user said:\n ",
    ],
  ])("is of a call that they did not allow %s", (_, said, words) => {
    expect(refusalText(said)).toBe(words);
  });
});
