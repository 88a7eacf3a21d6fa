import { describe, expect, it } from "vitest";
import { cpuMillis } from "../../../../test/fixture/cpu-millis.ts";
import { readEntry } from "../schema/entry.ts";
import { parseJson } from "../schema/json.ts";
import { Path, type PathOptions } from "./path.ts";

const noMessage: object = {};
const user = (uuid: string, parentUuid: string | null, extra: object = noMessage): object => ({
  type: "user",
  uuid,
  parentUuid,
  message: { content: uuid },
  ...extra,
});
const result = (uuid: string, parentUuid: string | null, call: string): object => ({
  type: "user",
  uuid,
  parentUuid,
  message: { content: [{ type: "tool_result", tool_use_id: call, content: "x" }] },
});
const calls = (uuid: string, parentUuid: string | null, call: string, id = "m"): object => ({
  type: "assistant",
  uuid,
  parentUuid,
  message: { id, content: [{ type: "tool_use", id: call, name: "Read", input: {} }] },
});
const says = (uuid: string, parentUuid: string | null, id: string): object => ({
  type: "assistant",
  uuid,
  parentUuid,
  message: { id, content: [{ type: "text", text: uuid }] },
});
const other = (uuid: string, parentUuid: string | null, extra: object = noMessage): object => ({
  type: "progress",
  uuid,
  parentUuid,
  ...extra,
});

function pathOf(raws: readonly object[], options: PathOptions = {}): { path: Path; steps: string[] } {
  const path = new Path(options);
  const steps = raws.map((raw, at) => {
    const reading = readEntry(parseJson(JSON.stringify(raw)));
    if (reading.kind !== "entry") throw new Error(reading.why);
    return path.append({ entry: reading.entry, start: at * 100, end: at * 100 + 99 });
  });
  return { path, steps };
}
const ids = (raws: readonly object[], options?: PathOptions): string =>
  pathOf(raws, options)
    .path.entries.map(({ id }) => id)
    .join(" ");

describe("a look at the path without a copy of it", () => {
  const branched = [user("1", null), user("2", "1"), user("3", "1"), other("p", "3"), user("4", "3"), user("5", "4")];

  it("finds by place what the list of its entries has there, from either end", () => {
    const { path } = pathOf(branched);
    const { logged } = path;
    for (let place = -path.length - 1; place <= path.length; place += 1) expect(path.at(place)).toBe(logged.at(place));
  });

  it("finds the newest match on the path, and none on other branches", () => {
    const { path } = pathOf(branched);
    for (const asked of ["1", "2", "3", "4", "5", "p"])
      expect(path.findLastIndex(({ entry }) => entry.id === asked)).toBe(
        path.entries.findLastIndex(({ id }) => id === asked),
      );
    expect(path.findLastIndex(({ entry }) => entry.kind === "user")).toBe(3);
  });
});

