import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loggedOf } from "../../../../test/fixture/log.ts";
import { MadeConversation, markerTokens } from "../../../../test/fixture/made-inventory.ts";
import { folded, says, user } from "../../../../test/fixture/raw.ts";
import { anyHistory } from "../../../../test/property/history.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import type { Block } from "../schema/block.ts";
import { toolUseId } from "../schema/brand.ts";
import { estimateBlock } from "../tokens/estimate-block.ts";
import { Fold } from "../transcript/fold.ts";
import { Inventory } from "./inventory.ts";
import type { Resident } from "./resident.ts";

const runs = parametersFor({ quick: 300, long: 10_000 });
const line = "a line of the file that is long enough to be told from others";

const read = (file_path: string, lines: readonly string[] = []) => ({
  tool: "Read",
  input: { file_path },
  tokens: 500,
  lines,
});
const edit = (file_path: string) => ({ tool: "Edit", input: { file_path }, tokens: 20 });
const found = ({ inventory }: MadeConversation, id: string): Resident | undefined => inventory.find(toolUseId(id));

describe("a resident", () => {
  it.each([
    ["of a tool that can be run again", { tool: "Bash", tokens: 500 }, ["t1"]],
    ["not of a tool nobody knows", { tool: "mcp__db__query", tokens: 500 }, []],
    ["not of a question to the user", { tool: "AskUserQuestion", tokens: 500 }, []],
    ["not where clearing it would save next to nothing", { tool: "Bash", tokens: markerTokens + 99 }, []],
    ["from the least saving on", { tool: "Bash", tokens: markerTokens + 100 }, ["t1"]],
  ])("is a result %s", (_, call, expected) => {
    expect(new MadeConversation().says().round([call]).residents).toEqual(expected);
  });

  it("counts what clearing it takes off, and stands where everything before it ends", () => {
    const made = new MadeConversation()
      .says(30)
      .round([{ tokens: 500 }], "four")
      .rounds(2, "four");
    expect(found(made, "t1")).toMatchObject({ tokens: 490, behindTokens: markerTokens + 8, bornRound: 1, bornTurn: 1 });
    expect(made.inventory).toMatchObject({ headTokens: 44, shownTokens: 552, residentTokens: 490, size: 1, round: 3 });
  });

  it("is none any more once it is cleared, and its marker stands behind what was before it", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 500 }])
      .round([{ tokens: 300 }])
      .clear("t2");
    expect(made.residents).toEqual(["t1"]);
    expect(found(made, "t1")?.behindTokens).toBe(markerTokens + 12 + markerTokens);
    expect(made.inventory.shownTokens).toBe(10 + 12 + 500 + 12 + markerTokens);
  });

  it("is counted where it stands when it is kept and then cleared", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 500 }])
      .round([{ tokens: 30_000 }])
      .round([{ tokens: 700 }]);
    made.inventory.keep(toolUseId("t2"));
    const before = found(made, "t1")?.behindTokens ?? 0;
    made.clear("t2");
    const after = found(made, "t3");
    expect(found(made, "t1")?.behindTokens).toBe(before - 30_000 + markerTokens);
    expect(after?.behindTokens).toBe(markerTokens);
    expect(after === undefined ? undefined : made.inventory.offsetOf(after)).toBe(22 + 500 + 12 + markerTokens + 12);
  });

  it("counts as part of the head when the first is kept and then cleared", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 30_000 }])
      .round([{ tokens: 500 }]);
    made.inventory.keep(toolUseId("t1"));
    expect(made.inventory.headTokens).toBe(22 + 30_000 + 12);
    made.clear("t1");
    expect(made.inventory).toMatchObject({
      headTokens: 22 + markerTokens + 12,
      shownTokens: 44 - 10 + markerTokens + 500,
    });
  });

  it.each([
    ["used when a line of it is quoted", (made: MadeConversation) => made.round([], `So:\n${line}`), 2],
    ["used when its file is changed", (made: MadeConversation) => made.round([edit("a")]), 2],
    ["not used when another file is changed", (made: MadeConversation) => made.round([edit("b")]), 1],
    ["not used when nothing of it is said", (made: MadeConversation) => made.rounds(3), 1],
    ["not used by the user's words", (made: MadeConversation) => made.says(60), 1],
  ])("is %s", (_, goesOn, lastUsedRound) => {
    const made = new MadeConversation().says().round([read("a", [line])]);
    goesOn(made);
    expect(found(made, "t1")?.lastUsedRound).toBe(lastUsedRound);
  });

  it.each([
    ["superseded when its file is read again after a change", [edit("a"), read("a")], 3],
    ["not superseded by the change itself", [edit("a")], undefined],
    ["not superseded when it is read again as it was", [read("a")], undefined],
    ["not superseded by another file", [edit("b"), read("b")], undefined],
  ])("is %s", (_, calls, supersededRound) => {
    const made = new MadeConversation().says().round([read("a")]);
    for (const call of calls) made.round([call]);
    expect(found(made, "t1")?.supersededRound).toBe(supersededRound);
  });

  it("has the log's id where the call is sent under another", () => {
    const inventory = new Inventory({ count: () => 500, isClearable: () => true, markerTokens });
    const call = { type: "tool_use", id: "call:1|x", name: "Bash", input: {} };
    const result = user("r", [{ type: "tool_result", tool_use_id: "call:1|x", content: "out" }]);
    const clear = { type: "clear", uuid: "c", cause: "size", results: [{ toolUse: "call:1|x", shown: "gone" }] };
    folded([user("u"), says("a", "m", call), result], { watch: inventory });
    expect(inventory.oldest?.toolUse).toBe("call:1|x");
    folded([user("u"), says("a", "m", call), result, clear], { watch: inventory });
    expect(inventory.size).toBe(0);
  });
});

