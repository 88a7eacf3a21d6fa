import { describe, expect, it } from "vitest";
import { findFencedLines } from "./summary-sections.ts";

describe("a block of code", () => {
  it.each<[string, string, readonly number[]]>([
    ["reaches from fence to fence", "a\n```ts\nb\n```\nc", [1, 2, 3]],
    ["is closed by the same sign, at least as long", "````\n```\n~~~~\n````\nb", [0, 1, 2, 3]],
    ["is not closed by a fence that names a language", "```\na\n```ts\nb\n```", [0, 1, 2, 3, 4]],
    ["is none where its fence is left open", "```\na\nb", []],
    ["is none where a section begins before it is closed", "```\n## 6. All User Messages\na\n```", []],
  ])("%s", (_, text, inside) => {
    expect([...findFencedLines(text.split("\n"))]).toEqual(inside);
  });
});
