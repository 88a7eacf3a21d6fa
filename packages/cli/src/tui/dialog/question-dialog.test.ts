import { describe, expect, test } from "vitest";
import { Desk, key, open, typed } from "../../../../../test/fixture/dialog-desk.ts";
import type { Question, QuestionAnswer } from "palimpsest/internal/ports/user-port";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { questionDialog } from "./question-dialog.ts";

const one: Question = {
  question: "Which store?",
  header: "Store",
  options: [{ label: "SQLite", description: "a file" }, { label: "Postgres" }],
  choose: "one",
};
const many: Question = {
  question: "Which tests?",
  options: [{ label: "unit" }, { label: "pty" }, { label: "long" }],
  choose: "many",
};
const bare: Question = { question: "What name?", options: [], choose: "one" };

const desk = (...questions: readonly Question[]): Desk<QuestionAnswer> =>
  new Desk((deps) => questionDialog({ toolUse: toolUseId("t"), questions }, deps)).seen();

const answered = (...answers: readonly (readonly string[])[]): QuestionAnswer => ({ kind: "answered", answers });
const declined: QuestionAnswer = { kind: "declined" };
const other = [key.up, key.enter];

describe("answers", () => {
  test.each<[string, readonly Question[], readonly string[], QuestionAnswer | typeof open]>([
    ["Enter answers with what is at hand", [one], [key.enter], answered(["SQLite"])],
    ["so it does after an arrow", [one], [key.down, key.enter], answered(["Postgres"])],
    ["a number answers", [one], ["2"], answered(["Postgres"])],
    ["something else is written", [one], [...other, ...typed("files"), key.enter], answered(["files"])],
    ["nothing written goes back", [one], [...other, key.enter, "1"], answered(["SQLite"])],
    ["numbers in what is written are letters", [one], [...other, "1", key.enter], answered(["1"])],
    ["space ticks, Enter is done", [many], [" ", key.down, key.down, " ", key.enter], answered(["unit", "long"])],
    ["numbers tick, in the order of the options", [many], ["3", "1", key.enter], answered(["unit", "long"])],
    ["what is ticked twice is not", [many], ["3", "1", "3", key.enter], answered(["unit"])],
    ["with nothing ticked Enter takes what is at hand", [many], [key.down, key.enter], answered(["pty"])],
    [
      "what is written comes behind what is ticked",
      [many],
      ["4", ...typed("all"), key.enter, "1", key.up, key.enter],
      answered(["unit", "all"]),
    ],
    [
      "what was written can be taken back",
      [many],
      ["4", ...typed("a"), key.enter, " ", "1", key.enter],
      answered(["unit"]),
    ],
    ["a question without options is answered in words", [bare], [...typed("kim"), key.enter], answered(["kim"])],
    ["or left unanswered", [bare], [key.enter], answered([])],
    [
      "one after the other",
      [one, bare, many],
      ["1", ...typed("x"), key.enter, "2", key.enter],
      answered(["SQLite"], ["x"], ["pty"]),
    ],
    ["→ leaves one unanswered", [one, one], [key.right, "1"], answered([], ["SQLite"])],
    ["← goes back to the one before", [one, one], ["1", key.left, "2", "2"], answered(["Postgres"], ["Postgres"])],
    ["not all are answered yet", [one, one], ["1"], open],
    ["Esc declines", [one], [key.esc], declined],
    ["Esc in the words goes back first", [one], [...other, "a", key.esc, key.esc], declined],
    ["Esc declines a question without options", [bare], [key.esc], declined],
    ["Ctrl-C declines", [many], ["1", key.ctrlC], declined],
    ["a pasted number is none", [one], [key.paste("1")], open],
  ])("%s", async (_, questions, keys, expected) => {
    expect(
      await desk(...questions)
        .press(...keys)
        .answer(),
    ).toEqual(expected);
  });
});

test("what is shown is the question, its options and how far one is", () => {
  const { text } = desk(one, many);
  for (const shown of ["Store (1 of 2)", "Which store?", "❯ 1. SQLite", "a file", "3. Something else…"])
    expect(text).toContain(shown);
  expect(desk(many).press("2").text).toContain("2. [x] pty");
});
