import { describe, expect, it } from "vitest";
import {
  answers,
  assistantSays,
  calls,
  delivered,
  requestOf,
  said,
  tool,
  userSays,
} from "../../../../test/fixture/scene.ts";
import { extractResponder } from "./extract-responder.ts";

/** What takes time in proportion is done in a moment; what takes the square of it takes minutes. */
const charsOf = 200_000;
const repeated = (text: string): string => text.repeat(Math.ceil(charsOf / text.length));
const tools = [
  tool("Edit", ["file_path", "old_string", "new_string"]),
  tool("Write", ["file_path", "content"]),
  tool("Bash", ["command"]),
];

const texts: readonly (readonly [string, string])[] = [
  ["one word", repeated("a")],
  ["one word with full stops", repeated("a.")],
  ["one path", repeated("a/")],
  ["one path with endings", repeated("a/b.c/")],
  ["slashes and a word", `${repeated("/")}memory${repeated("/.")}x`],
  ["a long folder for memories", `${repeated("a")}/memory/${repeated("b")}`],
  ["elements that are not closed", repeated("<system-reminder>")],
  [
    "elements of many names that are not closed",
    Array.from({ length: 15_000 }, (_, at) => `<command-${letters(at)}>`).join(""),
  ],
  ["elements for notes that are not closed", repeated("<notes>")],
  ["a tag that does not end", `<${repeated("notes")}`],
  ["tags that do not end", repeated("<notes ")],
  ["empty lines", `a${repeated("\n")}b`],
  ["heads of a summary", repeated("1. Primary Request\n6. All User Messages\n")],
  ["speakers", repeated("User:\n\n")],
  ["blanks", `3${repeated(" ")}x`],
  ["quotes", repeated("`a.m'")],
];

function letters(at: number): string {
  return String(at).replaceAll(/\d/g, (digit) => String.fromCodePoint(97 + Number(digit)));
}

const asks: readonly (readonly [string, string])[] = [
  ["summary", "Give a <summary> of the conversation."],
  ["notes", "Update the sections of the notes file notes.md."],
  ["memories", "Save new memories."],
  ["other", "Well?"],
];

describe.each(asks)("long requests are answered: %s", (_task, ask) => {
  it.each(texts)("%s", async (_, text) => {
    const request = requestOf(
      [
        userSays(text, "Always do it."),
        assistantSays(text, calls("t1", "Bash", { command: text })),
        answers("t1", text, { is_error: true }),
        assistantSays(text),
        userSays(`${ask} ${text}`),
      ],
      { tools },
    );
    expect(said(await delivered(extractResponder, request))).not.toBe("");
  });
});

it("ten thousand failures find what repaired them", async () => {
  const messages = Array.from({ length: 10_000 }, (_, at) => [
    assistantSays(calls(`t${at}`, "Bash", { command: "npm test" })),
    answers(`t${at}`, "FAIL", { is_error: true }),
  ]).flat();
  const fixed = [assistantSays(calls("fix", "Edit", { file_path: "src/a.ts" })), answers("fix", "ok")];
  const request = requestOf([userSays("Go"), ...messages, ...fixed, userSays("<summary>")]);
  const summary = said(await delivered(extractResponder, request));
  expect(summary).toContain("- Bash npm test: FAIL (then Edit src/a.ts)");
});
