import { tokens } from "../../schema/brand.ts";
import type { Block } from "../../schema/block.ts";
import type { CounterOutcome } from "../../ports/model-port.ts";

/** A flat estimate for images and documents, which have no text to count. */
const mediaTokens = 2000;

/**
 * Counts with a local byte-pair encoding (o200k, which OpenAI's current models use): exact for those models, an estimate
 * for others. The tokenizer package is optional, because its tables are larger than everything else.
 */
export async function bpeCounter(): Promise<CounterOutcome> {
  const encoding = await import("gpt-tokenizer/encoding/o200k_base").catch(() => undefined);
  if (encoding === undefined) {
    return { kind: "absent", message: "The local tokenizer is not installed: npm install gpt-tokenizer" };
  }
  const countText = (text: string): number => encoding.countTokens(text, { allowedSpecial: "all" });
  const countBlocks = (blocks: readonly Block[]): number =>
    blocks.reduce((sum, block) => sum + countBlock(block, countText), 0);
  return {
    kind: "counter",
    counter: {
      name: "bpe-o200k",
      count: async (blocks) => tokens(countBlocks(blocks)),
      countRequest: async ({ system, tools, messages }) => {
        const texts = [...system, ...tools.map((tool) => JSON.stringify(tool))];
        const messageTokens = countBlocks(messages.flatMap(({ content }) => content));
        return { kind: "counted", tokens: tokens(texts.reduce((sum, text) => sum + countText(text), messageTokens)) };
      },
    },
  };
}

function countBlock(block: Block, countText: (text: string) => number): number {
  switch (block.type) {
    case "text":
      return countText(block.text);
    case "thinking":
      return countText(block.thinking);
    case "redacted_thinking":
      return countText(block.data);
    case "tool_use":
      return countText(block.name) + countText(JSON.stringify(block.input));
    case "tool_result":
      if (typeof block.content === "string") return countText(block.content);
      return (block.content ?? []).reduce((sum, part) => {
        if (part["type"] === "image" || part["type"] === "document") return sum + mediaTokens;
        return sum + countText(typeof part["text"] === "string" ? part["text"] : JSON.stringify(part));
      }, 0);
    case "image":
    case "document":
      return mediaTokens;
    default:
      return countText(JSON.stringify(block));
  }
}
