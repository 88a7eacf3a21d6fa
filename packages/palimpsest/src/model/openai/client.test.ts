import { describe, expect, it, onTestFinished, vi } from "vitest";
import { blocksIn, requestFrom, endIn, failureIn, heard, saidIn } from "../../../../../test/fixture/model-events.ts";
import { playing, says, served } from "../../../../../test/scenario/support/simulated.ts";
import type { ModelFailure, ModelPort, ModelRequest } from "../../ports/model-port.ts";
import { millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { realClock } from "@palimpsest/simulator/internal/simulator-clock";
import { parseFault } from "@palimpsest/simulator/internal/fault/fault";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import type { SimulatorOptions } from "@palimpsest/simulator/internal/simulator-options";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { openaiModel, type OpenaiOptions } from "./client.ts";

type More = Partial<Pick<OpenaiOptions, "timeoutMs" | "fetch">>;
interface Way {
  readonly name: string;
  readonly connect: (options: SimulatorOptions, more?: More) => Promise<ModelPort>;
}

const base = { apiKey: "sk-test", now: () => millis(0), uuid: () => "made" };

const ways: readonly Way[] = [
  {
    name: "over HTTP",
    connect: async (options, more = {}) =>
      openaiModel({ ...base, baseUrl: `${(await served(options)).url}/v1`, ...more }),
  },
  {
    name: "in this process",
    connect: (options, more = {}) =>
      Promise.resolve(openaiModel({ ...base, fetch: simulatorFetch(new Simulator(options)), ...more })),
  },
];

const model = "gpt-4o";
const request = (more: JsonObject = {}): ModelRequest =>
  requestFrom({ model, max_tokens: 500, stream: true, messages: [{ role: "user", content: "Hello" }], ...more }, [
    "context-1m-2025-08-07",
  ]);

const weather = { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } };
const aString: unknown = expect.any(String);

const failing = (fault: string): SimulatorOptions => {
  const parsed = parseFault(fault);
  if (parsed.kind === "wrong") throw new Error(parsed.message);
  // A pause between events, so that what was sent has arrived before a connection breaks.
  const move = { kind: "say", blocks: says("A short answer: 東京, and some more."), pauseMs: millis(5) } as const;
  return { responder: { name: "failing", respond: () => ({ move, fault: parsed.fault }) }, clock: realClock() };
};

