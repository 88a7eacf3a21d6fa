import { describe, expect, it } from "vitest";
import { contentClasses, measureBlock, noBytes, type ByteCounts } from "./byte-counts.ts";
import { estimateBlock, utf8Length } from "./estimate-block.ts";
import type { Block } from "../schema/block.ts";
import { toolUseId } from "../schema/brand.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const only = (counts: ByteCounts): string => contentClasses.filter((name) => counts[name] > 0).join(" ");
const image = { type: "image" } as Block;

describe("what a content is", () => {
  it.each<[string, Block, string]>([
    [
      "sentences are prose",
      text("The committee met on Sunday and agreed that the build was broken, for once."),
      "prose",
    ],
    ["a function is code", text("function f(a: number[]): number { return a.map((x) => x * x)[b] ?? c; }"), "code"],
    ["a call's input is JSON", { type: "tool_use", id: toolUseId("t"), name: "", input: { a: [1, 2, 3] } }, "json"],
    ["a column of numbers is numbers", text("1041\n1042\n1043\n1044"), "numbers"],
    ["a number in a sentence takes its share only", text("The build of Sunday took 41 minutes"), "prose numbers"],
    ["Chinese is wide", text("请修复失败的测试"), "cjk"],
    ["Japanese is wide", text("テストを直してください"), "cjk"],
    ["Korean is wide", text("테스트를고쳐주세요"), "cjk"],
    ["a long run without spaces is encoded data", text("QUJd9".repeat(40)), "base64"],
    ["a rule of dashes is no data", text("-".repeat(80)), "prose"],
    ["a hash is data", text("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"), "base64"],
    ["a key is data", text("mN3kQz81LpXv0Rt5Yb7WcJd2"), "base64"],
    ["a path is none", text("packages/application/src/userManagement/components/ProfilePanel/index"), "prose"],
    ["a long name is none", text("handleUserProfileSettingsPanelVisibilityChangeRequest"), "prose"],
    ["a short one is a word", text("antidisestablishmentarianism"), "prose"],
    ["emoji stand apart", text("🎉🚀"), "emoji"],
    ["an image is counted, not measured", image, "media"],
    [
      "an image in a result too",
      { type: "tool_result", tool_use_id: toolUseId("t"), content: [{ type: "image" }] },
      "media",
    ],
    [
      "a compaction is what it says, not its signature",
      { type: "compaction", content: "They met on Sunday.", signature: "QUJd9".repeat(40) } as Block,
      "prose",
    ],
  ])("%s", (_, block, expected) => expect(only(measureBlock(block))).toBe(expected));

  it("every byte is in one class", () => {
    const mixed = `plain words, 漢字, ${"QUJD".repeat(40)} and 🎉 {"a": [1]}`;
    const { media, ...bytes } = measureBlock(text(mixed));
    expect(media).toBe(0);
    expect(Object.values(bytes).reduce((sum, count) => sum + count, 0)).toBe(utf8Length(mixed));
    expect(utf8Length(mixed)).toBe(Buffer.byteLength(mixed));
  });

  it("nothing has no bytes", () => expect(only(noBytes())).toBe(""));
});

describe("an estimate without anything to go by", () => {
  it.each<[string, Block, number]>([
    ["text is 4 bytes a token", text("word".repeat(10)), 10],
    [
      "JSON is 2 bytes a token",
      { type: "tool_use", id: toolUseId("t"), name: "", input: { key: "v" } },
      Math.ceil('{"key":"v"}'.length / 2),
    ],
    ["an image is 2,000", image, 2000],
    ["a call counts its name and its input", { type: "tool_use", id: toolUseId("t"), name: "Read", input: {} }, 2],
  ])("%s", (_, block, expected) => expect(estimateBlock(block)).toBe(expected));
});
