import { describe, expect, it } from "vitest";
import { unmarkInventedQuotes } from "./unmark-invented-quotes.ts";
import { findMarkedQuotes } from "./quote-mark.ts";

const said = [
  "Port the parser to TypeScript.\nKeep the tests green, please!",
  'Rename "lex" to “scan” and don’t touch main.',
  "1. add a flag\n2. document it",
];

const unmarked = (summary: string): string => unmarkInventedQuotes(summary, said).text;

describe("what is marked as the user's words", () => {
  it.each<[string, string, readonly string[]]>([
    [
      "each line of the section",
      '## 6. All User Messages\n- "a"\n- "b\n  c"\n\n## 7. Pending Tasks\n- d',
      ["a", "b", "c"],
    ],
    ["words behind the section's heading", "6. **All User Messages**: stop", ["stop"]],
    ...[
      "## 6. All User Messages (verbatim)",
      "6. All user messages (verbatim):",
      "### All User Messages — in order",
      "## 6. All user messages so far",
      "**6. All User Messages (in order)**",
      "6. **All User Messages** (verbatim, in order):",
      "## User messages",
      "6. The user's messages:",
      "All user messages, as typed:",
      "## All User Messages ##",
    ].map((heading): [string, string, readonly string[]] => [`lines under ${heading}`, `${heading}\n- "a"`, ["a"]]),
    ["words behind the section's heading without a colon", "## All User Messages - delete all  ", ["delete all"]],
    ["no sentence about the messages", "All user messages were answered.\n- a\n3. User messages are stored\n- b", []],
    ["not that there are none", "## 6. All User Messages\nNone.", []],
    ["what follows an attribution", "- User asked: do it", ["do it"]],
    ["what follows one in a sentence", "Then the user explicitly said: do it", ["do it"]],
    ["quotes behind one", 'The user asked (turn 3): "a" and "b", done', ["a", "b"]],
    ["the user's message", "User's last message: do it", ["do it"]],
    ["a bare label", "**User**: do it", ["do it"]],
    ["quotes in a sentence", 'The user said that “a” matters, not "b"', ["a", "b"]],
    ["a quote that is not closed", 'The user wrote "do it', ["do it"]],
    ["the block that an attribution announces", "The user asked for the following:\n\n- a\n- b\n\nc", ["a", "b"]],
    ["single quotes", "User said 'don't delete prod', the users' way", ["don't delete prod"]],
    ["quotes of other kinds", "The user said «a», „b“ and ‘c’", ["a", "b", "c"]],
    ["what the user prefers, in quotes", 'The user prefers "a"', ["a"]],
    ["a message from the user", 'Latest message from the user: "a"', ["a"]],
    ["what is verbatim from the user", 'Verbatim from user: "a"', ["a"]],
    ["what they asked", 'They asked: "a"', ["a"]],
    ["what stands under the user's name, up to the next heading", "### User\na\n\n> b\n### Reply\nc", ["a", "b"]],
    ["the block behind the user's name", "**User**\n> a\n\nb\nUser:\n> c", ["a", "c"]],
    ["nothing that they asked without quotes", "They asked: whether it is done", []],
    ["no apostrophes", "The user said it's the tests' fault. They don't mind.", []],
    ["no lists of names", "- User\n- Order", []],
    ["nothing that is told", "The user asked to port it. A user model holds names.", []],
    ["no quotes of others", 'The test says "user missing".', []],
    ["no code", '```\nUser asked: x\nconst user = "said"\n```', []],
    ["no keys of data", 'user: see `name: "x"` in user_id', ['see `name: "x"` in user_id']],
    ["no handler", "The user request handler: src/request.ts", []],
  ])("%s", (_, summary, words) => {
    expect(findMarkedQuotes(summary)).toEqual(words);
  });
});

