import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  blocksIn,
  requestFrom,
  endIn,
  failureIn,
  flawsIn,
  heard,
  inputIn,
  saidIn,
} from "../../../../../test/fixture/model-events.ts";
import { playing, says, served } from "../../../../../test/scenario/support/simulated.ts";
import type { ModelEvent, ModelFailure, ModelPort, ModelRequest } from "../../ports/model-port.ts";
import { parseBlock } from "../../schema/block.ts";
import { millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { ReplyMessage } from "../../schema/wire/reply-message.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { parseFault } from "@palimpsest/simulator/internal/fault/fault";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import type { SimulatorOptions } from "@palimpsest/simulator/internal/simulator-options";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { realClock } from "@palimpsest/simulator/internal/simulator-clock";
import { anthropicModel, type AnthropicOptions } from "./client.ts";

const model = "claude-sonnet-5-5";
const now = (): ReturnType<typeof millis> => millis(0);
const aString: unknown = expect.any(String);
const aNumber: unknown = expect.any(Number);
const anObject: unknown = expect.any(Object);
const weather = { name: "weather", input_schema: { type: "object" } };

const request = (more: JsonObject = {}, betas: readonly string[] = []): ModelRequest =>
  requestFrom(
    { model, max_tokens: 4_000, stream: true, messages: [{ role: "user", content: "Hello" }], ...more },
    betas,
  );

const hear = (port: ModelPort, asked: ModelRequest = request()) => heard({ port, request: asked });

type More = Partial<Pick<AnthropicOptions, "timeoutMs" | "fetch">>;
interface Way {
  readonly name: string;
  readonly connect: (options: SimulatorOptions, more?: More) => Promise<ModelPort>;
}

const ways: readonly Way[] = [
  {
    name: "over HTTP",
    connect: async (options, more = {}) =>
      anthropicModel({ now, apiKey: "sk-test", baseUrl: (await served(options)).url, ...more }),
  },
  {
    name: "in this process",
    connect: async (options, more = {}) => {
      const fetch = simulatorFetch(new Simulator(options));
      return anthropicModel({ now, apiKey: "sk-test", baseUrl: "http://simulator", fetch, ...more });
    },
  },
];

const failing = (fault: string): SimulatorOptions => {
  const parsed = parseFault(fault);
  if (parsed.kind === "wrong") throw new Error(parsed.message);
  // A pause between events, so that what was sent has arrived before a connection breaks.
  const move = { kind: "say", blocks: says("A short answer: 東京."), pauseMs: millis(5) } as const;
  return { clock: realClock(), responder: { name: "failing", respond: () => ({ move, fault: parsed.fault }) } };
};

describe.each(ways)("a model of the Messages API $name", ({ connect }) => {
  it("tells thinking, text and calls as they come, and each block when it is whole", async () => {
    const blocks: readonly MoveBlock[] = [
      { type: "thinking", thinking: "The person wants the weather, so I look it up." },
      { type: "redacted_thinking", thinking: "Hidden." },
      { type: "text", text: "Let me look: 東京 🗼 takes a moment." },
      { type: "tool_use", name: "weather", input: { city: "東京", days: 3 }, id: "toolu_1" },
      { type: "tool_use", name: "weather", input: {}, id: "toolu_2" },
    ];
    const port = await connect({ responder: playing(blocks) });
    const events = await hear(port, request({ tools: [weather], thinking: { type: "adaptive" } }));
    expect(events[0]).toMatchObject({ kind: "reply-start", id: aString, model });
    expect(saidIn(events, "thinking-delta")).toBe("The person wants the weather, so I look it up.");
    expect(saidIn(events, "text-delta")).toBe("Let me look: 東京 🗼 takes a moment.");
    expect(blocksIn(events)).toMatchObject([
      { type: "thinking", thinking: "The person wants the weather, so I look it up.", signature: aString },
      { type: "redacted_thinking", data: aString },
      { type: "text", text: "Let me look: 東京 🗼 takes a moment." },
      { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "東京", days: 3 } },
      { type: "tool_use", id: "toolu_2", name: "weather", input: {} },
    ]);
    expect(flawsIn(events)).toEqual([undefined, undefined, undefined, undefined, undefined]);
    expect(JSON.parse(inputIn(events, 3))).toEqual({ city: "東京", days: 3 });
    expect(endIn(events)).toMatchObject({
      stopReason: "tool_use",
      usage: {
        input_tokens: aNumber,
        cache_creation: anObject,
        output_tokens: aNumber,
      },
    });
  });

  it("says of a call whose input is no JSON that it is flawed", async () => {
    const call = { type: "tool_use", name: "weather", input: {}, rawInput: '{"city": "Par' } as const;
    const list = { ...call, rawInput: "[1, 2]" } as const;
    const events = await hear(await connect({ responder: playing([call, list]) }), request({ tools: [weather] }));
    expect(blocksIn(events)).toMatchObject([{ input: {} }, { input: {} }]);
    expect(flawsIn(events)).toEqual([expect.stringMatching(/no JSON/), "The input is JSON, but no object."]);
    expect(endIn(events)).toBeDefined();
  });

  it.each<[string, Partial<ModelFailure>]>([
    ["rate-limit", { why: "rate-limited", retry: "later", status: 429 }],
    ["rate-limit retry-after=7", { why: "rate-limited", retryAfterMs: millis(7_000) }],
    ["server-error", { why: "server", retry: "later", status: 500 }],
    ["overloaded", { why: "overloaded", retry: "later", status: 529 }],
    ["timeout", { why: "timeout", retry: "later", status: 504 }],
    ["reset", { why: "network", retry: "later" }],
    ["break after=1", { why: "broken-stream", retry: "later" }],
    ["break after=5", { why: "broken-stream", retry: "later" }],
    ["break-utf8", { why: "broken-stream", retry: "later" }],
    ["overloaded-midway after=4", { why: "overloaded", retry: "later", message: "Overloaded" }],
  ])("ends with a failure: %s", async (fault, expected) => {
    expect(failureIn(await hear(await connect(failing(fault))))).toMatchObject(expected);
  });

  it("gives up on a server that says nothing", async () => {
    const port = await connect(failing("hang"), { timeoutMs: millis(60) });
    expect(failureIn(await hear(port))).toMatchObject({ why: "timeout", retry: "later" });
  });

  it("gives up on a stream that falls silent", async () => {
    const port = await connect(failing("trickle every=5000"), { timeoutMs: millis(150) });
    const events = await hear(port);
    expect(events[0]?.kind).toBe("reply-start");
    expect(failureIn(events)).toMatchObject({ why: "timeout", retry: "later" });
  });

  it("waits for a slow stream as long as something comes", async () => {
    const port = await connect(failing("trickle every=40"), { timeoutMs: millis(200) });
    expect(endIn(await hear(port))).toBeDefined();
  });

  it.each(["wrong-usage factor=3", "cache-lost", "clock-jump by=1000"])("is not disturbed by %s", async (fault) => {
    const events = await hear(await connect(failing(fault)));
    expect(blocksIn(events)).toMatchObject([{ text: "A short answer: 東京." }]);
    expect(endIn(events)).toBeDefined();
  });

  it.each([
    ["before anything is sent", "overloaded", 0],
    ["while nothing comes", "hang", 30],
    ["between two events", "trickle every=5000", 100],
  ])("stops promptly when aborted %s", async (_, fault, afterMs) => {
    const port = await connect(failing(fault));
    const stop = new AbortController();
    if (afterMs === 0) stop.abort();
    else setTimeout(() => stop.abort(), afterMs);
    const began = performance.now();
    expect(failureIn(await heard({ port, request: request(), signal: stop.signal }))).toMatchObject({
      why: "aborted",
      retry: "never",
    });
    expect(performance.now() - began).toBeLessThan(4_000);
  });

  it("says nothing more once aborted, though more has come", async () => {
    const port = await connect({ responder: playing(says("word ".repeat(200))) });
    const stop = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of port.send(request(), stop.signal)) {
      events.push(event);
      stop.abort();
    }
    expect(events.map(({ kind }) => kind)).toEqual(["reply-start", "failure"]);
    expect(failureIn(events).why).toBe("aborted");
  });

  it("tells how long a request was and how long it may be", async () => {
    const long = request({
      model: "claude-haiku-4-5",
      messages: [{ role: "user", content: "many words ".repeat(150_000) }],
    });
    const failure = failureIn(await hear(await connect({}), long));
    expect(failure).toMatchObject({ why: "too-long", retry: "never", limitTokens: 200_000, status: 400 });
    expect(failure.usedTokens).toBeGreaterThan(200_000);
    expect(failure.requestId).toMatch(/^req_/);
  });

  it("refuses, and finds nothing, as the server does", async () => {
    const port = await connect({});
    expect(failureIn(await hear(port, request({ messages: [] })))).toMatchObject({ why: "refused", retry: "never" });
    expect(failureIn(await hear(port, request({ model: "no-such" })))).toMatchObject({
      why: "not-found",
      retry: "never",
    });
  });

  it("describes a model by the server's words, and says nothing of one it does not know", async () => {
    const port = await connect({});
    const described = await port.describe("claude-haiku-4-5");
    expect(described).toMatchObject({ windowTokens: 200_000, outputTokensMax: 64_000 });
    expect(await port.describe("no-such")).toBeUndefined();
  });

  it("counts a request as the server does when it is sent, and says in one line why it could not", async () => {
    const port = await connect({});
    const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];
    const count = await port.count?.({ model, system: ["Be brief."], tools: [weather], messages });
    const events = await hear(port, request({ system: [{ type: "text", text: "Be brief." }], tools: [weather] }));
    const start = events.find(({ kind }) => kind === "reply-start");
    const sent = start?.kind === "reply-start" ? start.usage["input_tokens"] : undefined;
    expect(count).toEqual({ kind: "counted", tokens: sent });
    const unknown = await port.count?.({ model: "no-such", system: [], tools: [], messages });
    expect(unknown).toMatchObject({ kind: "uncounted", message: aString });
    const suffixed = await port.count?.({ model: `${model}[1m]`, system: ["Be brief."], tools: [weather], messages });
    expect(suffixed).toEqual(count);
  });
});