it("a turn begins where the user speaks, not with a summary or a result", () => {
  const inventory = new Inventory({ count: () => 1, isClearable: () => true, markerTokens });
  const summary = user("s", "so far", { isCompactSummary: true });
  const result = user("r", [{ type: "tool_result", tool_use_id: "t", content: "out" }]);
  const call = { type: "tool_use", id: "t", name: "Bash", input: {} };
  folded([summary, user("u"), says("a", "m", call), result, user("v")], { watch: inventory });
  expect(inventory.turn).toBe(2);
});

describe("a resident is held", () => {
  const held = (made: MadeConversation): readonly string[] =>
    made.residents.filter((id) => found(made, id)?.isHeld === true);
  const failed = { tokens: 500, failed: true };

  it("while it is the newest that failed, also if the newest is too small to be a resident", () => {
    expect(
      held(
        new MadeConversation()
          .says()
          .round([failed])
          .round([{ tokens: 20, failed: true }]),
      ),
    ).toEqual([]);
    const made = new MadeConversation()
      .says()
      .round([failed])
      .round([{ tokens: 500 }]);
    expect(held(made)).toEqual(["t1"]);
    expect(held(made.round([failed]))).toEqual(["t3"]);
  });

  it.each([
    ["by its path", "Look at /tower/src/clock.ts again."],
    ["by the end of its path", "Why does src/clock.ts stop?"],
    ["by its name", "clock.ts: why does it stop?"],
    ["as a mention", "Read @src/clock.ts and wind it."],
    ["at the end of a sentence", "It is in src/clock.ts."],
    ["from a folder above", "Look at ../src/clock.ts"],
  ])("while the user's newest message names its file: %s", (_, words) => {
    const made = new MadeConversation()
      .says()
      .round([read("/tower/src/clock.ts"), read("/tower/src/bell.ts")])
      .asks(words);
    expect(held(made)).toEqual(["t1"]);
    expect(held(made.round([read("/tower/src/clock.ts")]))).toEqual(["t1", "t3"]);
    expect(held(made.asks("Good. Now ring the bell."))).toEqual([]);
  });

  it("not by a name that only ends alike, nor by a word without an extension or a folder", () => {
    const made = new MadeConversation().says().round([read("/tower/o-clock.ts")]);
    expect(held(made.asks("What is in clock.ts, and what is a clock?"))).toEqual([]);
  });

  it("changes the version when it is released, since a plan could not know", () => {
    const made = new MadeConversation().says().round([failed]);
    const { version } = made.inventory;
    made.round([failed]);
    expect(made.inventory.version).toBeGreaterThan(version);
  });
});

