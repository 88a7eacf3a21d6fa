import { isDeepStrictEqual } from "node:util";
import { generateText, type LanguageModel, type ModelMessage, streamText, wrapLanguageModel } from "ai";
import { describe, expect, it } from "vitest";
import { pngData } from "../../../../../test/fixture/image.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { contextMiddleware } from "./context-middleware.ts";

type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type Prompt = Parameters<Model["doGenerate"]>[0]["prompt"];
type Content = Awaited<ReturnType<Model["doGenerate"]>>["content"][number];
type Stream = Awaited<ReturnType<Model["doStream"]>>["stream"];
type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never;

/** Summaries alone make room. */
const patient = { ...getPreset("palimpsest"), name: "patient", clear: {} };

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const finish = { finishReason: { unified: "stop", raw: "stop" }, usage } as const;

/** Gives these replies, then short ones, and keeps what it was asked. */
function scripted(...replies: readonly (readonly Content[])[]) {
  const prompts: Prompt[] = [];
  const next = (prompt: Prompt): Content[] => {
    prompts.push(prompt);
    return [...(replies[prompts.length - 1] ?? [{ type: "text", text: "ok" }])];
  };
  const model: Model = {
    specificationVersion: "v4",
    provider: "openai.responses",
    modelId: "gpt-5",
    supportedUrls: {},
    doGenerate: ({ prompt }) => Promise.resolve({ content: next(prompt), ...finish, warnings: [] }),
    doStream: ({ prompt }) => {
      const parts = next(prompt).flatMap((part, at): StreamPart[] => {
        if (part.type !== "text") return part.type === "tool-call" || part.type === "tool-result" ? [part] : [];
        const id = String(at);
        return [
          { type: "text-start", id },
          { type: "text-delta", id, delta: part.text },
          { type: "text-end", id },
        ];
      });
      return Promise.resolve({ stream: ReadableStream.from([...parts, { type: "finish" as const, ...finish }]) });
    },
  };
  return { model, prompts };
}

type Ask = typeof generateText | typeof streamText;

/** Says one thing after the other, and keeps what the framework keeps. */
async function converse(model: Model, { said, ask }: { readonly said: readonly ModelMessage[]; readonly ask: Ask }) {
  const messages: ModelMessage[] = [];
  for (const message of said) {
    messages.push(message);
    const { response } = await ask({ model, messages });
    messages.push(...(await response).messages);
  }
}

/** The last prompt, with the context and without it. */
async function bothPrompts(input: {
  readonly replies?: readonly (readonly Content[])[];
  readonly said: readonly ModelMessage[];
  readonly ask?: Ask;
}) {
  const { replies = [], said, ask = generateText } = input;
  const [plain, wrapped] = [scripted(...replies), scripted(...replies)];
  const middleware = contextMiddleware({ contextTokens: 200_000 });
  await converse(plain.model, { said, ask });
  await converse(wrapLanguageModel({ model: wrapped.model, middleware }), { said, ask });
  const context = await middleware.context;
  const result = {
    plain: plain.prompts.at(-1),
    wrapped: wrapped.prompts.at(-1),
    receipts: context.receipts(),
    used: context.report().used,
  };
  await middleware.closeContext();
  return result;
}

const next: ModelMessage = { role: "user", content: "next" };

