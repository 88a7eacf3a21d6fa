import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  blocksIn,
  requestFrom,
  endIn,
  failureIn,
  heard,
  saidIn,
  flawsIn,
  inputIn,
} from "../../../../../test/fixture/model-events.ts";
import { playing, says, served } from "../../../../../test/scenario/support/simulated.ts";
import type { ModelFailure, ModelPort, ModelRequest, ModelEvent } from "../../ports/model-port.ts";
import { millis, type Millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { realClock } from "@palimpsest/simulator/internal/simulator-clock";
import { parseFault } from "@palimpsest/simulator/internal/fault/fault";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import type { SimulatorOptions } from "@palimpsest/simulator/internal/simulator-options";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { openaiModel, type OpenaiOptions } from "./client.ts";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

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
      expect(performance.now() - began).toBeLessThan(10_000);
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

describe("odd servers", () => {
  const id = "chatcmpl-CabcdefghijklmnopqrstuvwxyZ12";
  const chunk = (choices: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
    id,
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "gpt-5.6-2026-08-01",
    service_tier: "default",
    system_fingerprint: "fp_1",
    choices,
    usage: null,
    ...more,
  });
  const delta = (said: JsonObject, finish: string | null = null): JsonObject =>
    chunk([{ index: 0, delta: said, logprobs: null, finish_reason: finish }]);
  const usage = {
    prompt_tokens: 2_000,
    completion_tokens: 30,
    total_tokens: 2_030,
    prompt_tokens_details: { cached_tokens: 1_536, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const first = delta({ role: "assistant", content: "", refusal: null });
  const last = chunk([], { usage });
  const call = (index: number, given: JsonObject): JsonObject => delta({ tool_calls: [{ index, ...given }] });
  const named = (name: string, args = ""): JsonObject => ({ type: "function", function: { name, arguments: args } });
  const more = (args: string): JsonObject => ({ function: { arguments: args } });

  const sse = (one: JsonObject): string => `data: ${JSON.stringify(one)}\n\n`;
  const done = "data: [DONE]\n\n";

  interface Asked {
    readonly url: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }

  interface Chat {
    readonly port: ModelPort;
    readonly asked: Asked[];
  }

  /** A server that speaks chat completions in the very bytes it is told to. */
  async function chatting(answer: (response: ServerResponse) => void, timeoutMs?: Millis): Promise<Chat> {
    const asked: Asked[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece: Buffer) => (body += piece.toString()));
      request.on("end", () => {
        asked.push({ url: request.url ?? "", headers: request.headers, body });
        answer(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    let made = 0;
    const port = openaiModel({
      apiKey: "sk-test",
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      now: () => millis(0),
      uuid: () => `made-${(made += 1)}`,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return { port, asked };
  }

  const streaming =
    (...pieces: readonly string[]) =>
    (response: ServerResponse): void => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      for (const piece of pieces) response.write(piece);
      response.end();
    };

  const request = requestFrom(
    { model: "gpt-5.6", max_tokens: 50, stream: true, messages: [{ role: "user", content: "Hello" }] },
    ["context-1m-2025-08-07"],
  );

  const replyTo = async (chunks: readonly JsonObject[]): Promise<readonly ModelEvent[]> => {
    const { port } = await chatting(streaming(...chunks.map(sse), done));
    return heard({ port, request });
  };

  describe("a model behind a server that only speaks the form of chat completions", () => {
    it("puts parallel calls together, also when their pieces take turns", async () => {
      const events = await replyTo([
        first,
        delta({ content: "I look." }),
        call(0, { id: "call_a", ...named("read") }),
        call(0, more('{"path":')),
        call(1, { id: "call_b", ...named("list") }),
        call(1, more("{}")),
        call(0, more('"a.ts"}')),
        delta({}, "tool_calls"),
        last,
      ]);
      expect(saidIn(events, "text-delta")).toBe("I look.");
      expect(inputIn(events, 1)).toBe('{"path":"a.ts"}');
      expect(blocksIn(events)).toEqual([
        { type: "text", text: "I look." },
        { type: "tool_use", id: "call_a", name: "read", input: { path: "a.ts" } },
        { type: "tool_use", id: "call_b", name: "list", input: {} },
      ]);
      expect(events.flatMap((one) => (one.kind === "block-end" ? [one.index] : []))).toEqual([0, 1, 2]);
      expect(endIn(events).stopReason).toBe("tool_use");
      const kinds = events.map(({ kind }) => kind);
      expect(kinds.indexOf("block-end")).toBeLessThan(kinds.indexOf("input-delta"));
    });

    it("keeps text behind a call apart from the text before it", async () => {
      const looked = call(0, { id: "call_a", ...named("read", "{}") });
      const events = await replyTo([
        first,
        delta({ content: "A" }),
        looked,
        delta({ content: "B" }),
        delta({}, "stop"),
      ]);
      const ended = events.flatMap((one) => (one.kind === "block-end" ? [[one.index, one.block.type]] : []));
      expect(ended).toEqual([
        [0, "text"],
        [1, "tool_use"],
        [2, "text"],
      ]);
    });

    it.each<[string, readonly JsonObject[], readonly object[]]>([
      [
        "no place for a call",
        [
          delta({ tool_calls: [{ id: "call_a", ...named("read", '{"a":') }] }),
          delta({ tool_calls: [more("1}")] }),
          delta({ tool_calls: [{ id: "call_b", ...named("list", "{}") }] }),
        ],
        [
          { id: "call_a", name: "read", input: { a: 1 } },
          { id: "call_b", name: "list", input: {} },
        ],
      ],
      [
        "two calls at one place",
        [call(0, { id: "call_a", ...named("read", "{}") }), call(0, { id: "call_b", ...named("list", "{}") })],
        [
          { id: "call_a", name: "read" },
          { id: "call_b", name: "list" },
        ],
      ],
      [
        "a place for the beginning only",
        [call(0, { id: "call_a", ...named("read", '{"a":') }), delta({ tool_calls: [more("1}")] })],
        [{ id: "call_a", name: "read", input: { a: 1 } }],
      ],
      ["no id", [call(0, named("read", "{}"))], [{ id: "call_made-1", name: "read" }]],
      [
        "the same id twice",
        [call(0, { id: "read", ...named("read", "{}") }), call(1, { id: "read", ...named("read", "{}") })],
        [
          { id: "read", name: "read" },
          { id: "call_made-1", name: "read" },
        ],
      ],
      ["no arguments", [call(0, { id: "call_a", ...named("read") })], [{ id: "call_a", input: {} }]],
    ])("understands servers that give %s", async (_, chunks, blocks) => {
      const events = await replyTo([first, ...chunks, delta({}, "stop"), last]);
      expect(blocksIn(events)).toMatchObject(blocks);
      expect(flawsIn(events).every((flaw) => flaw === undefined)).toBe(true);
      expect(endIn(events).stopReason).toBe("tool_use");
    });

    it("says of a call that was cut off that it is flawed", async () => {
      const events = await replyTo([
        first,
        call(0, { id: "call_a", ...named("read", '{"pa') }),
        delta({}, "length"),
        last,
      ]);
      expect(blocksIn(events)).toMatchObject([{ id: "call_a", input: {} }]);
      expect(flawsIn(events)).toEqual([expect.stringMatching(/no JSON/)]);
      expect(endIn(events).stopReason).toBe("max_tokens");
    });

    it.each([
      ["stop", "end_turn"],
      ["something new", "end_turn"],
    ])("says %s in our words", async (finish, stopReason) => {
      expect(endIn(await replyTo([first, delta({ content: "Hi" }), delta({}, finish), last])).stopReason).toBe(
        stopReason,
      );
    });

    it("tells a refusal as text", async () => {
      const events = await replyTo([first, delta({ refusal: "I can't." }), delta({}, "stop"), last]);
      expect(blocksIn(events)).toEqual([{ type: "text", text: "I can't." }]);
      expect(endIn(events).stopReason).toBe("refusal");
    });

    it("leaves reasoning out, which could not be sent back", async () => {
      const events = await replyTo([
        first,
        delta({ reasoning_content: "Hm" }),
        delta({ content: "Hi" }),
        delta({}, "stop"),
      ]);
      expect(blocksIn(events)).toEqual([{ type: "text", text: "Hi" }]);
      expect(endIn(events).usage).toEqual({});
    });

    it("makes up an id for a reply where the server's is no unique one", async () => {
      const short = { ...first, id: "chatcmpl-42" };
      expect((await replyTo([short, delta({}, "stop")]))[0]).toMatchObject({ id: "chatcmpl-made-1" });
    });

    it.each<[string, (response: ServerResponse) => void, Partial<ModelFailure>]>([
      [
        "a quota that is spent",
        (response) =>
          response
            .writeHead(429, { "content-type": "application/json" })
            .end(JSON.stringify({ error: { message: "You exceeded your current quota", code: "insufficient_quota" } })),
        { why: "spend-limit", retry: "never" },
      ],
      [
        "a rate limit in milliseconds",
        (response) =>
          response
            .writeHead(429, { "content-type": "application/json", "retry-after-ms": "1500" })
            .end(JSON.stringify({ error: { message: "Rate limit reached", code: "rate_limit_exceeded" } })),
        { why: "rate-limited", retry: "later", retryAfterMs: millis(1_500) },
      ],
      [
        "an error inside a stream",
        streaming(sse(first), sse({ error: { message: "Provider disconnected", code: 502 } })),
        { why: "server", retry: "later", message: "Provider disconnected" },
      ],
      ["a stream that ends too early", streaming(sse(first), sse(delta({ content: "Hi" }))), { why: "broken-stream" }],
      ["an early [DONE]", streaming(sse(first), sse(delta({ content: "Hi" })), done), { why: "broken-stream" }],
      ["a chunk that is no JSON", streaming(sse(first), "data: {oops\n\n"), { why: "broken-stream" }],
    ])("ends with a failure: %s", async (_, answer, expected) => {
      const { port } = await chatting(answer);
      expect(failureIn(await heard({ port, request }))).toMatchObject(expected);
    });

    it("counts a comment that keeps the connection alive as a sign of life", async () => {
      const { port } = await chatting((response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const beating = setInterval(() => response.write(": PROCESSING\n\n"), 40);
        setTimeout(() => {
          clearInterval(beating);
          response.end(sse(first) + sse(delta({ content: "Hi" })) + sse(delta({}, "stop")) + done);
        }, 400);
      }, millis(200));
      expect(endIn(await heard({ port, request })).stopReason).toBe("end_turn");
    });

    it("describes a model where the server tells its size", async () => {
      const json = (body: JsonObject) => (response: ServerResponse) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      const vllm = await chatting(json({ id: "m", object: "model", max_model_len: 32_768 }));
      expect(await vllm.port.describe("org/m")).toEqual({ windowTokens: 32_768, capabilities: {} });
      expect(vllm.asked[0]?.url).toBe("/v1/models/org%2Fm");
      const none = await chatting((response) => void response.writeHead(404).end());
      expect(await none.port.describe("m")).toBeUndefined();
    });
  });
});
