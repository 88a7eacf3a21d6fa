import { describe, expect, it } from "vitest";
import { clear, folded, look, type Raw, says, text, user } from "../../../../../test/fixture/raw.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { planSnip, type SnipPlan } from "./snip-low-value.ts";

interface Told {
  readonly name?: string;
  readonly input?: object;
  readonly content?: unknown;
  readonly is_error?: boolean;
}

const nothing: Told = { name: "Grep", input: { pattern: "x" }, content: "No matches found" };
const readOf = (content: string, input: object = { file_path: "/a.ts" }): Told => ({ name: "Read", input, content });
const plain: Told = { name: "Bash", input: { command: "ls" }, content: "a.ts" };

/** One round: reply `r`, its calls and results, with words before the calls. */
const round = (r: string, told: readonly Told[], ...before: readonly object[]): Raw[] => [
  says(
    r,
    `m-${r}`,
    ...before,
    ...told.map(({ name, input }, at) => ({ type: "tool_use", id: `${r}${at}`, name, input })),
  ),
  user(
    `${r}-out`,
    told.map(({ content, is_error }, at) => ({ type: "tool_result", tool_use_id: `${r}${at}`, content, is_error })),
  ),
];

function plan(raws: readonly Raw[], keepRounds = 0): SnipPlan {
  return planSnip({ view: folded(raws).projection, count: estimateBlock, keepRounds });
}

const isSnipped = (told: Told): boolean => plan([user("u"), ...round("a", [told]), user("v")]).rounds.length > 0;

describe("a search that found nothing", () => {
  it.each<[string, Told, boolean]>([
    ["says so", nothing, true],
    ["in our own words", { name: "grep", content: "Nothing found." }, true],
    ["for files", { name: "glob", content: "No files found." }, true],
    [
      "with the pattern",
      { name: "search_file_content", content: 'No matches found for pattern "x" in path "."' },
      true,
    ],
    ["with a count", { name: "file_search", content: "Found 0 files" }, true],
    ["without output", { name: "Grep", content: "" }, true],
    ["with the line for no output", { name: "Grep", content: "(Grep completed with no output)" }, true],
    ["in blocks", { name: "WebSearch", content: [{ type: "text", text: "No results found." }] }, true],
    ["but something", { name: "Grep", content: "src/a.ts" }, false],
    ["but a line that says so", { name: "Grep", content: "12: No matches found" }, false],
    ["but lines behind such a line", { name: "Grep", content: "No matches found\nsrc/a.ts" }, false],
    ["but a picture", { name: "WebSearch", content: [{ type: "image", source: {} }] }, false],
    ["because it failed", { name: "Grep", content: "No such directory: src", is_error: true }, false],
    ["because it failed without a word", { name: "Grep", content: "", is_error: true }, false],
    ["by a tool that does not search", { name: "Bash", content: "No matches found" }, false],
  ])("%s: %#", (_, told, expected) => {
    expect(isSnipped({ input: { pattern: "x" }, ...told })).toBe(expected);
  });
});

describe("a call that the user refused", () => {
  const rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
  it.each<[string, Told, boolean]>([
    ["goes", { content: `${rejected} STOP and wait for the user to tell you how to proceed.` }, true],
    ["by other agents' words", { content: "exec command rejected by user" }, true],
    ["and others'", { content: "The user rejected permission to use this specific tool call." }, true],
    ["stays with what the user said instead", { content: `${rejected} The user said:\nuse rg` }, false],
    ["stays where more is said than the refusal", { content: `${rejected} ${"why ".repeat(100)}` }, false],
    ["is not one that the machine denied", { content: "bash: /x: Permission denied" }, false],
    ["is not one that a rule denied", { content: "the rule Bash(rm:*) forbids it" }, false],
    ["is not output that speaks of it", { content: "request rejected by user", is_error: false }, false],
  ])("%s: %#", (_, told, expected) => {
    expect(isSnipped({ name: "Bash", input: { command: "rm x" }, is_error: true, ...told })).toBe(expected);
  });
});

