import * as fc from "fast-check";
import { expect, it, test } from "vitest";
import {
  boundary,
  call,
  loggedRaws,
  type Raw,
  result,
  says,
  summary,
  text,
  undo,
  user,
} from "../../../../../test/fixture/raw.ts";
import { reportPins } from "../../layers/4-compact/compaction-budgets.ts";
import { tokens } from "../../schema/brand.ts";
import { pressureAttachmentType } from "../../transcript/attachment-text.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { Fold } from "../../transcript/fold.ts";
import type { Item } from "../../transcript/item.ts";
import { ViewMemory } from "./view-memory.ts";

const sum = (items: readonly Item[]): number =>
  items.flatMap(({ blocks }) => blocks).reduce((all, block) => all + estimateBlock(block), 0);

/** The same answers by looking at everything. */
function plainly({ projection: { items, pins } }: Fold) {
  const newest = items.findLast((item) => item.summary === true);
  return {
    summary: newest,
    pressure: items.findLast(({ attachment }) => attachment === pressureAttachmentType),
    throughTokens: newest === undefined ? 0 : sum(items.filter(({ at }) => at < newest.at)),
    pinnedTokens: reportPins({ items, pins, budgetTokens: tokens(0), count: estimateBlock }).tokens,
    pinnedResults: items
      .filter(({ entry }) => pins.has(entry))
      .flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))),
  };
}

function remembered(memory: ViewMemory, { projection }: Fold) {
  const { items } = projection;
  return {
    summary: memory.summaryIn(items),
    pressure: memory.pressureIn(items),
    throughTokens: memory.throughTokens(items),
    pinnedTokens: memory.pinnedTokens(projection),
    pinnedResults: memory.pinnedResults(projection),
  };
}

const pressure = (uuid: string): Raw => ({
  type: "attachment",
  uuid,
  attachment: { type: pressureAttachmentType, percent: 50, content: `half full ${uuid}` },
});

/** What may come next in a session; `of` picks among what came before. */
const step = fc.record({
  kind: fc.constantFrom(
    "user",
    "reply",
    "part",
    "call",
    "result",
    "pressure",
    "pin",
    "unpin",
    "compact",
    "summary",
    "snip",
    "undo",
  ),
  of: fc.nat(1_000),
  looks: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

function rawsOf({ kind, of }: Step, { at, before }: { readonly at: number; readonly before: readonly Raw[] }): Raw[] {
  const uuid = `e${at}`;
  const some = before[of % Math.max(1, before.length)]?.uuid ?? "none";
  const reply = `m${Math.floor(at / 3)}`;
  switch (kind) {
    case "user":
      return [user(uuid, `said ${"more ".repeat(of % 9)}`)];
    case "reply":
      return [says(uuid, `own${at}`, text(`reply ${"more ".repeat(of % 9)}`))];
    case "part":
      return [says(uuid, reply, text(`part ${at}`))];
    case "call":
      return [says(uuid, reply, text("look"), call(`t${at}`))];
    case "result":
      return [result(uuid, `t${of % Math.max(1, at)}`)];
    case "pressure":
      return [pressure(uuid)];
    case "pin":
    case "unpin":
      return [{ type: kind, uuid, entry: some }];
    case "compact":
      return [boundary(uuid, { preservedMessages: { uuids: [some] } }), summary(`s${at}`)];
    case "summary":
      return [summary(uuid)];
    case "snip":
      return [{ type: "snip", uuid, entries: [some] }];
    case "undo":
      return [undo(uuid, some)];
  }
}

test("what is remembered of a view is what looking at all of it gives, whatever was appended between two looks", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const before: Raw[] = [];
      const lengths: { readonly length: number; readonly looks: boolean }[] = [];
      for (const [at, one] of steps.entries()) {
        before.push(...rawsOf(one, { at, before }));
        lengths.push({ length: before.length, looks: one.looks });
      }
      const fold = new Fold();
      const memory = new ViewMemory();
      let appended = 0;
      const logged = loggedRaws(before);
      for (const { length, looks } of lengths) {
        for (; appended < length; appended += 1) {
          const next = logged[appended];
          if (next !== undefined) fold.append(next);
        }
        if (looks) expect(remembered(memory, fold)).toEqual(plainly(fold));
      }
      expect(remembered(memory, fold)).toEqual(plainly(fold));
    }),
    { numRuns: 300 },
  );
});

it("counts a pinned call's result that comes after the pin", () => {
  const fold = new Fold();
  const memory = new ViewMemory();
  const raws = [
    user("u"),
    says("a", "m", call("t1")),
    { type: "pin", uuid: "p", entry: "a" },
    result("r", "t1", "long ".repeat(90)),
  ];
  const sizes = loggedRaws(raws).map((logged) => {
    fold.append(logged);
    return memory.pinnedTokens(fold.projection);
  });
  expect(sizes[1]).toBe(0);
  expect(sizes[2]).toBeGreaterThan(0);
  expect(sizes[3]).toBeGreaterThan((sizes[2] ?? 0) + 50);
});

it("looks at nothing twice while the list only grows", () => {
  const fold = new Fold();
  const memory = new ViewMemory();
  const looked: number[] = [];
  const items: Item[] = [];
  const watched = new Proxy(items, {
    get: (list, key, receiver): unknown => {
      if (typeof key === "string" && /^\d+$/.test(key)) looked.push(Number(key));
      return Reflect.get(list, key, receiver);
    },
  });
  const raws = Array.from({ length: 20 }, (_, at) => user(`u${at}`));
  for (const logged of loggedRaws(raws)) {
    fold.append(logged);
    const newest = fold.projection.items.at(-1);
    if (newest !== undefined) items.push(newest);
    memory.throughTokens(watched);
    memory.summaryIn(watched);
  }
  expect(looked).toEqual(items.map((_, at) => at));
});
