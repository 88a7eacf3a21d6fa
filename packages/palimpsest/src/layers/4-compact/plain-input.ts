import { type Block, isMediaType, type Message, type ToolResultBlock } from "../../schema/block.ts";
import { summaryIn } from "../../schema/server-summary.ts";
import { isThinking } from "../../transcript/sent.ts";

/**
 * Messages as the plain call sends them: images and documents as words, also inside results; no thinking, which is
 * signed for the conversation it comes from. What needs no change stays the same object.
 */
export function plainInput(messages: readonly Message[]): readonly Message[] {
  const plain: Message[] = [];
  for (const message of messages) {
    const content = plainContent(message.content);
    if (content.length === 0) continue;
    const last = plain.at(-1);
    // A reply of nothing but thinking is gone: the user's messages around it are one.
    if (last?.role === message.role) plain[plain.length - 1] = { ...last, content: [...last.content, ...content] };
    else plain.push(content === message.content ? message : { ...message, content });
  }
  return plain;
}

function plainContent(content: readonly Block[]): readonly Block[] {
  const plain = content.flatMap((block) => plainBlock(block));
  return plain.length === content.length && plain.every((block, at) => block === content[at]) ? content : plain;
}

function plainBlock(block: Block): readonly Block[] {
  if (isThinking(block) || block.type === "unknown") return [];
  if (isMediaType(block.type)) return [{ type: "text", text: `[${block.type}]` }];
  // Signed for the conversation that it begins.
  if (block.type === "compaction") return [{ type: "text", text: summaryIn(block) ?? "[compaction]" }];
  return [block.type === "tool_result" ? plainResult(block) : block];
}

function plainResult(result: ToolResultBlock): ToolResultBlock {
  const { content } = result;
  if (content === undefined || typeof content === "string") return result;
  if (!content.some(({ type }) => isMediaType(type))) return result;
  const plain = content.map((part) => (isMediaType(part["type"]) ? { type: "text", text: `[${part["type"]}]` } : part));
  return { ...result, content: plain };
}
