import { createAnthropic } from "@ai-sdk/anthropic";
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { contextProcessor } from "../../packages/palimpsest/src/adapter/mastra/context-processor.ts";
import { recallTool } from "../../packages/palimpsest/src/adapter/mastra/recall-tool.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
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

const read = createTool({
  id: "read",
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => Promise.resolve(fileText(path)),
});

function connected(
  responder: Responder | Simulator,
  config: Partial<AgentConfig> & { readonly thinks?: boolean } = {},
) {
  const { thinks = false, ...others } = config;
  const { fetch, bodies } = recordingFetch(responder);
  const model: unknown = createAnthropic({ apiKey: "sk-test", baseURL: "http://simulator/v1", fetch })(
    "claude-sonnet-4-5",
  );
  const agent = new Agent({
    id: "reader",
    name: "reader",
    instructions: "You read.",
    // Of two versions of the same interface, one knows another reason why a reply ends.
    model: model as AgentConfig["model"],
    tools: { read },
    defaultOptions: {
      maxSteps: 200,
      modelSettings: { maxOutputTokens: 3_000 },
      ...(thinks ? { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } } } : {}),
    },
    ...others,
  });
  return { agent, bodies };
}

const inThread = (thread: string) => ({ memory: { thread, resource: "ada" } });

describe("contextProcessor, for agents of Mastra", () => {
  it.each([
    { way: "whole", thinks: false },
    { way: "streamed", thinks: false },
    { way: "whole", thinks: true },
  ])(
    "an agent's loop goes through three compactions, $way, and its memory keeps all messages ($thinks)",
    async (given) => {
      const processor = contextProcessor(small);
      const memory = new MockMemory();
      const { agent, bodies } = connected(reader(49, given), {
        thinks: given.thinks,
        memory,
        inputProcessors: [processor],
      });
      const task = "Read all 49 files. The code word is periwinkle.";
      if (given.way === "whole") expect((await agent.generate(task, inThread("t1"))).text).toContain("Done.");
      else {
        const { textStream } = await agent.stream(task, inThread("t1"));
        let deltas = 0;
        for await (const delta of textStream) deltas += delta === "" ? 0 : 1;
        expect(deltas).toBeGreaterThan(40);
      }
      expect(bodies).toHaveLength(50);
      expect(longest(bodies)).toBeLessThan(120_000);
      expect(bodies.at(-1)).toContain("periwinkle");
      if (given.thinks) expect(bodies.filter((body) => body.includes('"signature"')).length).toBeGreaterThan(20);
      const context = await processor.contextFor("t1");
      expect(countBoundaries(context?.receipts())).toBeGreaterThanOrEqual(3);
      expect(context?.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
      expect(context?.costs().session.requests).toBe(50);
      const { messages } = await memory.recall({ threadId: "t1", resourceId: "ada" });
      expect(JSON.stringify(messages).length).toBeGreaterThan(250_000);
      await processor.closeContexts();
    },
  );

  it("without it, the same loop outgrows the window", async () => {
    const { agent, bodies } = connected(reader(49));
    await agent.generate("Read.");
    expect(longest(bodies)).toBeGreaterThan(250_000);
  });

  it("a thread is continued by its memory, also by another process with the same store; threads are kept apart", async () => {
    const store = memoryStore();
    const memory = new MockMemory();
    const simulator = new Simulator({ responder: reader(9) });
    const receipts: { readonly kind: string }[] = [];
    for (const thread of ["a", "b", "a", "a"]) {
      const processor = contextProcessor({ ...small, store });
      const { agent, bodies } = connected(simulator, { memory, inputProcessors: [processor] });
      await agent.generate(
        `The code word of ${thread} is ${thread === "a" ? "periwinkle" : "marigold"}.`,
        inThread(thread),
      );
      expect(bodies.at(-1)).not.toContain(thread === "a" ? "marigold" : "periwinkle");
      const context = await processor.contextFor(thread);
      expect(context?.session).toBe(thread);
      receipts.push(...(context?.receipts() ?? []));
      expect(processor.contextFor("c")).toBeUndefined();
      await processor.closeContexts();
    }
    expect(receipts.filter(({ kind }) => kind === "branch")).toEqual([]);
  });

  it("the tool recall finds what was said before a compaction", async () => {
    const processor = contextProcessor(small);
    const plain = reader(29);
    let made = 0;
    const responder: Responder = {
      name: "recalling",
      respond: (scene) => {
        made += 1;
        if (made !== 29) return plain.respond(scene);
        const call: MoveBlock = { type: "tool_use", name: "recall", input: { query: "periwinkle" } };
        return { move: { kind: "say", blocks: [call] } };
      },
    };
    const memory = new MockMemory();
    const recall = recallTool(processor);
    const { agent } = connected(responder, { memory, inputProcessors: [processor], tools: { read, recall } });
    await agent.generate("Read. The code word is periwinkle.", inThread("t1"));
    const { messages } = await memory.recall({ threadId: "t1", resourceId: "ada" });
    const results = messages.flatMap(({ content }) =>
      content.parts.flatMap((part) =>
        part.type === "tool-invocation" && part.toolInvocation.toolName === "recall" ? [JSON.stringify(part)] : [],
      ),
    );
    expect(results.join("")).toContain("The code word is periwinkle");
    expect(countBoundaries((await processor.contextFor("t1"))?.receipts())).toBeGreaterThanOrEqual(1);
    await processor.closeContexts();
  });

  it("the cache mark of a call gives way to those of the context, which may have another lifetime", async () => {
    const processor = contextProcessor(small);
    const { agent, bodies } = connected(reader(2), { inputProcessors: [processor] });
    const providerOptions = {
      anthropic: { cacheControl: { type: "ephemeral" as const }, disableParallelToolUse: true },
    };
    const { text } = await agent.generate("Read.", { providerOptions });
    expect(text).toContain("Done.");
    for (const body of bodies) {
      expect(JSON.parse(body)).not.toHaveProperty("cache_control");
      expect(body).toContain('"cache_control"');
      expect(body).toContain('"disable_parallel_tool_use":true');
    }
    await processor.closeContexts();
  });

  it("a request that is refused as too long is made plainer and sent again", async () => {
    const processor = contextProcessor({ contextTokens: 24_000 });
    const { agent, bodies } = connected(refusing(reader(4), 4), {
      inputProcessors: [processor],
      errorProcessors: [processor],
    });
    const { text } = await agent.generate("Read.");
    expect(text).toContain("Done.");
    expect(bodies).toHaveLength(6);
    expect((bodies[4] ?? "").length).toBeLessThan((bodies[3] ?? "").length);
    await processor.closeContexts();
  });

  it("with its own model as the summarizer, the model is asked for the summary", async () => {
    const processor = contextProcessor({ ...small, contextTokens: 40_000, summarizer: "own" });
    const { agent, bodies } = connected(summarising(reader(39)), { inputProcessors: [processor] });
    await agent.generate("Read.");
    expect(bodies.at(-1)).toContain(summaryMark);
    await processor.closeContexts();
  });
});
