import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanBorders, lastSettledEntry } from "../../packages/palimpsest/src/layers/2-clear/round.ts";
import { type KeepOutcome, keepBehindNotes } from "../../packages/palimpsest/src/layers/3-notes/plan.ts";
import { keptTextsMin, keptTokensMax, keptTokensMin } from "../../packages/palimpsest/src/layers/3-notes/limits.ts";
import { entryId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Item } from "../../packages/palimpsest/src/transcript/item.ts";
import { foldOf, loggedOf } from "../fixture/log.ts";
import { anyHistory, type History } from "./history.ts";
import { parametersFor } from "./runs.ts";

const runs = parametersFor({ quick: 300, long: 10_000 });

/** A view with made-up sizes, and an entry of it or none. */
const views = fc
  .tuple(anyHistory, fc.nat(), fc.array(fc.integer({ min: 0, max: 12_000 }), { minLength: 1, maxLength: 12 }))
  .map(([history, pick, sizes]) => {
    const items = itemsOf(history);
    const sizeByItem = new Map(items.map((item, at) => [item, sizes[at % sizes.length] ?? 0]));
    const count = (item: Item): number => sizeByItem.get(item) ?? 0;
    const covers = items[pick % (items.length + 1)]?.entry ?? entryId("nowhere");
    return { items, covers, count };
  });

const itemsOf = ({ lines }: History): readonly Item[] => foldOf(loggedOf(lines)).projection.items;

type View = Parameters<typeof keepBehindNotes>[0];
type Kept = Extract<KeepOutcome, { kind: "keep" }>;

const keeps = (law: (keep: Kept, view: View) => void): void => {
  let seen = 0;
  fc.assert(
    fc.property(views, (view) => {
      const keep = keepBehindNotes(view);
      if (keep.kind !== "keep") return;
      seen += 1;
      law(keep, view);
    }),
    runs,
  );
  expect(seen).toBeGreaterThan(runs.numRuns / 50);
};

/** What ties entries together: they stand on one side of any cut. */
const tiesOf = (items: readonly Item[]): ReadonlySet<string> =>
  new Set(
    items.flatMap(({ role, messageId, blocks }) => [
      ...(role === "assistant" && messageId !== undefined ? [`reply ${messageId}`] : []),
      ...blocks.flatMap((block) => (block.type === "tool_use" ? [`call ${block.id}`] : [])),
    ]),
  );
const answersOf = (items: readonly Item[]): ReadonlySet<string> =>
  new Set(
    items.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === "tool_result" ? [`call ${block.tool_use_id}`] : [])),
    ),
  );

const isText = ({ attachment, blocks }: Item): boolean =>
  attachment === undefined && blocks.some((block) => block.type === "text" && block.text.trim() !== "");

describe("what stays behind the notes", () => {
  it("is the end of the view, and the notes stand for all before it", () => {
    keeps(({ covered, items, tokens }, view) => {
      expect([...covered, ...items]).toEqual(view.items);
      expect(covered.length).toBeGreaterThan(0);
      expect(tokens).toBe(items.reduce((sum, item) => sum + view.count(item), 0));
    });
  });

  it("holds everything that they do not cover", () => {
    keeps(({ covered }, { items, covers }) => {
      expect(covered.length).toBeLessThanOrEqual(items.findLastIndex(({ entry }) => entry === covers) + 1);
    });
  });

  it("splits no reply and no call from its result", () => {
    keeps(({ covered, items }) => {
      const ties = tiesOf(covered);
      expect([...tiesOf(items), ...answersOf(items)].filter((tie) => ties.has(tie))).toEqual([]);
      expect([...answersOf(covered)].filter((tie) => tiesOf(items).has(tie))).toEqual([]);
    });
  });

  it("holds no summary", () => {
    keeps(({ items }) => {
      expect(items.filter(({ summary }) => summary === true)).toEqual([]);
    });
  });

  it("is enough, unless a boundary or the most that may stay stops it, and no round more than enough", () => {
    keeps(({ covered, items, tokens }, view) => {
      const { count, covers } = view;
      const borders = cleanBorders(view.items);
      const cut = covered.length;
      const isEnough = (from: number): boolean => {
        const some = view.items.slice(from);
        const size = some.reduce((sum, item) => sum + count(item), 0);
        return size >= keptTokensMin && some.filter((item) => isText(item)).length >= keptTextsMin;
      };
      const coveredAt = view.items.findLastIndex(({ entry }) => entry === covers);
      const uncovered = borders.lastIndexOf(true, coveredAt + 1);
      if (cut < uncovered) {
        expect(isEnough(borders.indexOf(true, cut + 1))).toBe(false);
        expect(tokens).toBeLessThanOrEqual(keptTokensMax);
      }
      if (isEnough(cut)) return;
      const floor = view.items.findLastIndex(({ summary }) => summary === true) + 1;
      const earlier = borders.lastIndexOf(true, cut - 1);
      const more = view.items.slice(earlier, cut).reduce((sum, item) => sum + count(item), 0);
      expect(earlier < floor || tokens + more > keptTokensMax, `${items.length} kept`).toBe(true);
    });
  });
});

it("notes cover nothing of a call that is open", () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const items = itemsOf(history);
      const covers = lastSettledEntry(items);
      const until = covers === undefined ? 0 : items.findLastIndex(({ entry }) => entry === covers) + 1;
      const seen = items.slice(0, until);
      const answered = answersOf(items);
      const calls = [...tiesOf(seen)].filter((tie) => tie.startsWith("call "));
      expect(calls.filter((tie) => !answered.has(tie))).toEqual([]);
      expect(cleanBorders(items)[until]).toBe(true);
    }),
    runs,
  );
});
