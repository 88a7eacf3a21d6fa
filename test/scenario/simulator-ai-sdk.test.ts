import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, isStepCount, type LanguageModel, RetryError, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { playing, says, served } from "./support/simulated.ts";

const connect = async (options: SimulatorOptions, name = "claude-sonnet-5-5"): Promise<LanguageModel> => {
  const { url } = await served(options);
  return createAnthropic({ apiKey: "sk-test", baseURL: `${url}/v1` })(name);
};

describe("the AI SDK with its Anthropic provider", () => {
  it("gets text and usage", async () => {
    const model = await connect({ responder: playing(says("Hi there.")) });
    const { text, usage, finishReason } = await generateText({ model, prompt: "Hello" });
    expect(text).toBe("Hi there.");
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  it("streams", async () => {
    const said = "A sentence that comes in pieces, über Umwege. ".repeat(3);
    const model = await connect({ responder: playing(says(said)) });
    const pieces: string[] = [];
    for await (const piece of streamText({ model, prompt: "Hello" }).textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(said);
  });

  it.each(["generateText", "streamText"])("runs a tool loop with thinking by %s", async (way) => {
    const model = await connect({
      responder: playing(
        [
          { type: "thinking", thinking: "The city first." },
          { type: "tool_use", name: "weather", input: { city: "Oslo" } },
        ],
        says("It rains in Oslo."),
      ),
    });
    const asked: string[] = [];
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => {
        asked.push(city);
        return Promise.resolve("rain");
      },
    });
    const options = {
      model,
      prompt: "How is the weather?",
      tools: { weather },
      stopWhen: isStepCount(3),
      providerOptions: { anthropic: { thinking: { type: "adaptive" } } },
    };
    const text = way === "generateText" ? (await generateText(options)).text : await streamText(options).text;
    expect(text).toBe("It rains in Oslo.");
    expect(asked).toEqual(["Oslo"]);
  });

  it("sees what was written to the cache and read from it", async () => {
    const model = await connect({});
    const ask = () =>
      generateText({
        model,
        messages: [
          {
            role: "user",
            content: [
              {
                type: "text",
                text: "Remember this line. ".repeat(600),
                providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
              },
            ],
          },
        ],
      });
    const [first, second] = [await ask(), await ask()];
    expect(first.usage.inputTokenDetails.cacheWriteTokens).toBeGreaterThan(1024);
    expect(second.usage.inputTokenDetails.cacheReadTokens).toBe(first.usage.inputTokenDetails.cacheWriteTokens);
  });

  it("retries what can be retried", async () => {
    const faults = [{ kind: "overloaded" } as const];
    const model = await connect({
      responder: {
        name: "flaky",
        respond: () => {
          const fault = faults.shift();
          return { move: { kind: "say", blocks: says("Again.") }, ...(fault === undefined ? {} : { fault }) };
        },
      },
    });
    expect((await generateText({ model, prompt: "Hello" })).text).toBe("Again.");
  });

  it("maps refusals and faults to its own classes", async () => {
    const model = await connect({}, "claude-nobody-1");
    const refused: unknown = await generateText({ model, prompt: "Hello" }).catch((error: unknown) => error);
    expect(APICallError.isInstance(refused) && refused.statusCode).toBe(404);
    const busy = await connect({});
    const failed: unknown = await generateText({
      model: busy,
      prompt: "Hello",
      maxRetries: 0,
      headers: { "x-simulator-fault": "rate-limit retry-after=1" },
    }).catch((error: unknown) => error);
    const cause = RetryError.isInstance(failed) ? failed.lastError : failed;
    expect(APICallError.isInstance(cause) && [cause.statusCode, cause.isRetryable]).toEqual([429, true]);
  });
});
