import { describe, expect, it } from "vitest";
import {
  boundary,
  chained,
  clear,
  result,
  says,
  call,
  summary,
  undo,
  user,
  type Raw,
} from "../../../../test/fixture/raw.ts";
import { entryId } from "../schema/brand.ts";
import { planUndo, findUndoneEdits } from "./plan-undo.ts";

const turn: Raw[] = [user("u"), says("a", "m", call("x")), result("r", "x")];
const setting = (uuid: string): Raw => ({ type: "setting", uuid, name: "request.baseline", value: {} });
const plan = (raws: readonly Raw[], target?: string): ReturnType<typeof planUndo> =>
  planUndo(chained(raws), target === undefined ? undefined : entryId(target));
const editsOf = (outcome: ReturnType<typeof planUndo>): string =>
  outcome.kind === "plan" ? outcome.edits.map(({ id }) => id).join(" ") : outcome.why;

describe("edits that no longer count", () => {
  it.each<[string, Raw[], string[]]>([
    ["none without an undo", [clear("c", "x")], []],
    ["the undone one", [clear("c", "x"), undo("d", "c")], ["c"]],
    ["not the one whose undo was undone", [clear("c", "x"), undo("d", "c"), undo("e", "d")], ["d"]],
    ["again after three", [clear("c", "x"), undo("d", "c"), undo("e", "d"), undo("f", "e")], ["c", "e"]],
  ])("%s", (_, raws, expected) => {
    expect([...findUndoneEdits(chained([...turn, ...raws]))].toSorted()).toEqual(expected);
  });

  it("an undo treated as undone brings its edit back: that is what a redo would show", () => {
    const raws = [...turn, clear("c", "x"), undo("d", "c")];
    expect([...findUndoneEdits(chained(raws), new Set([entryId("d")]))]).toEqual(["d"]);
  });
});

describe("planning an undo", () => {
  it.each<[string, Raw[], string | undefined, string]>([
    ["takes the newest edit where none is named", [clear("c", "x"), clear("d", "x")], undefined, "d"],
    ["passes over what is undone already", [clear("c", "x"), clear("d", "x"), undo("e", "d")], undefined, "c"],
    ["passes over repairs", [clear("c", "x"), { type: "repair", uuid: "p", results: [] }], undefined, "c"],
    ["passes over settings", [clear("c", "x"), setting("s")], undefined, "c"],
    ["finds nothing where there are only settings", [setting("s")], undefined, "nothing-to-undo"],
    ["takes a setting that is named", [setting("s")], "s", "s"],
    ["takes the edit that is named", [clear("c", "x"), clear("d", "x")], "c", "c"],
    ["an undo can be named: a redo", [clear("c", "x"), undo("d", "c")], "d", "d"],
    ["a covered boundary: the newer one first", [boundary("b"), summary("s"), boundary("c"), summary("t")], "b", "c b"],
    ["passes over a boundary that never got its summary", [clear("c", "x"), boundary("b")], undefined, "c"],
    ["refuses where nothing is in force", [], undefined, "nothing-to-undo"],
    ["refuses what is not on the path", [clear("c", "x")], "gone", "not-on-path"],
    ["refuses what is no edit", [clear("c", "x")], "u", "not-an-edit"],
    ["refuses what is undone already", [clear("c", "x"), undo("d", "c")], "c", "already-undone"],
    ["refuses a repair", [{ type: "repair", uuid: "p", results: [] }], "p", "was-sent"],
    ["refuses a branch", [{ type: "branch", uuid: "p" }], "p", "not-an-edit"],
  ])("%s", (_, raws, target, expected) => {
    expect(editsOf(plan([...turn, ...raws], target))).toBe(expected);
  });

  it("says that a newer boundary goes first", () => {
    expect(plan([...turn, boundary("b"), summary("s"), boundary("c"), summary("t")], "b")).toMatchObject({
      said: ["boundary c covers it and is undone first"],
    });
  });

  it("says that an undone edit under a boundary shows only later", () => {
    expect(plan([...turn, clear("c", "x"), boundary("b"), summary("s")], "c")).toMatchObject({
      said: [expect.stringContaining("covers this edit")],
    });
  });

  it.each<[string, Raw[], string]>([
    ["how to go back where all is undone", [clear("c", "x"), undo("d", "c")], "to bring the clear back, undo d"],
    [
      "the newest undo that counts",
      [clear("c", "x"), undo("d", "c"), undo("e", "d"), undo("f", "e")],
      "to bring the clear back, undo d",
    ],
    ["that there is none where there never was one", [setting("s")], "no edit is in force"],
  ])("says %s", (_, raws, expected) => {
    expect(plan([...turn, ...raws])).toMatchObject({ text: expect.stringContaining(expected) as unknown });
  });

  it("says how to bring an undone edit back", () => {
    expect(plan([...turn, clear("c", "x"), undo("d", "c")], "c")).toMatchObject({
      text: expect.stringContaining("undo d") as unknown,
    });
  });
});
