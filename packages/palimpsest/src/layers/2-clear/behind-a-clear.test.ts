import { describe, expect, it } from "vitest";
import {
  call,
  clear,
  folded,
  look,
  type Raw,
  result,
  says,
  text,
  undo,
  user,
} from "../../../../../test/fixture/raw.ts";
import { entryId, toolUseId } from "../../schema/brand.ts";
import { memoriesBetween, thinkingBehind } from "./run-clear.ts";

const thinks = { type: "thinking", thinking: "A thought of some length, so that it counts.", signature: "s" };
const round = (n: number): readonly Raw[] => [says(`a${n}`, `m${n}`, thinks, call(`t${n}`)), result(`r${n}`, `t${n}`)];
const memory = (uuid: string, type = "nested_memory"): Raw => ({
  type: "attachment",
  uuid,
  attachment: { type, path: "CLAUDE.md", content: "Rules." },
});

const cleared = (...ids: readonly string[]) => new Set(ids.map((id) => toolUseId(id)));

describe("thinking behind a clear", () => {
  const turns = [user("u"), ...round(1), ...round(2), says("a3", "m3", thinks, text("Done.")), user("v"), ...round(4)];

  it.each<[string, readonly string[], { from: string; to: string } | undefined]>([
    ["from the first of the results on, up to the turn under way", ["t2", "t1"], { from: "a2", to: "a3" }],
    ["not what stands before it", ["t2"], { from: "a3", to: "a3" }],
    ["none of the loop that still runs", ["t4"], undefined],
    ["none where nothing is cleared", [], undefined],
  ])("is dropped %s", (_, ids, drops) => {
    const { items } = folded(turns).projection;
    expect(thinkingBehind(items, cleared(...ids)).drops).toEqual(drops);
  });

  it("counts as lost whether the loop still runs or not", () => {
    const { items } = folded(turns).projection;
    const [one, both] = [thinkingBehind(items, cleared("t2")).tokens, thinkingBehind(items, cleared("t1")).tokens];
    expect(one).toBeGreaterThan(0);
    expect(both).toBeCloseTo((3 * one) / 2);
  });

  it("is left out of the view by the edit that names it, and is back when that is undone", () => {
    const edit: Raw = { ...clear("c", "t1"), dropsThinking: { from: "a2", to: "a3" } };
    const shown = look(folded([...turns, edit]));
    expect(shown).toEqual([
      "u: u",
      "a: thinking call(t1)",
      "u: t1=[cleared t1]",
      "a: call(t2)",
      "u: t2=output of t2",
      "a: Done.",
      "u: v",
      "a: thinking call(t4)",
      "u: t4=output of t4",
    ]);
    expect(look(folded([...turns, edit, undo("x", "c")]))).toEqual(look(folded(turns)));
  });
});

describe("memories that go along with cleared results", () => {
  const raws = [
    user("u"),
    memory("first"),
    ...round(1),
    memory("second", "relevant_memories"),
    { ...memory("file"), attachment: { type: "file", filename: "a.ts", content: "x" } },
    ...round(2),
    memory("third"),
  ];
  const { items } = folded(raws).projection;

  it.each([
    ["oldest-result", ["t1", "t2"], ["second"]],
    ["u", ["t1", "t2"], ["first", "second"]],
    ["a1", ["t1", "t2"], ["second"]],
    ["oldest-result", ["t1"], []],
    ["u", ["t1"], ["first"]],
    ["u", [], []],
  ] as const)("none before %s, of %j: %j", (from, ids, gone) => {
    const first = from === "oldest-result" ? from : entryId(from);
    expect(memoriesBetween(items, { cleared: cleared(...ids), from: first, pins: new Set() })).toEqual(gone);
  });

  it("a pinned one stays", () => {
    const pins = new Set([entryId("first")]);
    expect(memoriesBetween(items, { cleared: cleared("t1", "t2"), pins, from: entryId("u") })).toEqual(["second"]);
  });
});

describe("results that are deleted in the provider's cache", () => {
  const deleted: Raw = { type: "server-edits", uuid: "d", deleted: ["t1"] };
  const of = (...raws: readonly Raw[]): readonly string[] => [
    ...folded([user("u"), ...round(1), deleted, ...raws]).projection.withheld,
  ];

  it("stay so until they are cleared in the view, or the cache is lost", () => {
    expect(of()).toEqual(["t1"]);
    expect(of(clear("c", "t1"))).toEqual([]);
    expect(of({ type: "server-edits", uuid: "e", deleted: [], forgets: true })).toEqual([]);
    expect(of({ type: "server-edits", uuid: "e", deleted: [], applied: [{ type: "x" }] })).toEqual(["t1"]);
  });
});