describe("the path", () => {
  it.each<[string, object[], string]>([
    ["is the chain of parents", [user("1", null), says("2", "1", "m"), user("3", "2")], "1 2 3"],
    ["leaves a branch that was rewound aside", [user("1", null), user("2", "1"), user("3", "1")], "1 3"],
    [
      "comes back to a branch that is continued",
      [user("1", null), user("2", "1"), user("3", "1"), user("4", "2")],
      "1 2 4",
    ],
    ["runs through progress entries that stand between", [user("1", null), other("p", "1"), user("2", "p")], "1 2"],
    [
      "holds every entry that shares a reply's id",
      [user("1", null), calls("2", "1", "a"), calls("3", "1", "b"), user("4", "3")],
      "1 2 3 4",
    ],
    [
      "holds every result of its calls: parallel calls branch",
      [
        user("1", null),
        calls("2", "1", "a"),
        calls("3", "2", "b"),
        result("4", "2", "a"),
        result("5", "3", "b"),
        user("6", "5"),
      ],
      "1 2 3 4 5 6",
    ],
    [
      "takes a late result without losing the turns since",
      [user("1", null), calls("2", "1", "a"), user("3", "2"), says("4", "3", "n"), result("5", "2", "a")],
      "1 2 3 4 5",
    ],
    [
      "keeps the turns since a late result when the talk goes on behind it",
      [user("1", null), calls("2", "1", "a"), user("3", "2"), result("4", "2", "a"), user("5", "4")],
      "1 2 3 4 5",
    ],
    [
      "goes on at the previous entry where a parent is missing",
      [user("1", null), user("2", "gone"), user("3", "2")],
      "1 2 3",
    ],
    ["ends a cycle of parents at the previous entry", [user("1", null), user("2", "2"), user("3", "2")], "1 2 3"],
    ["begins anew at a null parent", [user("1", null), user("2", null)], "2"],
    [
      "goes on at the logical parent of a boundary",
      [user("1", null), user("2", null, { logicalParentUuid: "1" })],
      "1 2",
    ],
    ["leaves sidechains apart", [user("1", null), user("s", "1", { isSidechain: true }), user("2", "1")], "1 2"],
    [
      "takes the first of two entries with one uuid",
      [user("1", null), user("1", null, { message: { content: "again" } }), user("2", "1")],
      "1 2",
    ],
    ["has no place for entries without identity", [user("1", null), { type: "summary", summary: "x" }], "1"],
  ])("%s", (_, raws, expected) => {
    expect(ids(raws)).toBe(expected);
  });

  it("of a sub-agent's log is its sidechain", () => {
    const side = { isSidechain: true };
    expect(ids([user("1", null, side), user("2", "1", side)], { line: "side" })).toBe("1 2");
  });

  it("of a log read from its end stops at a parent that was not read", () => {
    const { path } = pathOf([user("2", "1"), user("3", "2")], { read: "tail" });
    expect(path.entries.map(({ id }) => id)).toEqual(["2", "3"]);
    expect(path.problems).toEqual([]);
  });

  it.each<[string, object[], object]>([
    ["a missing parent", [user("1", null), user("2", "gone")], { kind: "missing-parent", entry: "2", parent: "gone" }],
    [
      "a parent cycle",
      [user("1", null), user("2", "2"), user("3", "2"), user("4", "1"), user("5", "3")],
      { kind: "parent-cycle", entry: "2", parent: "2" },
    ],
    ["a duplicate uuid", [user("1", null), user("1", null)], { kind: "duplicate-uuid", entry: "1" }],
  ])("reports %s", (_, raws, problem) => {
    expect(pathOf(raws).path.problems).toContainEqual(problem);
  });

  it("says what each entry did to it", () => {
    const raws = [user("1", null), user("2", "1"), other("p", "2"), user("3", "1"), user("4", "3")];
    expect(pathOf(raws.slice(0, 4)).steps).toEqual(["extended", "extended", "aside", "switched"]);
  });

  it("a late result keeps the turns that came meanwhile, also after a look at another branch", () => {
    const raws = [
      user("u1", null),
      calls("a1", "u1", "x"),
      user("u2", "a1"),
      says("a2", "u2", "m2"),
      result("r", "a1", "x"),
      user("u3", "r"),
      user("other", "u1"),
      user("u4", "u3"),
    ];
    expect(pathOf(raws).path.entries.map(({ id }) => id)).toEqual(["u1", "a1", "u2", "a2", "r", "u3", "u4"]);
  });

  it("what only another leaf tied to the path leaves it with that leaf, live as at once", () => {
    const raws = [
      user("u1", null),
      says("a1", "u1", "m"),
      user("u2", "u1"),
      says("a2", "u2", "m"),
      says("a3", "u2", "n"),
    ];
    expect(pathOf(raws.slice(0, 4)).path.entries.map(({ id }) => id)).toEqual(["u1", "a1", "u2", "a2"]);
    expect(pathOf(raws).path.entries.map(({ id }) => id)).toEqual(["u1", "u2", "a3"]);
    const live = new Path();
    for (const raw of raws) {
      const reading = readEntry(parseJson(JSON.stringify(raw)));
      if (reading.kind !== "entry") throw new Error(reading.why);
      live.append({ entry: reading.entry, start: 0, end: 0 });
      expect(live.length).toBeGreaterThan(0);
    }
    expect(live.entries.map(({ id }) => id)).toEqual(["u1", "u2", "a3"]);
  });

  it("an entry that names no parent follows the one before it and is reported", () => {
    const { path } = pathOf([user("u1", null), { type: "user", uuid: "u2", message: { content: "x" } }]);
    expect(path.entries.map(({ id }) => id)).toEqual(["u1", "u2"]);
    expect(path.problems).toEqual([{ kind: "missing-parent", entry: "u2" }]);
  });

  it("a log of two branches in turn is resolved once, not at every change", () => {
    const raws = Array.from({ length: 6_000 }, (_, at) => user(`u${at}`, at < 2 ? null : `u${at - 2}`));
    const from = cpuMillis();
    const { path } = pathOf(raws);
    expect(path.entries).toHaveLength(3_000);
    expect(cpuMillis() - from).toBeLessThan(2_000);
  });

  it("knows its leaf, its members and how many entries lie on other branches", () => {
    const { path } = pathOf([user("1", null), user("2", "1"), user("3", "1")]);
    expect(path.leaf?.id).toBe("3");
    expect(["1", "2", "3"].map((id) => path.has(id as never))).toEqual([true, false, true]);
    expect(path.asideCount).toBe(1);
    expect(path.find("2" as never)?.start).toBe(100);
  });
});