describe("a read that a later one repeats", () => {
  const twice = (first: Told, second: Told, ...edits: readonly Raw[]): SnipPlan =>
    plan([user("u"), ...round("a", [first]), ...round("b", [plain]), ...round("c", [second]), ...edits]);

  it("goes, and the newest copy stays", () => {
    const raws = [...round("a", [readOf("1")]), ...round("b", [readOf("1")]), ...round("c", [readOf("1")])];
    expect(plan([user("u"), ...raws]).rounds).toEqual([
      { entries: ["a", "a-out"], reasons: ["read-again"] },
      { entries: ["b", "b-out"], reasons: ["read-again"] },
    ]);
  });

  it.each<[string, SnipPlan]>([
    ["another content", twice(readOf("1"), readOf("2"))],
    ["another file", twice(readOf("1"), readOf("1", { file_path: "/b.ts" }))],
    ["another range", twice(readOf("1"), readOf("1", { file_path: "/a.ts", offset: 2 }))],
    ["no file", twice({ ...plain, content: "1" }, { ...plain, content: "1" })],
    ["a copy that was cleared since", twice(readOf("1"), readOf("1"), clear("x", "c0"))],
    ["markers", twice(readOf("1"), readOf("1"), clear("x", "a0", "c0"))],
    ["errors", twice({ ...readOf("1"), is_error: true }, { ...readOf("1"), is_error: true })],
    [
      "a copy that the provider left out",
      twice(readOf("1"), readOf("1"), { type: "server-edits", uuid: "x", deleted: ["c0"] }),
    ],
  ])("is none with %s", (_, planned) => {
    expect(planned.rounds).toEqual([]);
  });
});

describe("a round", () => {
  const around = (...middle: readonly Raw[]): Raw[] => [user("u"), ...middle, user("v")];
  const thinking = { type: "thinking", thinking: "h", signature: "s" };

  it.each<[string, readonly Raw[], readonly string[]]>([
    ["goes with both its calls", around(...round("a", [nothing, nothing])), ["a", "a-out"]],
    ["stays where one of its calls is worth it", around(...round("a", [nothing, plain])), []],
    ["goes with up to 200 characters of text", around(...round("a", [nothing], text("x".repeat(200)))), ["a", "a-out"]],
    ["stays with more text", around(...round("a", [nothing], text("x".repeat(201)))), []],
    ["stays without a call", around(says("a", "m", text("x")), user("w")), []],
    [
      "stays while a call is open",
      around(says("a", "m", { type: "tool_use", id: "t", name: "Grep", input: {} }), user("w")),
      [],
    ],
    ["stays where it is pinned", around(...round("a", [nothing]), { type: "pin", uuid: "p", entry: "a-out" }), []],
    [
      "stays where somebody speaks beside a result",
      around(
        says("a", "m", { type: "tool_use", id: "t", name: "Grep", input: {} }),
        user("b", [{ type: "tool_result", tool_use_id: "t", content: "No matches found" }, text("stop")]),
      ),
      [],
    ],
    [
      "stays with the server's own tools",
      around(...round("a", [nothing], { type: "server_tool_use", id: "s", name: "web_search", input: {} })),
      [],
    ],
    [
      "stays where two replies would join without it",
      around(says("a", "m", text("x")), ...round("b", [nothing]), ...round("c", [plain])),
      [],
    ],
    ["stays with thinking in the current tool loop", [user("u"), ...round("a", [nothing], thinking)], []],
    [
      "stays with it where only a reminder came since",
      [user("u"), ...round("a", [nothing], thinking), user("v", "<system-reminder>\nx\n</system-reminder>")],
      [],
    ],
    ["goes with the thinking of an earlier loop", around(...round("a", [nothing], thinking)), ["a", "a-out"]],
    ["goes in the current loop where it did not think", [user("u"), ...round("a", [nothing])], ["a", "a-out"]],
  ])("%s", (_, raws, expected) => {
    expect(plan(raws).entries).toEqual(expected);
  });

  it("is never one of the newest five, unless another number is asked for", () => {
    const raws = [user("u"), ...["a", "b", "c", "d", "e", "f", "g"].flatMap((r) => round(r, [nothing]))];
    const byDefault = planSnip({ view: folded(raws).projection, count: estimateBlock });
    expect(byDefault.entries).toEqual(["a", "a-out", "b", "b-out"]);
    expect(plan(raws, 6).entries).toEqual(["a", "a-out"]);
  });

  it("leaves the rest of the view as it was", () => {
    const raws = [user("u"), ...round("a", [nothing]), ...round("b", [plain]), user("v")];
    const edit = { type: "snip", uuid: "s", entries: plan(raws).entries };
    expect(look(folded([...raws, edit]))).toEqual(["u: u", "a: call(b0)", "u: b0=a.ts v"]);
  });
});
