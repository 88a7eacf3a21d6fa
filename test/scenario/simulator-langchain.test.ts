import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, ToolMessage, type UsageMetadata } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { playing, says, served } from "./support/simulated.ts";

const connect = async (options: SimulatorOptions): Promise<ChatAnthropic> => {
  const { url } = await served(options);
  return new ChatAnthropic({
    model: "claude-sonnet-4-5",
    apiKey: "sk-test",
    anthropicApiUrl: url,
    maxRetries: 0,
    maxTokens: 4000,
  });
};

/** The message's own type says that it has none. */
const usageOf = (message: { usage_metadata?: unknown }): UsageMetadata => message.usage_metadata as UsageMetadata;

describe("LangChain's Anthropic model", () => {
  it("gets text and usage", async () => {
    const model = await connect({ responder: playing(says("Hi there.")) });
    const message = await model.invoke("Hello");
    expect(message.text).toBe("Hi there.");
    expect(usageOf(message).input_tokens).toBeGreaterThan(0);
  });

  it("streams", async () => {
    const said = "A sentence that comes in pieces, über Umwege. ".repeat(3);
    const model = await connect({ responder: playing(says(said)) });
    const pieces: string[] = [];
    for await (const piece of await model.stream("Hello")) pieces.push(piece.text);
    expect(pieces.join("")).toBe(said);
  });

  it("calls tools and sends their results, thinking included", async () => {
    const { url } = await served({
      responder: playing(
        [
          { type: "thinking", thinking: "The city first." },
          { type: "tool_use", name: "weather", input: { city: "Oslo" } },
        ],
        says("It rains in Oslo."),
      ),
    });
    const model = new ChatAnthropic({
      model: "claude-sonnet-4-5",
      apiKey: "sk-test",
      anthropicApiUrl: url,
      maxRetries: 0,
      maxTokens: 4000,
      thinking: { type: "enabled", budget_tokens: 1024 },
    });
    const weather = tool(({ city }) => `rain in ${city}`, {
      name: "weather",
      description: "The weather of a city.",
      schema: z.object({ city: z.string() }),
    });
    const bound = model.bindTools([weather]);
    const question = new HumanMessage("How is the weather?");
    const call = await bound.invoke([question]);
    const asked = call.tool_calls?.[0];
    expect(asked).toMatchObject({ name: "weather", args: { city: "Oslo" } });
    const result = new ToolMessage({ content: "rain", tool_call_id: asked?.id ?? "" });
    const answer = await bound.invoke([question, call, result]);
    expect(answer).toBeInstanceOf(AIMessage);
    expect(answer.text).toBe("It rains in Oslo.");
  });

  it("counts what was cached", async () => {
    const model = await connect({});
    const long = new HumanMessage({
      content: [{ type: "text", text: "Remember this line. ".repeat(800), cache_control: { type: "ephemeral" } }],
    });
    const [first, second] = [await model.invoke([long]), await model.invoke([long])];
    const written = usageOf(first).input_token_details?.cache_creation;
    expect(written).toBeGreaterThan(1024);
    expect(usageOf(second).input_token_details?.cache_read).toBe(written);
  });

  it.each([
    ["rate-limit", 429],
    ["overloaded", 529],
    ["server-error", 500],
  ])("throws what its SDK throws for %s", async (fault, status) => {
    const { url } = await served();
    const model = new ChatAnthropic({
      model: "claude-sonnet-4-5",
      apiKey: "sk-test",
      anthropicApiUrl: url,
      maxRetries: 0,
      clientOptions: { defaultHeaders: { "x-simulator-fault": fault } },
    });
    await expect(model.invoke("Hello")).rejects.toMatchObject({ status });
  });
});