describe("contextMiddleware: what is the framework's stays the framework's", () => {
  it("a call that repeats an earlier one keeps its own id, reasoning and signature when the earlier one has left", async () => {
    const calls = Array.from({ length: 33 }, (_, at): ModelMessage[] => [
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "again", providerOptions: { openai: { itemId: `rs_${at}` } } },
          {
            type: "tool-call",
            toolCallId: `call_${at}`,
            toolName: "read",
            input: { path: "a" },
            providerOptions: { google: { thoughtSignature: `sig_${at}` } },
          },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: `call_${at}`,
            toolName: "read",
            output: { type: "text", value: `version ${at} ${"line of code; ".repeat(400)}` },
          },
        ],
      },
    ]);
    const { model, prompts } = scripted();
    const middleware = contextMiddleware({ contextTokens: 24_000, policy: patient });
    const wrapped = wrapLanguageModel({ model, middleware });
    const messages: ModelMessage[] = [{ role: "user", content: "Watch it." }, ...calls.slice(0, 30).flat()];
    await generateText({ model: wrapped, messages });
    messages.push({ role: "assistant", content: "ok" }, next, ...calls.slice(30).flat());
    await generateText({ model: wrapped, messages });
    const prompt = prompts.at(-1) ?? [];
    const replies = prompt.flatMap((message) =>
      message.role === "assistant" ? [JSON.stringify(message.content)] : [],
    );
    const restored = replies.filter((text) => text.includes('"tool-call"'));
    expect(restored).toHaveLength(3);
    for (const [nth, text] of restored.entries())
      for (const own of ["call", "rs", "sig"]) expect(text).toContain(`"${own}_${30 + nth}"`);
    const results = prompt.flatMap((message) =>
      message.role === "tool" ? message.content.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])) : [],
    );
    expect(results).toEqual(["call_30", "call_31", "call_32"]);
    await middleware.closeContext();
  });

  it.each([
    {
      form: "bytes of a picture",
      data: new Uint8Array(Buffer.from(pngData({ bytes: 1_000_000 }), "base64")),
      most: 3_000,
    },
    { form: "a picture in base64", data: pngData({ bytes: 1_000_000 }), most: 3_000 },
    { form: "bytes that are no picture", data: new Uint8Array(1_000_000).fill(7), most: 200 },
  ])("$form of 1 MB: counted as what it is and sent as it was", async ({ data, most }) => {
    const picture = { type: "file", mediaType: "image/png", data } as const;
    const { plain, wrapped, receipts, used } = await bothPrompts({
      said: [{ role: "user", content: [{ type: "text", text: "see" }, picture] }, next],
    });
    // Without a difference of megabytes if it fails.
    expect(isDeepStrictEqual(wrapped, plain)).toBe(true);
    expect(receipts).toEqual([]);
    expect(used).toBeLessThan(most);
  });

  it("a picture in a result is no text that is offloaded", async () => {
    const call = { toolCallId: "c1", toolName: "shot" };
    const value = [
      { type: "text" as const, text: "here" },
      {
        type: "file" as const,
        mediaType: "image/png",
        data: { type: "data" as const, data: pngData({ bytes: 200_000 }) },
      },
    ];
    const { model, prompts } = scripted();
    const middleware = contextMiddleware({ contextTokens: 200_000 });
    const messages: ModelMessage[] = [
      { role: "user", content: "shot" },
      { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "content", value } }] },
    ];
    await generateText({ model: wrapLanguageModel({ model, middleware }), messages });
    expect(prompts[0]?.at(-1)?.content).toMatchObject([{ output: { value } }]);
    const context = await middleware.context;
    expect(context.receipts()).toEqual([]);
    expect(context.report().used).toBeLessThan(3_000);
    await middleware.closeContext();
  });

  const search: readonly Content[] = [
    { type: "tool-call", toolCallId: "ws1", toolName: "web_search", input: '{ "q": 1 }', providerExecuted: true },
    { type: "tool-result", toolCallId: "ws1", toolName: "web_search", result: { a: 1, data: "A".repeat(90_000) } },
    { type: "text", text: "found" },
  ];
  it.each([
    { way: "whole", ask: generateText },
    { way: "streamed", ask: streamText },
  ])("$way: a tool that the provider runs keeps its result, and its reply is recognised", async ({ ask }) => {
    const { plain, wrapped, receipts, used } = await bothPrompts({
      replies: [search],
      said: [{ role: "user", content: "search" }, next, next],
      ask,
    });
    expect(JSON.stringify(plain)).toContain('"tool-result"');
    expect(wrapped).toEqual(plain);
    expect(receipts).toEqual([]);
    expect(used).toBeLessThan(1_000);
  });

  it("a file that the model made is recognised", async () => {
    const { plain, wrapped, receipts } = await bothPrompts({
      replies: [
        [
          { type: "text", text: "here" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: pngData() } },
        ],
      ],
      said: [{ role: "user", content: "draw" }, next, next],
    });
    expect(wrapped).toEqual(plain);
    expect(receipts).toEqual([]);
  });

  it("a stream is passed on while it comes, not when it has ended", async () => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    async function* parts(): AsyncGenerator<StreamPart> {
      yield { type: "text-start", id: "1" };
      yield { type: "text-delta", id: "1", delta: "first" };
      await isRead;
      yield { type: "text-end", id: "1" };
      yield { type: "finish", ...finish };
    }
    const model: Model = {
      ...scripted().model,
      doStream: () => Promise.resolve({ stream: ReadableStream.from(parts()) }),
    };
    const middleware = contextMiddleware({ contextTokens: 200_000 });
    const { textStream } = streamText({ model: wrapLanguageModel({ model, middleware }), prompt: "say" });
    const texts: string[] = [];
    for await (const text of textStream) {
      texts.push(text);
      read();
    }
    expect(texts).toEqual(["first"]);
    expect((await middleware.context).costs().session.requests).toBe(1);
    await middleware.closeContext();
  });
});
