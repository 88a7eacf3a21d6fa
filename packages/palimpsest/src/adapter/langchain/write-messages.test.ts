import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { pngData } from "../../../../../test/fixture/image.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { contextMiddleware } from "./context-middleware.ts";
import { encodeMessage } from "./encode-message.ts";
import { writeMessages } from "./write-messages.ts";

/** Summaries alone make room. */
const patient = { ...getPreset("palimpsest"), name: "patient", clear: {} };

/** What the model is asked for the last of the lists, and the context afterwards. */
async function ask(lists: readonly BaseMessage[][], contextTokens: number) {
  const asked: BaseMessage[][] = [];
  const middleware = contextMiddleware({ contextTokens, policy: patient });
  const recorder = createMiddleware({
    name: "Recorder",
    wrapModelCall: (request, handler) => {
      asked.push(request.messages);
      return handler(request);
    },
  });
  const model = new FakeListChatModel({ responses: ["ok", "ok"] });
  const agent = createAgent({ model, tools: [], middleware: [middleware, recorder] });
  for (const messages of lists) await agent.invoke({ messages });
  const context = await middleware.contextFor();
  const result = { sent: asked.at(-1) ?? [], receipts: context?.receipts() ?? [], used: context?.report().used ?? 0 };
  await middleware.closeContexts();
  return result;
}

describe("what LangChain's model is asked", () => {
  it("a call that repeats an earlier one is its own message when the earlier one has left", async () => {
    const calls = Array.from({ length: 33 }, (_, at) => [
      new AIMessage({ id: `m${at}`, content: "", tool_calls: [{ id: `c${at}`, name: "read", args: { path: "a" } }] }),
      new ToolMessage({ tool_call_id: `c${at}`, content: `version ${at} ${"line of code; ".repeat(400)}` }),
    ]);
    const first = [new HumanMessage("Watch it."), ...calls.slice(0, 30).flat()];
    const second = [...first, new AIMessage("ok"), new HumanMessage("next"), ...calls.slice(30).flat()];
    const { sent } = await ask([first, second], 24_000);
    const replies = sent.filter((message) => AIMessage.isInstance(message)).filter(({ text }) => text === "");
    expect(replies.map(({ id }) => id)).toEqual(["m30", "m31", "m32"]);
    const answered = sent.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : []));
    expect(answered).toEqual(["c30", "c31", "c32"]);
  });

  it.each([
    {
      form: "image_url",
      part: (data: string) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }),
    },
    { form: "LangChain's", part: (data: string) => ({ type: "image", mimeType: "image/png", data }) },
    {
      form: "Anthropic's",
      part: (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } }),
    },
  ])("a picture of 1 MB is counted as a picture and sent as it was: $form", async ({ part }) => {
    const picture = part(pngData({ bytes: 1_000_000 }));
    const seen = new HumanMessage({ content: [{ type: "text", text: "see" }, picture] });
    const call = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "shot", args: {} }] });
    const shot = new ToolMessage({ tool_call_id: "c", content: [{ type: "text", text: "here" }, picture] });
    const { sent, receipts, used } = await ask([[seen, call, shot, new HumanMessage("next")]], 200_000);
    const contents = sent.map(({ content }) => content);
    // Without a difference of megabytes if it fails.
    expect(JSON.stringify(contents) === JSON.stringify([seen.content, "", shot.content, "next"])).toBe(true);
    expect(receipts).toEqual([]);
    expect(used).toBeLessThan(6_000);
  });

  it("a message without the thinking that may no longer be sent keeps everything else", () => {
    const reply = new AIMessage({
      id: "m1",
      content: [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "text", text: "said" },
      ],
      tool_calls: [{ id: "c1", name: "read", args: {} }],
      invalid_tool_calls: [{ id: "c2", name: "read", args: "{", error: "cut" }],
      additional_kwargs: { kept: true },
      response_metadata: { model: "m" },
    });
    Object.assign(reply, { usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
    const params = { model: "m", max_tokens: 1, messages: [] };
    const [copy] = writeMessages({ params, outgoing: [{ kind: "given", at: 0 }] }, [encodeMessage(reply)]);
    expect(copy).toMatchObject({
      id: "m1",
      content: [{ type: "text", text: "said" }],
      tool_calls: reply.tool_calls,
      invalid_tool_calls: reply.invalid_tool_calls,
      additional_kwargs: { kept: true },
      usage_metadata: { total_tokens: 3 },
      response_metadata: { model: "m" },
    });
    expect(reply.content).toHaveLength(2);
  });
});