describe(`any history, ${runs.numRuns} of them`, () => {
  /** Results of generated histories are short: so that they are residents, everything counts a hundredfold. */
  const count = (block: Block): number => 100 * estimateBlock(block);
  const inventoried = (): Inventory =>
    new Inventory({ count, isClearable: (tool) => tool !== "Tool0", markerTokens: 100 });

  const residentsOf = ({ oldest }: Inventory): Resident[] => {
    const residents: Resident[] = [];
    for (let one = oldest; one !== undefined; one = one.after) residents.push(one);
    return residents;
  };

  it("shows as much as the fold shows, and every token of it has its place", () => {
    fc.assert(
      fc.property(anyHistory, ({ lines }) => {
        const inventory = inventoried();
        const fold = new Fold({ watch: inventory });
        for (const one of loggedOf(lines)) {
          fold.append(one);
          const shown = [...fold.shown().values()].flat().reduce((sum, block) => sum + count(block), 0);
          expect(inventory.shownTokens).toBe(shown);
          const placed = residentsOf(inventory).reduce(
            (sum, { tokens, behindTokens }) => sum + tokens + behindTokens,
            0,
          );
          expect(inventory.headTokens + placed).toBe(shown);
          const newest = inventory.newest;
          if (newest !== undefined)
            expect(inventory.offsetOf(newest) + newest.tokens + newest.behindTokens).toBe(shown);
        }
      }),
      runs,
    );
  });

  it("told block by block, has the residents it has when it is told anew", () => {
    fc.assert(
      fc.property(anyHistory, ({ lines }) => {
        const inventory = inventoried();
        const fold = new Fold({ watch: inventory });
        const logged = loggedOf(lines);
        for (const [at, one] of logged.entries()) {
          fold.append(one);
          const anew = inventoried();
          new Fold({ watch: anew }).appendAll(logged.slice(0, at + 1));
          expect(figuresOf(inventory)).toEqual(figuresOf(anew));
        }
      }),
      runs,
    );
  });

  const figuresOf = (inventory: Inventory): object => ({
    residents: residentsOf(inventory)
      .map(({ toolUse, tokens, bornRound, bornTurn }) => ({ toolUse, tokens, bornRound, bornTurn }))
      .toSorted((one, other) => (one.toolUse < other.toolUse ? -1 : 1)),
    rounds: inventory.round,
    turns: inventory.turn,
    shown: inventory.shownTokens,
    tokens: inventory.residentTokens,
    size: inventory.size,
  });
});

describe(`sessions whose residents are cleared, ${runs.numRuns} of them`, () => {
  const step = fc.oneof(
    { weight: 1, arbitrary: fc.record({ do: fc.constant("says" as const) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("round" as const),
        tool: fc.constantFrom("Read", "Edit", "Bash"),
        file: fc.constantFrom("a", "b"),
        tokens: fc.integer({ min: 100, max: 900 }),
        quotes: fc.nat({ max: 12 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const), pick: fc.nat({ max: 9 }) }) },
  );

  const told = ({ inventory }: MadeConversation): object[] => {
    const figures: object[] = [];
    for (let one = inventory.oldest; one !== undefined; one = one.after) {
      const { before: _, after: __, ...own } = one;
      figures.push({ ...own, offset: inventory.offsetOf(one) });
    }
    return figures;
  };

  it("have the same residents in the same places, used and superseded alike, when they are told anew", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const made = new MadeConversation().says();
        for (const [at, one] of steps.entries()) {
          if (one.do === "says") made.says();
          else if (one.do === "clear") made.clear(made.residents[one.pick] ?? "none");
          else {
            const call = {
              tool: one.tool,
              input: { file_path: one.file },
              tokens: one.tokens,
              lines: [`${line} ${at}`],
            };
            made.round([call], `${line} ${one.quotes}`);
          }
        }
        const live = told(made);
        made.fold.refold();
        expect(told(made)).toEqual(live);
      }),
      runs,
    );
  });
});