describe("what is sent", () => {
  const sending = async (asked: ReturnType<typeof request>, more: Partial<AnthropicOptions> = {}) => {
    const seen: { body: Uint8Array; headers: Headers; url: string }[] = [];
    const inner = simulatorFetch(new Simulator());
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const copy = new Request(input, init).clone();
      seen.push({ body: new Uint8Array(await copy.arrayBuffer()), headers: copy.headers, url: copy.url });
      return inner(input, init);
    };
    const options = { now, apiKey: "sk-test", baseUrl: "http://simulator", fetch, ...more } as AnthropicOptions;
    const events = await hear(anthropicModel(options), asked);
    const [first] = seen;
    if (first === undefined || seen.length > 1) throw new Error(`${seen.length} requests`);
    return { ...first, events };
  };

  it("is the very bytes of the request's pieces", async () => {
    const asked = request({ messages: [{ role: "user", content: "\u00e9 é 🗼" }] });
    const sent = await sending(asked);
    expect(endIn(sent.events)).toBeDefined();
    expect(Buffer.compare(sent.body, asked.pieces.bytes(asked))).toBe(0);
  });

  it("names the betas in a header, and none where there are none", async () => {
    const betas = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"];
    expect((await sending(request({}, betas))).headers.get("anthropic-beta")).toBe(betas.join(","));
    const plain = await sending(request());
    expect(plain.headers.get("anthropic-beta")).toBeNull();
    expect(plain.headers.get("content-type")).toBe("application/json");
    expect(plain.url).toBe("http://simulator/v1/messages");
  });

  it("carries the key or the token that was given, whatever the environment says", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-environment");
    vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "tok-environment");
    vi.stubEnv("ANTHROPIC_BASE_URL", "http://elsewhere");
    onTestFinished(() => void vi.unstubAllEnvs());
    const key = await sending(request());
    expect(key.headers.get("authorization")).toBe("Bearer sk-test");
    const token = await sending(request(), { apiKey: undefined, authToken: "tok" } as Partial<AnthropicOptions>);
    expect(token.headers.get("authorization")).toBe("Bearer tok");
  });

  it("is sent once, whatever the server answers", async () => {
    for (const fault of ["overloaded", "rate-limit retry-after=0", "server-error"]) {
      let tries = 0;
      const inner = simulatorFetch(new Simulator(failing(fault)));
      const fetch: typeof globalThis.fetch = (input, init) => {
        tries += 1;
        return inner(input, init);
      };
      failureIn(await hear(anthropicModel({ now, apiKey: "k", baseUrl: "http://simulator", fetch })));
      expect(tries).toBe(1);
    }
  });
});

