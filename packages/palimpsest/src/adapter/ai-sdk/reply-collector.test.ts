import { describe, expect, it } from "vitest";
import { encodeMessage, type PromptMessage, type PromptPart, toMessage } from "./prompt-message.ts";
import { ReplyCollector } from "./reply-collector.ts";

describe("ReplyCollector", () => {
  it("a tool that the provider ran is recorded as the prompt shows it, from the chunks of Mastra too", () => {
    const call = { toolCallId: "ws1", toolName: "web_search", providerExecuted: true };
    const collector = new ReplyCollector();
    for (const chunk of [
      { type: "tool-call", payload: { ...call, args: { q: 1 } } },
      { type: "tool-result", payload: { ...call, result: { found: 0 }, preliminary: true } },
      { type: "tool-result", payload: { ...call, result: { found: 1 } } },
      { type: "text-delta", payload: { id: "1", text: "found" } },
      { type: "finish", payload: { stepResult: { reason: "stop" } } },
    ])
      collector.take(chunk);
    const content = [
      { type: "tool-call", ...call, input: { q: 1 } },
      { type: "tool-result", ...call, output: { type: "json", value: { found: 1 } } },
      { type: "text", text: "found" },
    ];
    const prompt: PromptMessage<PromptPart> = { role: "assistant", content };
    expect(collector.reply("m").content).toEqual(toMessage(encodeMessage(prompt)).content);
    expect(collector.reply("m").content).toHaveLength(3);
  });
});