describe.each(ways)("a model behind chat completions $name", ({ connect }) => {
  it("tells text as it comes, and the figures in our fields", async () => {
    const port = await connect({ responder: playing(says("Hi, this takes more than one piece: 東京 🗼")) });
    const events = await heard({ port, request: request() });
    expect(events[0]).toMatchObject({ kind: "reply-start", model, id: expect.stringMatching(/^chatcmpl-/) as unknown });
    expect(events.filter(({ kind }) => kind === "text-delta").length).toBeGreaterThan(1);
    expect(saidIn(events, "text-delta")).toBe("Hi, this takes more than one piece: 東京 🗼");
    const { stopReason, usage } = endIn(events);
    expect(stopReason).toBe("end_turn");
    expect(usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
    expect(usage["input_tokens"]).toBeGreaterThan(0);
    expect(usage["output_tokens"]).toBeGreaterThan(0);
  });

  it("runs a tool loop with parallel calls, results that failed, and pictures", async () => {
    const calls: readonly MoveBlock[] = [
      { type: "text", text: "I look." },
      { type: "tool_use", name: "weather", input: { city: "Oslo" } },
      { type: "tool_use", name: "weather", input: { city: "東京" } },
    ];
    const port = await connect({ responder: playing(calls, says("Rain.")) });
    const first = await heard({ port, request: request({ tools: [weather] }) });
    expect(endIn(first).stopReason).toBe("tool_use");
    const content = blocksIn(first);
    expect(content).toMatchObject([
      { type: "text", text: "I look." },
      { type: "tool_use", id: aString, name: "weather", input: { city: "Oslo" } },
      { type: "tool_use", id: aString, name: "weather", input: { city: "東京" } },
    ]);
    const [one, two] = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
    const messages = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: content.map((block) => ({ ...block })) },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: one ?? "", content: "no such city", is_error: true },
          { type: "tool_result", tool_use_id: two ?? "", content: [{ type: "text", text: "rain" }, picture] },
        ],
      },
    ];
    const last = await heard({ port, request: request({ tools: [weather], messages }) });
    expect(blocksIn(last)).toEqual([{ type: "text", text: "Rain." }]);
  });

  it("tells what was read from the cache, and input without it", async () => {
    const port = await connect({});
    const asked = request({ messages: [{ role: "user", content: "Remember this line. ".repeat(600) }] });
    const cold = endIn(await heard({ port, request: asked })).usage;
    const warm = endIn(await heard({ port, request: asked })).usage;
    expect(Number(warm["cache_read_input_tokens"])).toBeGreaterThan(1_024);
    expect(Number(warm["input_tokens"]) + Number(warm["cache_read_input_tokens"])).toBe(cold["input_tokens"]);
  });

  it("tells what was written to it, where that is billed", async () => {
    const port = await connect({ models: [{ id: "gpt-5.6-sol" }] });
    const body = { model: "gpt-5.6-sol", stream: true, messages: [{ role: "user", content: "A line. ".repeat(900) }] };
    const { usage } = endIn(await heard({ port, request: requestFrom(body) }));
    expect(usage["cache_creation_input_tokens"]).toBeGreaterThan(1_024);
    expect(usage["input_tokens"]).toBe(0);
  });

  it.each([
    ["max_tokens", { max_tokens: 3 }, undefined],
    ["end_turn", { stop_sequences: ["some"] }, undefined],
    ["refusal", {}, "refusal"],
  ] as const)("says %s in our words", async (stopReason, more, stop) => {
    const blocks = says("A reply that has some length to it, and is cut.");
    const port = await connect({
      responder: playing({ kind: "say", blocks, ...(stop === undefined ? {} : { stop }) }),
    });
    expect(endIn(await heard({ port, request: request(more) })).stopReason).toBe(stopReason);
  });

  it.each<[string, Partial<ModelFailure>]>([
    ["rate-limit retry-after=2", { why: "rate-limited", retry: "later", retryAfterMs: millis(2_000), status: 429 }],
    ["server-error", { why: "server", retry: "later", status: 500 }],
    ["overloaded", { why: "overloaded", retry: "later", status: 503 }],
    ["timeout", { why: "timeout", retry: "later" }],
    ["reset", { why: "network", retry: "later" }],
    ["break after=2", { why: "broken-stream", retry: "later" }],
    ["break-utf8", { why: "broken-stream", retry: "later" }],
    ["overloaded-midway after=2", { why: "server", retry: "later" }],
  ])("ends with a failure: %s", async (fault, expected) => {
    const port = await connect(failing(fault));
    expect(failureIn(await heard({ port, request: request() }))).toMatchObject(expected);
  });

  it("knows a request that is too long, a model that there is not, and a rule that was broken", async () => {
    const port = await connect({ models: [{ id: "gpt-tiny", windowTokens: 8_000, outputTokensMax: 500 }] });
    const messages = [{ role: "user", content: "word ".repeat(9_000) }];
    const fails = async (more: JsonObject): Promise<ModelFailure> => {
      const body = { model: "gpt-tiny", max_tokens: 20, stream: true, messages, ...more };
      return failureIn(await heard({ port, request: requestFrom(body) }));
    };
    expect(await fails({})).toMatchObject({
      why: "too-long",
      retry: "never",
      status: 400,
      limitTokens: 8_000,
      requestId: expect.stringMatching(/^req_/) as unknown,
    });
    expect(await fails({ model: "gpt-nothing" })).toMatchObject({ why: "not-found", retry: "never" });
    expect(await fails({ temperature: 7 })).toMatchObject({ why: "refused", retry: "never" });
  });

  it.each(["hang", "trickle every=60000"])(
    "gives up on silence, and stops promptly when aborted: %s",
    async (fault) => {
      const impatient = await connect(failing(fault), { timeoutMs: millis(80) });
      expect(failureIn(await heard({ port: impatient, request: request() }))).toMatchObject({
        why: "timeout",
        retry: "later",
      });
      const port = await connect(failing(fault));
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 50);
      const began = performance.now();
      const events = await heard({ port, request: request(), signal: stop.signal });
      expect(failureIn(events)).toMatchObject({ why: "aborted" });
      expect(performance.now() - began).toBeLessThan(1_000);
    },
  );

  it("describes nothing, since this provider tells no sizes", async () => {
    const port = await connect({});
    expect(await port.describe(model)).toBeUndefined();
    expect(await port.describe("gpt-nothing")).toBeUndefined();
  });
});

it("sends the translated request once, with the key and without the other provider's headers", async () => {
  vi.stubEnv("OPENAI_API_KEY", "sk-environment");
  vi.stubEnv("OPENAI_ORG_ID", "org-environment");
  vi.stubEnv("OPENAI_BASE_URL", "http://elsewhere");
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked: Request[] = [];
  const simulated = simulatorFetch(new Simulator(failing("overloaded")));
  const fetch: typeof globalThis.fetch = (input, init) => {
    asked.push(new Request(input, init));
    return simulated(input, init);
  };
  failureIn(await heard({ port: openaiModel({ ...base, fetch }), request: request() }));
  expect(asked).toHaveLength(1);
  const [sent] = asked;
  expect(sent?.url).toBe("https://api.openai.com/v1/chat/completions");
  expect(sent?.headers.get("authorization")).toBe("Bearer sk-test");
  expect(sent?.headers.get("openai-organization")).toBeNull();
  expect(sent?.headers.get("anthropic-beta")).toBeNull();
  expect(await sent?.json()).toEqual({
    model,
    messages: [{ role: "user", content: "Hello" }],
    max_completion_tokens: 500,
    stream: true,
    stream_options: { include_usage: true },
  });
});
