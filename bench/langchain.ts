import { AIMessage, type BaseMessage, HumanMessage, ToolMessage, trimMessages } from "@langchain/core/messages";
import type { Message } from "../packages/palimpsest/src/schema/block.ts";

/** As in its documentation: the newest messages that fit, beginning with a user message, with a cheap count. */
export const trimmed = (messages: BaseMessage[], maxTokens: number): Promise<BaseMessage[]> =>
  trimMessages(messages, {
    maxTokens,
    strategy: "last",
    startOn: "human",
    tokenCounter: (some) => some.reduce((sum, { content }) => sum + content.length / 4, 0),
  });

/** The same conversation in LangChain's form. */
export function langChainMessages({ role, content }: Message): BaseMessage[] {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  if (role === "assistant") {
    const calls = content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, args: block.input }] : [],
    );
    return [new AIMessage({ content: text, tool_calls: calls })];
  }
  const results = content.flatMap((block) =>
    block.type === "tool_result" && typeof block.content === "string"
      ? [new ToolMessage({ tool_call_id: block.tool_use_id, content: block.content })]
      : [],
  );
  return text === "" ? results : [...results, new HumanMessage(text)];
}
