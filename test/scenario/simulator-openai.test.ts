import OpenAI, {
  APIConnectionError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import { describe, expect, it } from "vitest";
import { extractResponder } from "../../packages/simulator/src/responder/extract-responder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { playing, says, served } from "./support/simulated.ts";

interface Way {
  readonly name: string;
  readonly connect: (options: SimulatorOptions) => Promise<OpenAI>;
}

const settings = { apiKey: "sk-test", maxRetries: 0 } as const;

const ways: readonly Way[] = [
  {
    name: "over HTTP",
    connect: async (options) => new OpenAI({ ...settings, baseURL: `${(await served(options)).url}/v1` }),
  },
  {
    name: "in this process",
    connect: (options) => Promise.resolve(new OpenAI({ ...settings, fetch: simulatorFetch(new Simulator(options)) })),
  },
];

const said = "Let me look: 東京 🗼 takes a moment, and then another one.";
const calls = [
  { type: "thinking", thinking: "The person wants the weather, so I look it up." },
  { type: "text", text: said },
  { type: "tool_use", name: "weather", input: { city: "東京" } },
  { type: "tool_use", name: "weather", input: { city: "Paris" } },
] as const;
const schema = { type: "object", properties: { city: { type: "string" } } };
const hello = { role: "user", content: "How is the weather?" } as const;
const long = "Remember this line. ".repeat(600);

describe.each(ways)("the official client $name", ({ connect }) => {
  it("lists models, and finds one or none", async () => {
    const client = await connect({ models: [{ id: "house-model" }, { id: "claude-house" }] });
    const ids = (await client.models.list()).data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(["gpt-5", "gpt-5.6-sol", "house-model"]));
    expect(ids.filter((id) => /^(?:claude|gemini)/.test(id))).toEqual([]);
    expect(await client.models.retrieve("gpt-5-2025-08-07")).toMatchObject({ id: "gpt-5", object: "model" });
    await expect(client.models.retrieve("gpt-nothing")).rejects.toThrow(NotFoundError);
  });

  it("chats through a tool loop, streamed and not, with the same words", async () => {
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: "function", function: { name: "weather", parameters: schema } },
    ];
    const asked = { model: "gpt-5", messages: [hello], tools };
    const plain = await (await connect({ responder: playing(calls) })).chat.completions.create(asked);
    const client = await connect({ responder: playing(calls, says("It rains.")) });
    const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } });
    const deltas: string[] = [];
    stream.on("content", (delta) => deltas.push(delta));
    const streamed = await stream.finalChatCompletion();
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe(said);
    expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
    expect(plain.choices[0]?.message.tool_calls).toMatchObject([
      { type: "function", function: { name: "weather", arguments: '{"city":"東京"}' } },
      { type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
    ]);
    expect(streamed.choices[0]?.message).toMatchObject({ content: said });
    expect(streamed.usage).toEqual(plain.usage);
    expect(plain.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
    const [choice] = streamed.choices;
    const message = choice?.message;
    if (message?.tool_calls === undefined) throw new Error("no calls");
    const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "rain" }) as const);
    const next = { model: "gpt-5", messages: [hello, message, ...results], tools };
    expect((await client.chat.completions.create(next)).choices[0]?.message.content).toBe("It rains.");
    const lacking = { ...next, messages: [hello, message, ...results.slice(1)] };
    await expect(client.chat.completions.create(lacking)).rejects.toThrow(/did not have response messages/);
  });

  it("responds through a tool loop with reasoning, streamed and not, without and with the server's store", async () => {
    const tools: OpenAI.Responses.Tool[] = [{ type: "function", name: "weather", parameters: schema, strict: false }];
    const asked = {
      model: "gpt-5.6-sol",
      input: [hello] as OpenAI.Responses.ResponseInput,
      tools,
      reasoning: { summary: "auto" as const },
    };
    const plain = await (await connect({ responder: playing(calls) })).responses.create(asked);
    const client = await connect({ responder: playing(calls, says("It rains.")) });
    const stream = client.responses.stream(asked);
    const types: string[] = [];
    const numbers: number[] = [];
    stream.on("event", ({ type, sequence_number }) => {
      types.push(type);
      numbers.push(sequence_number);
    });
    const streamed = await stream.finalResponse();
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.completed",
    ]);
    expect(streamed.output_text).toBe(said);
    expect(plain.output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call", "function_call"]);
    expect(streamed.usage).toEqual(plain.usage);
    const outputs = streamed.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output", call_id: item.call_id, output: "rain" } as const]
        : [],
    );
    const own = await client.responses.create({
      ...asked,
      input: [hello, ...(streamed.output as OpenAI.Responses.ResponseInputItem[]), ...outputs],
    });
    expect(own.output_text).toBe("It rains.");
    const stored = await client.responses.create({
      ...asked,
      previous_response_id: streamed.id,
      input: outputs,
    });
    expect(stored.output_text).toBe("It rains.");
    expect(stored.usage?.input_tokens).toBe(own.usage?.input_tokens);
    const retrieved = await client.responses.retrieve(streamed.id);
    expect(retrieved.output.map(({ id }) => id)).toEqual(streamed.output.map(({ id }) => id));
    const lacking = client.responses.create({ model: "gpt-5.6-sol", previous_response_id: streamed.id, input: "On" });
    await expect(lacking).rejects.toThrow(/No tool output found for function call/);
    await client.responses.delete(streamed.id);
    await expect(client.responses.retrieve(streamed.id)).rejects.toThrow(NotFoundError);
  });

  it("sees what the cache did, in both forms", async () => {
    const client = await connect({});
    const chat = () => client.chat.completions.create({ model: "gpt-4o", messages: [{ role: "user", content: long }] });
    const [cold, warm] = [await chat(), await chat()];
    expect(cold.usage?.prompt_tokens_details?.cached_tokens).toBe(0);
    expect(warm.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(1_024);
    const first = await client.responses.create({ model: "gpt-5.6-sol", input: long });
    expect(first.usage?.input_tokens_details.cache_write_tokens).toBe(first.usage?.input_tokens);
    const next = await client.responses.create({
      model: "gpt-5.6-sol",
      previous_response_id: first.id,
      input: "More",
      prompt_cache_options: { comparison_response_id: first.id },
    });
    expect(next.usage?.input_tokens_details.cached_tokens).toBe(first.usage?.input_tokens);
    expect(next.prompt_cache_diagnostics).toEqual({ type: "cache_hit" });
  });

  it("compacts in a request and on demand, and goes on with what came of it", async () => {
    const client = await connect({ responder: extractResponder });
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: "user", content: `Mend the harbour light. ${long}` },
      { role: "assistant", content: "It is mended." },
      { role: "user", content: "And the bell?" },
    ];
    const stream = client.responses.stream({
      model: "gpt-5.6-sol",
      input,
      context_management: [{ type: "compaction", compact_threshold: 1_000 }],
    });
    const compacting: string[] = [];
    stream.on("event", ({ type }) => void (type === "response.compaction.compacting" && compacting.push(type)));
    const within = await stream.finalResponse();
    expect(compacting).toHaveLength(1);
    expect(within.output[0]?.type).toBe("compaction");
    const compacted = await client.responses.compact({ model: "gpt-5.6-sol", input });
    expect(compacted.object).toBe("response.compaction");
    expect(compacted.output.map(({ type }) => type)).toEqual(["message", "message", "compaction"]);
    const next = await client.responses.create({
      model: "gpt-5.6-sol",
      input: [...(compacted.output as OpenAI.Responses.ResponseInputItem[]), { role: "user", content: "Go on" }],
    });
    expect(next.status).toBe("completed");
    const { input_tokens } = await client.responses.inputTokens.count({ model: "gpt-5.6-sol", input });
    expect(input_tokens).toBeGreaterThan(1_000);
  });

  it("gets errors of the right class", async () => {
    const client = await connect({ models: [{ id: "gpt-tiny", windowTokens: 100 }] });
    const ask = (model: string, fault?: string) =>
      client.responses.create(
        { model, input: long },
        fault === undefined ? {} : { headers: { "x-simulator-fault": fault } },
      );
    await expect(ask("gpt-tiny")).rejects.toThrow(BadRequestError);
    await expect(ask("gpt-tiny")).rejects.toMatchObject({
      code: "context_length_exceeded",
      param: "input",
      type: "invalid_request_error",
    });
    await expect(ask("gpt-nothing")).rejects.toThrow(NotFoundError);
    await expect(ask("gpt-5", "rate-limit")).rejects.toThrow(RateLimitError);
    await expect(ask("gpt-5", "overloaded")).rejects.toThrow(InternalServerError);
    await expect(ask("gpt-5", "reset")).rejects.toThrow(APIConnectionError);
    const keyless = client.responses.create({ model: "gpt-5", input: "x" }, { headers: { authorization: null } });
    await expect(keyless).rejects.toThrow(AuthenticationError);
  });

  it.each(["break after=3", "break-utf8", "overloaded-midway after=3"])(
    "a stream that fails midway: %s",
    async (fault) => {
      const client = await connect({ responder: playing(says(said)) });
      const headers = { "x-simulator-fault": fault };
      const chat = client.chat.completions.stream({ model: "gpt-4o", messages: [hello] }, { headers });
      await expect(chat.finalChatCompletion()).rejects.toThrow(Error);
      const response = client.responses.stream({ model: "gpt-4o", input: "Hello" }, { headers });
      const ended: unknown = await response.finalResponse().catch((error: unknown) => error);
      if (fault.startsWith("overloaded")) expect(ended).toMatchObject({ status: "failed" });
      else expect(ended).toBeInstanceOf(Error);
    },
  );

  it("who goes in the middle of a slow reply ends it, and the move is not spent", async () => {
    const client = await connect({ responder: playing(says(said), says("next")), clock: realClock() });
    const controller = new AbortController();
    const headers = { "x-simulator-fault": "trickle every=1000" };
    const stream = await client.chat.completions.create(
      { model: "gpt-4o", messages: [hello], stream: true },
      { headers, signal: controller.signal },
    );
    const reading = (async () => {
      for await (const _ of stream) controller.abort();
    })();
    await reading.catch((error: unknown) => expect(error).toBeInstanceOf(APIUserAbortError));
    await expect
      .poll(async () => {
        const again = await client.chat.completions.create({ model: "gpt-4o", messages: [hello] });
        return again.choices[0]?.message.content;
      })
      .toBe(said);
  });

  it("takes an image", async () => {
    const client = await connect({});
    const url =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const chat = await client.chat.completions.create({
      model: "gpt-4o",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See?" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    });
    expect(chat.choices[0]?.message.content).toContain("See?");
    const content = [{ type: "input_image", image_url: url, detail: "auto" } as const];
    const response = await client.responses.create({ model: "gpt-5", input: [{ role: "user", content }] });
    expect(response.status).toBe("completed");
  });
});
