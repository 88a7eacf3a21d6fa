import { expect, it } from "vitest";
import type { Block } from "../schema/block.ts";
import { memoizeCount, estimateBlock } from "./estimate-block.ts";

it("uses the given counter, and counts each block once", () => {
  const counted: Block[] = [];
  const count = memoizeCount((block: Block) => {
    counted.push(block);
    return estimateBlock(block);
  });
  const blocks: readonly Block[] = ["one", "", "another"].map((text) => ({ type: "text", text }));
  for (const block of [...blocks, ...blocks]) expect(count(block)).toBe(estimateBlock(block));
  expect(counted).toEqual(blocks);
});

it("counts another block with the same words by itself", () => {
  const counted: Block[] = [];
  const count = memoizeCount((block: Block) => {
    counted.push(block);
    return estimateBlock(block);
  });
  expect(count({ type: "text", text: "one" })).toBe(count({ type: "text", text: "one" }));
  expect(counted).toHaveLength(2);
});
