import { ChatAnthropic } from "@langchain/anthropic";
import { createAgent, HumanMessage, tool } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { contextMiddleware } from "../../packages/palimpsest/src/adapter/langchain/context-middleware.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import {
  countBoundaries,
  fileText,
  longest,
  reader,
  recordingFetch,
  small,
  summarising,
  summaryMark,
} from "./support/adapter-world.ts";

function connected(responder: Responder, options: { readonly thinks?: boolean } = {}) {
  const { fetch, bodies } = recordingFetch(responder);
  const model = new ChatAnthropic({
    model: "claude-sonnet-4-5",
    apiKey: "sk-test",
    anthropicApiUrl: "http://simulator",
    maxRetries: 0,
    maxTokens: 3_000,
    clientOptions: { fetch },
    ...(options.thinks === true ? { thinking: { type: "enabled", budget_tokens: 1_024 } as const } : {}),
  });
  return { model, bodies };
}

const read = tool(({ path }) => fileText(path), {
  name: "read",
  description: "Reads a file.",
  schema: z.object({ path: z.string() }),
});

describe("contextMiddleware, for createAgent of LangChain", () => {
  it.each([{ thinks: false }, { thinks: true }])(
    "an agent's loop goes through three compactions, and its state keeps all messages ($thinks)",
    async ({ thinks }) => {
      const { model, bodies } = connected(reader(49, { thinks }), { thinks });
      const middleware = contextMiddleware(small);
      const agent = createAgent({ model, tools: [read], systemPrompt: "You read.", middleware: [middleware] });
      const { messages } = await agent.invoke(
        { messages: [new HumanMessage("Read all 49 files. The code word is periwinkle.")] },
        { recursionLimit: 500, configurable: { thread_id: "t1" } },
      );
      expect(messages.at(-1)?.text).toBe("Done.");
      expect(messages).toHaveLength(100);
      expect(bodies).toHaveLength(50);
      expect(longest(bodies)).toBeLessThan(120_000);
      expect(bodies.at(-1)).toContain("periwinkle");
      if (thinks) expect(bodies.filter((body) => body.includes('"signature"')).length).toBeGreaterThan(20);
      const context = await middleware.contextFor("t1");
      expect(countBoundaries(context?.receipts())).toBeGreaterThanOrEqual(3);
      expect(context?.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
      expect(context?.costs().session.requests).toBe(50);
      await middleware.closeContexts();
    },
  );

  it("keeps the conversations of two threads apart", async () => {
    const { model, bodies } = connected(reader(0));
    const middleware = contextMiddleware();
    const agent = createAgent({ model, tools: [read], middleware: [middleware] });
    for (const [thread, said] of [
      ["a", "periwinkle"],
      ["b", "marigold"],
    ] as const)
      await agent.invoke({ messages: [new HumanMessage(said)] }, { configurable: { thread_id: thread } });
    expect(bodies[1]).not.toContain("periwinkle");
    expect((await middleware.contextFor("a"))?.session).toBe("a");
    expect(middleware.contextFor("c")).toBeUndefined();
    await middleware.closeContexts();
  });

  it("with its own model as the summarizer, the model is asked for the summary", async () => {
    const { model, bodies } = connected(summarising(reader(39)));
    const middleware = contextMiddleware({ ...small, contextTokens: 40_000, summarizer: "own" });
    const agent = createAgent({ model, tools: [read], middleware: [middleware] });
    await agent.invoke({ messages: [new HumanMessage("Read.")] }, { recursionLimit: 500 });
    expect(bodies.at(-1)).toContain(summaryMark);
    await middleware.closeContexts();
  });
});
