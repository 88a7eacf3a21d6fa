import { expect, it } from "vitest";
import { call, clear, loggedRaws, look, type Raw, result, says, user } from "../../../../test/fixture/raw.ts";
import type { Block } from "../schema/block.ts";
import { Fold } from "./fold.ts";

const turn = (n: number): Raw[] => [user(`u${n}`), says(`a${n}`, `m${n}`, call(`x${n}`)), result(`r${n}`, `x${n}`)];
const blocksIn = (fold: Fold): readonly Block[] => fold.messages.flatMap(({ content }) => content);

it("shows the same block objects when a view is rebuilt, markers too", () => {
  const fold = new Fold();
  let before: readonly Block[] = [];
  const snip: Raw = { type: "snip", uuid: "e", entries: ["a1", "r1"] };
  for (const logged of loggedRaws([...turn(1), ...turn(2), clear("c", "x2"), snip])) {
    before = blocksIn(fold);
    fold.append(logged);
  }
  expect(look(fold)).toEqual(["u: u1 u2", "a: call(x2)", expect.stringMatching(/^u: x2=/)]);
  expect(blocksIn(fold).filter((block) => !before.includes(block))).toEqual([]);
});

it("makes a new block when the look of the result changes", () => {
  const fold = new Fold();
  const looks = loggedRaws([...turn(1), clear("c", "x1")]).map((logged) => {
    fold.append(logged);
    return blocksIn(fold).at(-1);
  });
  expect(looks.at(-1)).not.toBe(looks.at(-2));
});
