import { expect, test } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";
import { type CompactionRequests, refusedCompactionRequests } from "palimpsest/internal/ports/compaction-requests";
import { compactNoteCharsMax } from "./limits.ts";

function asked() {
  const notes: string[] = [];
  const compactionRequests: CompactionRequests = {
    request: (note) => {
      notes.push(note);
      return { kind: "taken" };
    },
    take: () => undefined,
  };
  return { notes, compactionRequests };
}

test.each(["plan", "default"] as const)(
  "in mode %s the note waits, nobody is asked, and the answer is one line",
  async (mode) => {
    const { notes, compactionRequests } = asked();
    const box = await toolbox({ mode, compactionRequests });
    const called = await box.call("compact", { note: "  the parser is done, the tests come next\n" });
    expect(notes).toEqual(["the parser is done, the tests come next"]);
    expect(called).toMatchObject({ kind: "ran", isError: false });
    expect(called.text).toMatch(/^Compaction comes before the next request; .* behind the summary\.$/);
  },
);

test("a fork is refused in one line", async () => {
  const box = await toolbox({ compactionRequests: refusedCompactionRequests });
  expect(await box.call("compact", { note: "now" })).toMatchObject({ kind: "ran", isError: true });
  expect((await box.call("compact", { note: "now" })).text).toMatch(/^.*only the main conversation.*$/);
});

test.each([
  ["none", {}],
  ["one of blanks", { note: " \n" }],
  ["one over the limit", { note: "x".repeat(compactNoteCharsMax + 1) }],
])("a note is needed, and not %s", async (_, input) => {
  const { notes, compactionRequests } = asked();
  const box = await toolbox({ compactionRequests });
  expect(await box.call("compact", input)).toMatchObject({ kind: "wrong" });
  expect(notes).toEqual([]);
});

test("a rule can forbid it", async () => {
  const { notes, compactionRequests } = asked();
  const box = await toolbox({ compactionRequests, deny: ["compact"] });
  expect(await box.call("compact", { note: "now" })).toMatchObject({ kind: "denied" });
  expect(notes).toEqual([]);
});
