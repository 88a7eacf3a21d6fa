import { describe, expect, it } from "vitest";
import type { Block } from "../schema/block.ts";
import { toolUseId } from "../schema/brand.ts";
import { KnownLines } from "./known-lines.ts";
import { linesIndexedMax } from "./limits.ts";

const line = "a line of the file that is long enough to be told from others";
const result = (content: string): Block => ({ type: "tool_result", tool_use_id: toolUseId("t1"), content });

describe("lines by which a quotation is known", () => {
  it.each<[string, Block, readonly string[]]>([
    ["of a text", { type: "text", text: `short\n${line}` }, [line]],
    [
      "of what a call was given",
      { type: "tool_use", id: toolUseId("t1"), name: "Edit", input: { old_string: line, count: 3, note: "short" } },
      [line],
    ],
    ["of a result, without its numbering", result(`  12\t${line}\nshort`), [line]],
    ["of nothing else", { type: "thinking", thinking: line, signature: "s" }, []],
  ])("are those %s", (_, block, expected) => {
    expect(new KnownLines().in(block)).toEqual(expected);
  });

  it("are no more than are indexed of a result", () => {
    const many = Array.from({ length: linesIndexedMax + 5 }, (_, nth) => `${line} ${nth}`).join("\n");
    expect(new KnownLines().in(result(many))).toHaveLength(linesIndexedMax);
  });

  it("are read once of each block", () => {
    const lines = new KnownLines();
    const block = result(line);
    expect(lines.in(block)).toBe(lines.in(block));
  });
});
