import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, isStepCount, type LanguageModel, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { playing, says, served } from "./support/simulated.ts";

type Form = "chat" | "responses";
const forms = ["chat", "responses"] as const;

const connect = async (form: Form, options: SimulatorOptions, name = "gpt-5.6-sol"): Promise<LanguageModel> => {
  const { url } = await served(options);
  const provider = createOpenAI({ apiKey: "sk-test", baseURL: `${url}/v1` });
  return form === "chat" ? provider.chat(name) : provider.responses(name);
};

describe.each(forms)("the AI SDK with its OpenAI provider, %s", (form) => {
  it("gets text and usage", async () => {
    const model = await connect(form, { responder: playing(says("Hi there.")) });
    const { text, usage, finishReason } = await generateText({ model, prompt: "Hello" });
    expect(text).toBe("Hi there.");
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  it("streams", async () => {
    const said = "A sentence that comes in pieces, über Umwege. ".repeat(3);
    const model = await connect(form, { responder: playing(says(said)) });
    const pieces: string[] = [];
    for await (const piece of streamText({ model, prompt: "Hello" }).textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(said);
  });

  it.each(["generateText", "streamText"])("runs a tool loop with reasoning by %s", async (way) => {
    const model = await connect(form, {
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
    const options = { model, prompt: "How is the weather?", tools: { weather }, stopWhen: isStepCount(3) };
    const text = way === "generateText" ? (await generateText(options)).text : await streamText(options).text;
    expect(text).toBe("It rains in Oslo.");
    expect(asked).toEqual(["Oslo"]);
  });

  it("sees what was read from the cache", async () => {
    const model = await connect(form, {}, "gpt-4o");
    const ask = () => generateText({ model, prompt: "Remember this line. ".repeat(600) });
    const [first, second] = [await ask(), await ask()];
    expect(first.usage.inputTokenDetails.cacheReadTokens ?? 0).toBe(0);
    expect(second.usage.inputTokenDetails.cacheReadTokens).toBeGreaterThan(1_024);
  });

  it("is told that a prompt is too long", async () => {
    const model = await connect(form, { models: [{ id: "gpt-tiny", windowTokens: 100 }] }, "gpt-tiny");
    const asked = generateText({ model, prompt: "word ".repeat(500), maxRetries: 0 });
    const error: unknown = await asked.catch((reason: unknown) => reason);
    expect(APICallError.isInstance(error) && error.responseBody).toContain("context_length_exceeded");
  });
});
