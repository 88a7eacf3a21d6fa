import { describe, expect, it } from "vitest";
import { entryId } from "../schema/brand.ts";
import type { TextBlock, ServerSummary } from "../schema/block.ts";
import { itemsForModel, type Item } from "./item.ts";

const text = (words: string): TextBlock => ({ type: "text", text: words });
const item = (entry: string, ...blocks: readonly TextBlock[]): Item => ({
  entry: entryId(entry),
  role: "user",
  messageId: undefined,
  blocks,
  thinking: "kept",
  at: 0,
});
const server: ServerSummary = { model: "writer", block: { type: "compaction" } };
const summary: Item = { ...item("s", text("summary"), text("beside")), summary: true, server };
const said = item("u", text("And now?"));

describe("a provider's summary, in front of all", () => {
  it("is its block, as an assistant item, and the text that goes with it, for the model that wrote it", () => {
    const [block, beside, ...others] = itemsForModel("writer", [summary, said]);
    expect(block).toMatchObject({ entry: "s", role: "assistant", blocks: [server.block] });
    expect(beside).toMatchObject({ entry: "s", role: "user", blocks: [text("beside")] });
    expect(others).toEqual([said]);
  });

  it.each(["other", undefined])("is its text for another: %s", (reader) => {
    const items = [summary, said];
    expect(itemsForModel(reader, items)).toBe(items);
  });
});

it("a provider's summary that is not first is its text", () => {
  const items = [said, summary];
  expect(itemsForModel("writer", items)).toBe(items);
});
