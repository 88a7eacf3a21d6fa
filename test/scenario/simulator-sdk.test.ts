import Anthropic, {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIUserAbortError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { parseFault } from "../../packages/simulator/src/fault/fault.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { playing, says, served } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
const hello: Anthropic.MessageCreateParamsNonStreaming = {
  model,
  max_tokens: 500,
  messages: [{ role: "user", content: "Hello" }],
};

interface Way {
  readonly name: string;
  readonly connect: (options: SimulatorOptions) => Promise<Anthropic>;
}

const settings = { apiKey: "sk-test", maxRetries: 2 } as const;

const ways: readonly Way[] = [
  {
    name: "over HTTP",
    connect: async (options) => new Anthropic({ ...settings, baseURL: (await served(options)).url }),
  },
  {
    name: "in this process",
    connect: (options) =>
      Promise.resolve(
        new Anthropic({ ...settings, baseURL: "http://simulator", fetch: simulatorFetch(new Simulator(options)) }),
      ),
  },
];

describe.each(ways)("the official SDK $name", ({ connect }) => {
  it("gets a message with usage", async () => {
    const client = await connect({ responder: playing(says("Hi there.")) });
    const message = await client.messages.create(hello);
    expect(message.content).toEqual([{ type: "text", text: "Hi there.", citations: null }]);
    expect(message.stop_reason).toBe("end_turn");
    expect(message.usage.input_tokens).toBeGreaterThan(0);
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  it("streams text, thinking and tool input into the same message as without a stream", async () => {
    const blocks = [
      { type: "thinking", thinking: "The person wants the weather, so I look it up." },
      { type: "text", text: "Let me look: 東京 🗼 takes a moment." },
      { type: "tool_use", name: "weather", input: { city: "東京", days: 3 } },
      { type: "tool_use", name: "weather", input: { city: "Paris", days: 1 } },
    ] as const;
    const asked: Anthropic.MessageCreateParamsNonStreaming = {
      ...hello,
      thinking: { type: "adaptive" },
      tools: [{ name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }],
    };
    const plain = await (await connect({ responder: playing(blocks) })).messages.create(asked);
    const stream = (await connect({ responder: playing(blocks) })).messages.stream(asked);
    const deltas: string[] = [];
    stream.on("text", (delta) => deltas.push(delta));
    const streamed = await stream.finalMessage();
    expect(deltas.join("")).toBe("Let me look: 東京 🗼 takes a moment.");
    expect(streamed.content).toEqual(plain.content);
    expect(streamed.stop_reason).toBe("tool_use");
    expect(streamed.usage.output_tokens).toBe(plain.usage.output_tokens);
  });

  it("sends thinking back with its signature, and is refused when it was altered", async () => {
    const blocks = [
      { type: "thinking", thinking: "First I look at the file." },
      { type: "tool_use", name: "read", input: { path: "a.ts" }, id: "toolu_1" },
    ] as const;
    const client = await connect({ responder: playing(blocks, says("Done.")) });
    const asked: Anthropic.MessageCreateParamsNonStreaming = {
      ...hello,
      thinking: { type: "adaptive" },
      tools: [{ name: "read", input_schema: { type: "object" } }],
    };
    const first = await client.messages.create(asked);
    const results = [{ type: "tool_result", tool_use_id: "toolu_1", content: "export {}" }] as const;
    const back = (content: typeof first.content) =>
      client.messages.create({
        ...asked,
        messages: [...hello.messages, { role: "assistant", content }, { role: "user", content: [...results] }],
      });
    expect((await back(first.content)).stop_reason).toBe("end_turn");
    const altered = first.content.map((block) =>
      block.type === "thinking" ? { ...block, thinking: `${block.thinking} Or not.` } : block,
    );
    await expect(back(altered)).rejects.toThrow(/cannot be modified/);
  });

  it("retries an overloaded server and a rate limit, and gets its answer", async () => {
    const faults = ["overloaded", "rate-limit retry-after=0"].map((text) => parseFault(text));
    const flaky: Responder = {
      name: "flaky",
      respond: () => {
        const next = faults.shift();
        const move = { kind: "say", blocks: says("At last.") } as const;
        return next?.kind === "fault" ? { move, fault: next.fault } : { move };
      },
    };
    const client = await connect({ responder: flaky });
    const message = await client.messages.create(hello);
    expect(message.content[0]).toMatchObject({ text: "At last." });
    expect(faults).toEqual([]);
  });

  it.each([
    ["rate-limit retry-after=7", RateLimitError, 429, "rate_limit_error"],
    ["server-error", InternalServerError, 500, "api_error"],
    ["overloaded", InternalServerError, 529, "overloaded_error"],
    ["timeout", InternalServerError, 504, "timeout_error"],
  ])("maps the fault %s to the client's own class", async (fault, kind, status, type) => {
    const client = await connect({});
    const failed = client.messages.create(hello, { maxRetries: 0, headers: { "x-simulator-fault": fault } });
    const error: unknown = await failed.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, type });
    if (status === 429) expect(error).toHaveProperty("headers");
  });

  it("maps refusals: a wrong key, a wrong model, a wrong request", async () => {
    const client = await connect({});
    await expect(client.messages.create({ ...hello, model: "claude-nobody-1" })).rejects.toThrow(NotFoundError);
    await expect(client.messages.create({ ...hello, messages: [] })).rejects.toThrow(BadRequestError);
    await expect(client.withOptions({ apiKey: null }).models.list()).rejects.toThrow(/auth/i);
  });

  it("sees a connection that is reset", async () => {
    const client = await connect({});
    await expect(
      client.messages.create(hello, { maxRetries: 0, headers: { "x-simulator-fault": "reset" } }),
    ).rejects.toThrow(APIConnectionError);
  });

  it("gives up on a server that hangs", async () => {
    const client = await connect({});
    await expect(
      client.messages.create(hello, { maxRetries: 0, timeout: 200, headers: { "x-simulator-fault": "hang" } }),
    ).rejects.toThrow(APIConnectionTimeoutError);
  });

  it.each(["break after=4", "break-utf8"])("sees a stream that breaks (%s)", async (fault) => {
    const client = await connect({
      responder: playing(says("Ein längerer Satz, über den das Netz stolpert. ".repeat(5))),
    });
    const stream = client.messages.stream(hello, { maxRetries: 0, headers: { "x-simulator-fault": fault } });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Error);
  });

  it("gets an abort error from a stream that it aborts", async () => {
    const responder = playing({ kind: "say", blocks: says("word ".repeat(200)), pauseMs: millis(50) });
    const client = await connect({ responder, clock: realClock() });
    const stream = client.messages.stream(hello, { maxRetries: 0 });
    setTimeout(() => stream.abort(), 100);
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIUserAbortError);
  });

  it("gets an error in the middle of a stream as an error", async () => {
    const client = await connect({ responder: playing(says("A sentence that does not come to its end. ".repeat(5))) });
    const stream = client.messages.stream(hello, {
      maxRetries: 0,
      headers: { "x-simulator-fault": "overloaded-midway after=4" },
    });
    await expect(stream.finalMessage()).rejects.toThrow(/Overloaded/);
  });

  it("counts tokens as the reply's usage does", async () => {
    const client = await connect({});
    const counted = await client.messages.countTokens({ model, messages: [{ role: "user", content: "Hello" }] });
    const { usage } = await client.messages.create(hello);
    expect(counted.input_tokens).toBe(usage.input_tokens);
  });

  it("lists models with windows and capabilities", async () => {
    const client = await connect({});
    const listed = [];
    for await (const one of client.models.list({ limit: 5 })) listed.push(one);
    expect(listed.map(({ id }) => id)).toContain("claude-haiku-5-5");
    const one = await client.models.retrieve(model);
    expect(one).toMatchObject({ max_input_tokens: 1_000_000, max_tokens: 128_000, type: "model" });
    expect(one.capabilities?.thinking.types.adaptive.supported).toBe(true);
  });

  it("caches: writes at the first request, reads at the second, forgets after the lifetime", async () => {
    const simulator = new Simulator();
    const client = new Anthropic({ ...settings, fetch: simulatorFetch(simulator) });
    const system = [
      { type: "text", text: "A rule to follow. ".repeat(600), cache_control: { type: "ephemeral" } },
    ] as const;
    const ask = async () => (await client.messages.create({ ...hello, system: [...system] })).usage;
    const first = await ask();
    const second = await ask();
    expect(first.cache_creation_input_tokens).toBeGreaterThan(1024);
    expect(second.cache_read_input_tokens).toBe(first.cache_creation_input_tokens);
    simulator.clock.advance(millis(5 * 60_000));
    expect((await ask()).cache_read_input_tokens).toBe(0);
  });
});

describe("the beta namespace", () => {
  it("says what became of thinking that does not fit its prefix", async () => {
    const blocks = [
      { type: "thinking", thinking: "I remember the first question." },
      { type: "text", text: "Answer one." },
    ] as const;
    const simulator = new Simulator({ responder: playing(blocks) });
    const client = new Anthropic({ ...settings, fetch: simulatorFetch(simulator) });
    const question = { model, max_tokens: 500, messages: [{ role: "user" as const, content: "Hello" }] };
    const thinking = {
      type: "adaptive",
      block_binding: { prefix_mismatch_behavior: "drop_block" },
    } as const;
    const betas = ["thinking-binding-controls-2026-08-01"];
    const first = await client.beta.messages.create({ ...question, thinking, betas });
    expect(first.input_transformations).toEqual([]);
    const edited = await client.beta.messages.create({
      ...question,
      thinking,
      betas,
      messages: [
        { role: "user", content: "Hello, but otherwise" },
        { role: "assistant", content: first.content },
        { role: "user", content: "And now?" },
      ],
    });
    expect(edited.input_transformations).toEqual([
      { type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
    ]);
  });
});
