import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
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
import type { ModelEvent, ModelFailure, ModelPort } from "../../ports/model-port.ts";
import { type Millis, millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { openaiModel } from "./client.ts";

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
    const events = await replyTo([first, delta({ content: "A" }), looked, delta({ content: "B" }), delta({}, "stop")]);
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
