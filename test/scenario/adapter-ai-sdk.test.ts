import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, type ModelMessage, streamText, tool, wrapLanguageModel } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { pngData } from "../fixture/image.ts";
import { contextMiddleware, contextStep } from "../../packages/palimpsest/src/adapter/ai-sdk/index.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import {
  countBoundaries,
  fileText,
  longest,
  reader,
  recordingFetch,
  refusing,
  small,
  summarising,
  summaryMark,
} from "./support/adapter-world.ts";

function connected(responder: Responder) {
  const { fetch, bodies } = recordingFetch(responder);
  const options = { apiKey: "sk-test", baseURL: "http://simulator/v1", fetch };
  return { anthropic: createAnthropic(options), openai: createOpenAI(options), bodies };
}

const read = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => Promise.resolve(fileText(path)),
});

describe("contextMiddleware, for wrapLanguageModel of the AI SDK", () => {
  it.each(["anthropic", "openai"] as const)("%s: a loop of tools goes through three compactions", async (provider) => {
    const { bodies, ...clients } = connected(reader(59));
    const inner = provider === "anthropic" ? clients.anthropic("claude-sonnet-5-5") : clients.openai.chat("gpt-5");
    const middleware = contextMiddleware({ ...small, contextTokens: 30_000 });
    const model = wrapLanguageModel({ model: inner, middleware });
    const { text, steps } = await generateText({
      model,
      instructions: "You read.",
      prompt: "Read all 59 files. The code word is periwinkle.",
      tools: { read },
      maxOutputTokens: 2_000,
      stopWhen: isStepCount(100),
      maxRetries: 0,
    });
    expect(text).toBe("Done.");
    expect(steps).toHaveLength(60);
    expect(bodies).toHaveLength(60);
    expect(longest(bodies)).toBeLessThan(160_000);
    expect(bodies.at(-1)).toContain("periwinkle");
    const context = await middleware.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.costs().session.requests).toBe(60);
    // Every reply was recognised when it came back: nothing was said twice.
    expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
    await middleware.closeContext();
  });

  it("a streamed loop with thinking goes through three compactions, and the framework keeps its whole list", async () => {
    const { anthropic, bodies } = connected(reader(44, { thinks: true }));
    const middleware = contextMiddleware({ ...small, contextTokens: 24_000 });
    const model = wrapLanguageModel({ model: anthropic("claude-opus-4-5"), middleware });
    const result = streamText({
      model,
      prompt: "Read.",
      tools: { read },
      maxOutputTokens: 2_000,
      stopWhen: isStepCount(100),
      maxRetries: 0,
      providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } },
    });
    const kinds = new Set<string>();
    for await (const part of result.fullStream) kinds.add(part.type);
    expect([...kinds]).toEqual(expect.arrayContaining(["text-delta", "reasoning-delta", "tool-call", "tool-result"]));
    expect(kinds.has("error")).toBe(false);
    expect(await result.text).toBe("Done.");
    const steps = await result.steps;
    expect(steps).toHaveLength(45);
    expect(bodies.filter((body) => body.includes('"signature"')).length).toBeGreaterThan(20);
    const context = await middleware.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    await middleware.closeContext();
  });

  it("parts that are sent as they were are the framework's own, with their ids and options", async () => {
    const { anthropic, bodies } = connected(reader(0));
    const middleware = contextMiddleware();
    const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware });
    const png = new Uint8Array(Buffer.from(pngData(), "base64"));
    const messages: ModelMessage[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "file", data: png, mediaType: "image/png" },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "toolu_mine", toolName: "read", input: { path: "a", deep: [1] } }],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "toolu_mine",
            toolName: "read",
            output: { type: "json", value: { a: [1, 2] } },
          },
        ],
      },
    ];
    await generateText({ model, messages, tools: { read }, maxRetries: 0 });
    const plain = connected(reader(0));
    await generateText({ model: plain.anthropic("claude-sonnet-5-5"), messages, tools: { read }, maxRetries: 0 });
    const [sent = "", without = ""] = [bodies[0], plain.bodies[0]].map((body) =>
      JSON.stringify((JSON.parse(body ?? "{}") as { messages: unknown }).messages).replaceAll(
        /,"cache_control":\{[^}]*\}/g,
        "",
      ),
    );
    expect(sent).toBe(without);
    expect(sent).toContain("toolu_mine");
    await middleware.closeContext();
  });

  it("a cache mark of the whole call is replaced by the context's own, so that no request is refused", async () => {
    const { anthropic, bodies } = connected(reader(9));
    const middleware = contextMiddleware({ contextTokens: 30_000 });
    const { text } = await generateText({
      model: wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware }),
      prompt: "Read.",
      tools: { read },
      maxOutputTokens: 2_000,
      stopWhen: isStepCount(30),
      maxRetries: 0,
      providerOptions: { anthropic: { cacheControl: { type: "ephemeral" }, sendReasoning: true } },
    });
    expect(text).toBe("Done.");
    expect(bodies).toHaveLength(10);
    expect(bodies.every((body) => !("cache_control" in (JSON.parse(body) as object)))).toBe(true);
    await middleware.closeContext();
  });

  it("a prompt that the server refuses as too long is sent again, smaller", async () => {
    const { anthropic, bodies } = connected(refusing(reader(19), 16));
    const middleware = contextMiddleware();
    const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware });
    const { text } = await generateText({
      model,
      prompt: "Read.",
      tools: { read },
      stopWhen: isStepCount(30),
      maxRetries: 0,
    });
    expect(text).toBe("Done.");
    expect(bodies).toHaveLength(21);
    expect(bodies[16]?.length).toBeLessThan(bodies[15]?.length ?? 0);
    await middleware.closeContext();
  });

  it("with its own model as the summarizer, the model is asked for the summary", async () => {
    const { anthropic, bodies } = connected(summarising(reader(1_000)));
    const middleware = contextMiddleware({ ...small, contextTokens: 40_000, summarizer: "own" });
    const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware });
    await generateText({
      model,
      prompt: "Read.",
      tools: { read },
      stopWhen: isStepCount(25),
      maxOutputTokens: 2_000,
      maxRetries: 0,
    });
    expect(bodies.at(-1)).toContain(summaryMark);
    await middleware.closeContext();
  });
});

