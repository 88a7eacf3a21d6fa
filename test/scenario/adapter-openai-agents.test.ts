import { Agent, MemorySession, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { withContext } from "../../packages/palimpsest/src/adapter/openai-agents/with-context.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
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

// Traces would be sent to the network.
setTracingDisabled(true);

interface ConnectedInput {
  readonly responder: Responder;
  readonly api: "chat" | "responses";
}

function connected({ responder, api }: ConnectedInput) {
  const { fetch, bodies } = recordingFetch(responder);
  const openAIClient = new OpenAI({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator/v1", fetch });
  return { provider: new OpenAIProvider({ openAIClient, useResponses: api === "responses" }), bodies };
}

const read = tool({
  name: "read",
  description: "Reads a file.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => fileText(path),
});
const agent = new Agent({ name: "reader", instructions: "You read.", model: "gpt-5", tools: [read] });

describe("withContext, for a session of OpenAI's Agents SDK", () => {
  it.each([
    { api: "responses", way: "whole" },
    { api: "responses", way: "streamed" },
    { api: "chat", way: "whole" },
  ] as const)(
    "$api, $way: a session goes through three compactions, and the session keeps all items",
    async (given) => {
      // Over chat completions the framework writes fields of a reply into its text, which is refused: one run without texts.
      const isChat = given.api === "chat";
      const tasks = isChat ? ["Read. The code word is periwinkle."] : ["Read. The code word is periwinkle.", "Go on."];
      const calls = isChat ? 49 : 24;
      const { provider, bodies } = connected({ responder: reader(calls, { talks: !isChat }), api: given.api });
      const session = withContext(new MemorySession({ sessionId: "reading" }), small);
      const runner = new Runner({ modelProvider: session.wrapProvider(provider) });
      for (const task of tasks) {
        if (given.way === "whole") {
          const { finalOutput } = await runner.run(agent, task, { session, maxTurns: 100 });
          expect(finalOutput).toBe("Done.");
        } else {
          const result = await runner.run(agent, task, { session, maxTurns: 100, stream: true });
          let deltas = 0;
          for await (const event of result)
            if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") deltas += 1;
          expect(deltas).toBeGreaterThan(20);
          expect(result.finalOutput).toBe("Done.");
        }
      }
      expect(bodies).toHaveLength(50);
      expect(longest(bodies)).toBeLessThan(120_000);
      expect(bodies.at(-1)).toContain("periwinkle");
      const items = await session.getItems();
      expect(items.filter(({ type }) => type === "function_call_result")).toHaveLength(calls * tasks.length);
      expect(JSON.stringify(items).length).toBeGreaterThan(250_000);
      const context = await session.context;
      expect(context.session).toBe("reading");
      expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
      expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
      expect(context.costs().session.requests).toBe(50);
      await session.closeContext();
    },
  );

  it("without it, the same session outgrows the window", async () => {
    const { provider, bodies } = connected({ responder: reader(49), api: "responses" });
    const runner = new Runner({ modelProvider: provider });
    await runner.run(agent, "Read.", { session: new MemorySession(), maxTurns: 100 });
    expect(longest(bodies)).toBeGreaterThan(250_000);
  });

  it("reasoning, ids and the provider's data are sent as they were", async () => {
    const { provider, bodies } = connected({ responder: reader(0), api: "responses" });
    const session = withContext(
      new MemorySession({
        initialItems: [
          { type: "message", role: "user", content: "Read twice." },
          { type: "reasoning", id: "rs_1", content: [], providerData: { encrypted_content: "sealed" } },
          { type: "function_call", id: "fc_1", callId: "one", name: "read", arguments: '{ "path": "a" }' },
          { type: "function_call_result", callId: "one", name: "read", status: "completed", output: "same" },
          { type: "function_call", id: "fc_2", callId: "two", name: "read", arguments: '{ "path": "a" }' },
          { type: "function_call_result", callId: "two", name: "read", status: "completed", output: "same" },
        ],
      }),
    );
    const plain = connected({ responder: reader(0), api: "responses" });
    const items = await session.getItems();
    const runner = new Runner({ modelProvider: session.wrapProvider(provider) });
    const unwrapped = new Runner({ modelProvider: plain.provider });
    const same = new MemorySession({ initialItems: items });
    // The simulator refuses what it did not seal. With the context the request is made plainer.
    await expect(unwrapped.run(agent, "Go on.", { session: same })).rejects.toThrow(/could not be verified/);
    await runner.run(agent, "Go on.", { session });
    expect(bodies[0]).toContain("sealed");
    expect(bodies[0]).toBe(plain.bodies[0]);
    await session.closeContext();
  });

  it("another process continues the session from its store", async () => {
    const store = memoryStore();
    const { provider, bodies } = connected({ responder: reader(24), api: "responses" });
    const kept = new MemorySession({ sessionId: "long" });
    const before = withContext(kept, { ...small, store });
    const first = new Runner({ modelProvider: before.wrapProvider(provider) });
    await first.run(agent, "Read. The code word is periwinkle.", { session: before, maxTurns: 100 });
    await before.closeContext();
    const after = withContext(kept, { ...small, store });
    const second = new Runner({ modelProvider: after.wrapProvider(provider) });
    await second.run(agent, "Read on.", { session: after, maxTurns: 100 });
    const context = await after.context;
    expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
    expect(longest(bodies)).toBeLessThan(120_000);
    await after.closeContext();
  });

  it("with its own model as the summarizer, the model is asked for the summary", async () => {
    const { provider, bodies } = connected({ responder: summarising(reader(39)), api: "responses" });
    const session = withContext(new MemorySession(), { ...small, contextTokens: 40_000, summarizer: "own" });
    const runner = new Runner({ modelProvider: session.wrapProvider(provider) });
    await runner.run(agent, "Read.", { session, maxTurns: 100 });
    // When the run has ended, another summary may be prepared in the background.
    const steps = bodies.filter((body) => !body.includes("<summary>"));
    expect(steps).toHaveLength(40);
    expect(steps.at(-1)).toContain(summaryMark);
    await session.closeContext();
  });
});
