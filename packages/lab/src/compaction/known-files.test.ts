import { describe, expect, it } from "vitest";
import { entryOf, result, says } from "../../../../test/fixture/raw.ts";
import { KnownFiles } from "./summaries.ts";

interface Step {
  readonly name: string;
  readonly input: object;
  readonly answer: string;
  readonly error?: true;
}

const read = (path: string, answer: string): Step => ({ name: "Read", input: { file_path: path }, answer });
const edit = (path: string): Step => ({ name: "Edit", input: { file_path: path, new_string: "x" }, answer: "ok" });
const write = (path: string, content: string): Step => ({
  name: "Write",
  input: { file_path: path, content },
  answer: "ok",
});

/** Name and text of each, as they are put back. */
function knownBehind(...steps: readonly Step[]): readonly (readonly [string, string | undefined])[] {
  const files = new KnownFiles();
  for (const [at, { name, input, answer, error }] of steps.entries()) {
    files.heard(entryOf(says(`a${at}`, `m${at}`, { type: "tool_use", id: `t${at}`, name, input })));
    const content = [{ type: "tool_result", tool_use_id: `t${at}`, content: answer, is_error: error === true }];
    files.heard(entryOf({ ...result(`r${at}`, `t${at}`), message: { content } }));
  }
  return files.pieces.map(({ title, text }) => [title, text]);
}

describe("the files that a recording knows", () => {
  it.each<[string, readonly Step[], readonly (readonly [string, string | undefined])[]]>([
    [
      "the newest first",
      [read("a", "one"), read("b", "two")],
      [
        ["b", "two"],
        ["a", "one"],
      ],
    ],
    [
      "each once, as it was read last",
      [read("a", "old"), read("b", "two"), read("a", "new")],
      [
        ["a", "new"],
        ["b", "two"],
      ],
    ],
    ["as it was written", [read("a", "old"), write("a", "new")], [["a", "new"]]],
    [
      "a change makes it new and keeps what is known of it",
      [read("a", "one"), read("b", "two"), edit("a")],
      [
        ["a", "one"],
        ["b", "two"],
      ],
    ],
    ["a file that was never shown is only named", [edit("a")], [["a", undefined]]],
    ["what failed shows nothing", [{ ...read("a", "no such file"), error: true }], []],
    ["other tools show no file", [{ name: "Bash", input: { command: "ls" }, answer: "a b" }], []],
  ])("%s", (_, steps, known) => {
    expect(knownBehind(...steps)).toEqual(known);
  });

  it("keeps no more than it may, the newest", () => {
    const known = knownBehind(...Array.from({ length: 320 }, (_, at) => read(`f${at}`, "x")));
    expect(known).toHaveLength(300);
    expect([known[0]?.[0], known.at(-1)?.[0]]).toEqual(["f319", "f20"]);
  });
});