describe("contextStep, for prepareStep", () => {
  it("a message of each role keeps its form and its options", async () => {
    const { anthropic } = connected(reader(0));
    const { prepareStep, closeContext } = contextStep();
    const options = { test: { mine: true } };
    const call = { toolCallId: "toolu_mine", toolName: "read" };
    const initialMessages: ModelMessage[] = [
      { role: "user", content: [{ type: "text", text: "Look.", providerOptions: options }], providerOptions: options },
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { path: "a" } }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "b" } }] },
      { role: "user", content: [{ type: "text", text: "Go on." }] },
    ];
    const model = { ...anthropic("claude-sonnet-5-5"), provider: "other" };
    const { messages } = await prepareStep({ model, instructions: undefined, initialMessages, responseMessages: [] });
    expect(messages).toEqual(initialMessages);
    await closeContext();
  });

  it("makes the messages of each step fit, through three compactions", async () => {
    const { anthropic, bodies } = connected(reader(59));
    const { prepareStep, context, closeContext } = contextStep({ ...small, contextTokens: 30_000 });
    const { text } = await generateText({
      model: anthropic("claude-sonnet-5-5"),
      prompt: "Read all. The code word is periwinkle.",
      tools: { read },
      maxOutputTokens: 2_000,
      stopWhen: isStepCount(100),
      maxRetries: 0,
      prepareStep,
    });
    expect(text).toBe("Done.");
    expect(bodies).toHaveLength(60);
    expect(longest(bodies)).toBeLessThan(160_000);
    expect(bodies.at(-1)).toContain("periwinkle");
    expect(countBoundaries((await context).receipts())).toBeGreaterThanOrEqual(3);
    await closeContext();
  });
});