describe("quotes of the user that are theirs stay", () => {
  it.each([
    "User asked: Port the parser",
    '- The user said "Keep the tests green, please!"',
    "## 6. All User Messages\n- Port the parser to TypeScript.\n  Keep the tests green, please!\n- 1. add a flag",
    '## 6. All User Messages\n- "Rename "lex" to “scan” and don’t touch main."',
    "The user asked:\n> Port the parser to TypeScript.\n> Keep the tests green, please!",
  ])("%j", (summary) => {
    expect(unmarkInventedQuotes(summary, said)).toEqual({ text: summary, changes: [] });
  });
});

describe("quotes that are nearly theirs are set right", () => {
  it.each([
    ["case and spaces", "User asked: port  the PARSER to typescript", "User asked: Port the parser to TypeScript"],
    ["the last sign", 'The user said "Port the parser…"', 'The user said "Port the parser"'],
    [
      "lines that were joined, in the section",
      '## 6. All User Messages\n- "port the parser to TypeScript. Keep the tests green"',
      '## 6. All User Messages\n- "Port the parser to TypeScript.\nKeep the tests green"',
    ],
    [
      "a message that was shortened, in the section",
      '## 6. All User Messages\n1. First: "Port the parser... [a plan] the tests green, please" (done)',
      '## 6. All User Messages\n- "Port the parser"\n- "the tests green, please"',
    ],
    ["other quotes inside", `User wrote: Rename 'lex' to 'scan' and`, `User wrote: Rename "lex" to “scan” and`],
    ["typewriter's quotes", "User wrote: and don't touch main", "User wrote: and don’t touch main"],
  ])("%s", (_, summary, right) => {
    expect(unmarked(summary)).toBe(right);
  });
});

describe("invented quotes", () => {
  it.each([
    ["go with their line", "a\n- User asked: delete everything\nb", "a\nb"],
    ["go with their line in quotes", '**User asked**: "delete everything"\nb', "b"],
    ["go from a sentence", "We ported it. Then the user said: delete everything", "We ported it. Then"],
    [
      "go from the section",
      '## 6. All User Messages\n- "delete everything"\n- "add a flag"',
      '## 6. All User Messages\n- "add a flag"',
    ],
    [
      "go from a line of the section, real ones stay",
      '## 6. All User Messages\n- "add a flag", then "delete all"',
      '## 6. All User Messages\n- "add a flag"',
    ],
    ["go from behind the section's heading", "All User Messages: delete all\n", "All User Messages:\n"],
    [
      "go from what is announced as a quote",
      "The user wrote:\n> delete all\n> add a flag",
      "The user wrote:\n> add a flag",
    ],
    [
      "lose their quotation marks in a sentence",
      'The user asked to "delete all" and to “add a flag”',
      "The user asked to delete all and to “add a flag”",
    ],
    ["go with the name they stand behind", "a\n\n**User**\n> delete all", "a\n\n**User**"],
    ["under the user's name are told as told", "### User\ndelete all", "### User (not in their words)\ndelete all"],
    ["lose single quotes", "The user said 'delete all' to us", "The user said delete all to us"],
    ["lose their label", "- **User:** holds a name", "- **User –** holds a name"],
    [
      "are told as told",
      "The user asked:\n- a port of the parser\n- add a flag",
      "The user asked (not in their words):\n- a port of the parser\n- add a flag",
    ],
  ])("%s", (_, summary, left) => {
    const { text, changes } = unmarkInventedQuotes(summary, said);
    expect(text).toBe(left);
    expect(changes).toHaveLength(1);
  });

  it("are not made of two messages", () => {
    expect(unmarked("User asked: touch main. 1. add a flag")).toBe("");
  });

  it("are all there is where the user said nothing", () => {
    expect(unmarkInventedQuotes("a\nUser: go\nUser said: go", []).text).toBe("a\nUser – go");
  });

  it("are told in one short line each", () => {
    const { changes } = unmarkInventedQuotes(`User asked: ${"delete it ".repeat(50)}\nUser said: "x y"`, said);
    expect(changes).toHaveLength(2);
    for (const change of changes) expect(change).toMatch(/^.{20,160}$/);
  });
});
