import { describe, expect, it } from "vitest";
import { boundary, folded, look, type Raw, says, summary, text, undo, user } from "../../../../test/fixture/raw.ts";

const start = [user("u1"), says("a1", "m1", text("one"))];
const attached = (uuid: string, attachment: object): Raw => ({ type: "attachment", uuid, attachment });
const state = attached("w", { type: "working_state", part: "todos", content: "the list" });
const queued = attached("q", { type: "queued_command", prompt: "and the docs" });
const told = attached("n", { type: "hook_additional_context", content: "the rules have changed" });
const hooked = attached("h", { type: "hook_additional_context", content: "begun anew", boundary: "b" });
const file = attached("f", { type: "file", filename: "a.ts", content: "const a = 1;" });

const ours = boundary("b", { checkpoint: "0".repeat(64) });
const theirs = boundary("b");

/** Which of them the view shows once the boundary before them is undone. */
function left(of: Raw, behind: readonly Raw[]): readonly string[] {
  const shown = look(folded([...start, of, summary("s"), ...behind, undo("d", "b")])).join("\n");
  const words = { w: "the list", q: "and the docs", n: "the rules", h: "begun anew", f: "const a" };
  return Object.entries(words).flatMap(([id, said]) => (shown.includes(said) ? [id] : []));
}

describe("an undo of a boundary", () => {
  it.each<[string, Raw, readonly Raw[], readonly string[]]>([
    ["takes back the working state", ours, [state], []],
    ["takes back what hooks added because of it, also behind something else", ours, [state, queued, hooked], ["q"]],
    ["leaves a message that was queued meanwhile", ours, [state, queued], ["q"]],
    ["leaves it where no working state was written", ours, [queued], ["q"]],
    ["leaves what a resume told right behind it", ours, [told], ["n"]],
    ["leaves a file that somebody else attached", ours, [state, file], ["f"]],
    ["takes back what another tool wrote for its own", theirs, [file], []],
    ["leaves what the user said behind another tool's", theirs, [file, queued], ["q"]],
    ["leaves what was told behind another tool's", theirs, [file, told], ["n"]],
  ])("%s", (_, of, behind, expected) => {
    expect(left(of, behind)).toEqual(expected);
  });

  it("of another boundary leaves what names this one", () => {
    const of = [boundary("c", { checkpoint: "0".repeat(64) }), summary("s")];
    const shown = look(folded([...start, ...of, hooked, undo("d", "c")])).join("\n");
    expect(shown).toContain("begun anew");
  });
});

describe("attachments between another tool's boundary and its summary", () => {
  const date = attached("t", { type: "date", content: "a Monday" });
  const compacted = [...start, theirs, date, queued, summary("s")];

  it("belong to the view behind it: everything before the boundary has left", () => {
    const shown = look(folded(compacted)).join("\n");
    expect(shown).not.toContain("one");
    expect(shown).toMatch(/a Monday.*and the docs.*s$/s);
  });

  it("without a summary are said like any other, and the boundary has no effect", () => {
    const shown = look(folded([...start, theirs, date, user("u2"), summary("s")])).join("\n");
    expect(shown).toMatch(/one.*a Monday.*u2.*s$/s);
  });

  it("are taken back with the boundary, except what the user said", () => {
    const shown = look(folded([...compacted, undo("d", "b")])).join("\n");
    expect(shown).toMatch(/one.*and the docs$/s);
    expect(shown).not.toContain("a Monday");
  });

  it("what Claude Code records of a request is not said", () => {
    const snapshot = attached("p", { type: "prompt_snapshot", tools: [{ name: "Agent" }] });
    expect(look(folded([...start, snapshot, user("u2")]))).toEqual(look(folded([...start, user("u2")])));
  });
});