describe("a reply in pieces", () => {
  const fromBytes = (source: Uint8Array, cuts: readonly number[]): typeof fetch => {
    const at = [...new Set(cuts.map((cut) => cut % source.length))].toSorted((a, b) => a - b);
    return async () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const [n, begin] of [0, ...at].entries()) {
            const piece = source.subarray(begin, at[n] ?? source.length);
            if (piece.length > 0) controller.enqueue(piece);
          }
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
  };

  const words = fc.string({ unit: "grapheme", maxLength: 60 });
  const json = fc.jsonValue({ maxDepth: 2 }).map((value) => ({ value }) as unknown as JsonObject);
  const saidBlock: fc.Arbitrary<MoveBlock> = fc.oneof(
    words.map((text) => ({ type: "text", text: `a${text}` }) as const),
    json.map((input) => ({ type: "tool_use", name: "weather", input }) as const),
    words.map((thinking) => ({ type: "redacted_thinking", thinking: `b${thinking}` }) as const),
  );
  const said = fc
    .tuple(fc.boolean(), fc.array(saidBlock, { minLength: 1, maxLength: 5 }))
    .map(([thinks, blocks]) => (thinks ? [{ type: "thinking", thinking: "Let me see." } as const, ...blocks] : blocks));

  it("has the same blocks, stop and usage as the one in one piece, however it is cut", async () => {
    const asked = { tools: [weather], thinking: { type: "adaptive" } };
    const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" };
    const ask = (blocks: readonly MoveBlock[], stream: { stream: boolean }) => {
      const body = JSON.stringify({
        ...asked,
        ...stream,
        model,
        max_tokens: 4_000,
        messages: [{ role: "user", content: "Hello" }],
      });
      const fetch = simulatorFetch(new Simulator({ seed: 7, responder: playing(blocks) }));
      return fetch("http://simulator/v1/messages", { method: "POST", headers, body });
    };
    await fc.assert(
      fc.asyncProperty(said, fc.array(fc.nat(), { maxLength: 12 }), async (blocks, cuts) => {
        const plain = (await (await ask(blocks, { stream: false })).json()) as ReplyMessage;
        const source = new Uint8Array(await (await ask(blocks, { stream: true })).arrayBuffer());
        const fetch = fromBytes(source, cuts);
        const events = await hear(anthropicModel({ now, apiKey: "k", baseUrl: "http://simulator", fetch }));
        const content = plain.content as unknown as readonly JsonObject[];
        expect(blocksIn(events)).toEqual(content.map(parseBlock));
        expect(JSON.stringify(blocksIn(events))).toBe(JSON.stringify(content));
        expect(flawsIn(events).every((flaw) => flaw === undefined)).toBe(true);
        const { cache_creation, output_tokens, input_tokens } = plain.usage;
        const usage = { cache_creation, output_tokens, input_tokens };
        expect(endIn(events)).toMatchObject({ stopReason: plain.stop_reason, usage });
      }),
      { numRuns: 200 },
    );
  });

  const served200 = (text: string, type = "text/event-stream"): ModelPort => {
    const fetch: typeof globalThis.fetch = async () => new Response(text, { headers: { "content-type": type } });
    return anthropicModel({ now, apiKey: "k", baseUrl: "http://simulator", fetch });
  };

  it.each([
    ["nothing at all", ""],
    ["a page", "<html>Please sign in</html>"],
    ["an event that is no JSON", "event: message_start\ndata: {oops\n\n"],
    ["an end without a beginning", 'data: {"type":"message_stop"}\n\n'],
  ])("is broken if it is %s", async (_, text) => {
    expect(failureIn(await hear(served200(text)))).toMatchObject({ why: "broken-stream", retry: "later" });
  });

  it("may hold events without data", async () => {
    const start = { type: "message_start", message: { id: "msg_1", model: "m", usage: {} } };
    const text = `event: ping\n\ndata: ${JSON.stringify(start)}\n\n: comment\n\ndata: {"type":"message_stop"}\n\n`;
    expect(endIn(await hear(served200(text)))).toBeDefined();
  });

  it("that nobody waits for any more is cancelled where it comes from, and lets go of the caller's signal", async () => {
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({ cancel: () => cancelled.resolve() });
    const fetch: typeof globalThis.fetch = async () => new Response(body);
    const port = anthropicModel({ now, apiKey: "k", baseUrl: "http://simulator", fetch, timeoutMs: millis(30) });
    const { signal } = new AbortController();
    expect(failureIn(await heard({ port, request: request(), signal })).why).toBe("timeout");
    await cancelled.promise;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("leaves its connection open for the next request", async () => {
    let connections = 0;
    const server = createServer((incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.write('data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{}}}\n\n');
      outgoing.write('data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}\n\n');
      outgoing.write('data: {"type":"message_stop"}\n\n');
      setTimeout(() => outgoing.end(), 30);
    });
    server.on("connection", () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const one = anthropicModel({ now, apiKey: "k", baseUrl: `http://127.0.0.1:${port}` });
    endIn(await hear(one));
    // The pool takes a moment to see that a connection is free.
    await new Promise((resolve) => setTimeout(resolve, 50));
    endIn(await hear(one));
    expect(connections).toBe(1);
  });

  it("does not wait for a server that never hangs up", async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const events = [
          { type: "message_start", message: { id: "msg_1", model: "m", usage: {} } },
          { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} },
          { type: "message_stop" },
        ];
        for (const event of events) controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
      },
    });
    const fetch: typeof globalThis.fetch = async () => new Response(body);
    const began = performance.now();
    endIn(await hear(anthropicModel({ now, apiKey: "k", baseUrl: "http://simulator", fetch })));
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});

it.each<[string, readonly MoveBlock[]]>([
  ["a call", [{ type: "tool_use", name: "weather", input: { city: "Paris" } }]],
  ["a long text", says("One word after the other, until there are enough of them to be sure of it. ".repeat(5))],
])("a reply fails where every delta of %s comes twice", async (_, blocks) => {
  const parsed = parseFault("duplicate");
  if (parsed.kind === "wrong") throw new Error(parsed.message);
  const { url } = await served({
    responder: { name: "twice", respond: () => ({ move: { kind: "say", blocks }, fault: parsed.fault }) },
  });
  const model = "claude-sonnet-5-5";
  const messages = [{ role: "user", content: "Hello" }];
  const tools = [{ name: "weather", input_schema: { type: "object" } }];
  const request = requestFrom({ model, max_tokens: 4_000, stream: true, messages, tools });
  const port = anthropicModel({ now: () => millis(0), apiKey: "sk-test", baseUrl: url });
  const failure = failureIn(await heard({ port, request }));
  expect(failure).toMatchObject({ why: "broken-stream", retry: "later" });
  expect(failure.message).toContain("twice");
});
