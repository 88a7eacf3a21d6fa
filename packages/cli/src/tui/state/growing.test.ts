import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AppendOnlyList } from "./chat-state.ts";

test("every list of a tree of lists holds what was added on the way to it, whatever was added to the others", () => {
  const steps = fc.array(fc.tuple(fc.nat(), fc.integer()), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (added) => {
      const lists = [{ grown: AppendOnlyList.of<number>(), plain: [] as readonly number[] }];
      for (const [pick, item] of added) {
        const from = lists[pick % lists.length] ?? { grown: AppendOnlyList.of<number>(), plain: [] };
        lists.push({ grown: from.grown.with(item), plain: [...from.plain, item] });
      }
      for (const { grown, plain } of lists) {
        expect([...grown]).toEqual(plain);
        expect(grown).toHaveLength(plain.length);
      }
    }),
  );
});

test.each([
  ["the beginning", 0, [1, 2, 3]],
  ["the middle", 2, [3]],
  ["the end", 3, []],
  ["before the beginning", -5, [1, 2, 3]],
])("is read from %s on", (_, start, expected) => {
  expect([...AppendOnlyList.of(1, 2, 3).from(start)]).toEqual(expected);
});

test("has nothing outside its own length, also where a longer list shares its cells", () => {
  const short = AppendOnlyList.of(1);
  short.with(2);
  expect([short.at(0), short.at(1), short.at(-1)]).toEqual([1, undefined, undefined]);
});
