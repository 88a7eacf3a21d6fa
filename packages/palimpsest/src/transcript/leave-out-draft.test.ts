import { describe, expect, it } from "vitest";
import { imagePart } from "../../../../test/fixture/image.ts";
import { type Block, parseBlock } from "../schema/block.ts";
import { entryId, toolUseId } from "../schema/brand.ts";
import { hasPart, omitFromItem, leaveOutDraft, omitFromMessage } from "./leave-out-draft.ts";
import type { Item } from "./item.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const thinking: Block = { type: "thinking", thinking: "Hm.", signature: "s" };
const image = parseBlock(imagePart());
const search = parseBlock({ type: "server_tool_use", id: "x", name: "web_search", input: {} });
const cited = parseBlock({ type: "text", text: "So.", citations: [] });
const result: Block = {
  type: "tool_result",
  tool_use_id: toolUseId("t"),
  content: [{ type: "text", text: "a" }, imagePart()],
};

const itemOf = (...blocks: readonly Block[]): Item => ({
  entry: entryId("e"),
  role: "user",
  messageId: undefined,
  blocks,
  thinking: "kept",
  at: 0,
});

describe("leaving out", () => {
  it("a text replaces an image or document, inside a result too, and calls keep their answers", () => {
    expect(omitFromItem(itemOf(image, text("a"), result), { part: "media", shown: "[gone]" }).blocks).toEqual([
      text("[gone]"),
      text("a"),
      {
        ...result,
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "[gone]" },
        ],
      },
    ]);
  });

  it("other blocks become text, and texts lose what names them", () => {
    const { blocks } = omitFromItem(itemOf(search, cited, thinking), { part: "other-blocks", shown: "[gone]" });
    expect(blocks).toEqual([text("[gone]"), text("So."), thinking]);
  });

  it("a text without citations is left unchanged, also if it says `citations: null`", () => {
    const said = parseBlock({ type: "text", text: "So.", citations: null });
    const view = new Map([[entryId("e"), [said, text("Plain.")]]]);
    expect(leaveOutDraft(view, { part: "other-blocks", because: "Bad Request" })).toBeUndefined();
  });

  it("nothing else changes: a block that stays is the very block", () => {
    const blocks = [text("a"), thinking, search];
    const left = omitFromItem(itemOf(...blocks), { part: "media", shown: "[gone]" });
    expect(left.blocks.every((block, at) => block === blocks[at])).toBe(true);
    expect(hasPart(blocks, "media")).toBe(false);
  });

  it("a message without anything of the part is the very message, and none becomes empty", () => {
    const message = { role: "assistant", content: [text("a")] } as const;
    expect(omitFromMessage(message, "thinking")).toBe(message);
    expect(omitFromMessage({ role: "assistant", content: [thinking, text("a")] }, "thinking")).toEqual(message);
    expect(omitFromMessage({ role: "assistant", content: [thinking] }, "thinking").content).toHaveLength(1);
  });

  it("the edit names the entries that hold the part, and the replacement text with the id to recall it", () => {
    const view = new Map([
      [entryId("one"), [image]],
      [entryId("two"), [text("a")]],
    ]);
    expect(leaveOutDraft(view, { part: "media", because: "too many" })).toEqual({
      type: "leave-out",
      part: "media",
      entries: [
        {
          entry: "one",
          shown: "[An image or document not shown: the provider refused it. The original is kept: recall one]",
        },
      ],
      because: "too many",
    });
    expect(leaveOutDraft(view, { part: "thinking", because: "x" })).toBeUndefined();
  });
});
