import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { providers } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { describe, expect, it } from "vitest";
import {
  callPart,
  decodeEvents,
  encodeEvents,
  sampleEvents,
  type SamplePart,
  type SampleReply,
  sampleStream,
  textPart,
  thinkingPart,
} from "../../../../test/fixture/gateway-replies.ts";
import { relayStreams } from "../../../../test/property/gateway-exchange.ts";
import { eventBytesMax } from "./limits.ts";
import { StreamRelay } from "./stream-relay.ts";
import { addInputTokens } from "./usage.ts";

const recall = callPart("call_1", "palimpsest_recall", { query: "port" });
const read = callPart("call_2", "read_file", { path: "a.ts" });
const reply = (...parts: readonly SamplePart[]): SampleReply => ({
  id: "reply_1",
  parts,
  stop: parts.some(({ kind }) => kind === "call") ? "calls" : "end",
  usage: { input: 10, cached: 100, output: 5 },
});

const none: ReadonlySet<string> = new Set();
const onEvent = (): void => undefined;

describe("a stream of chat chunks whose usage the gateway asked for", () => {
  const chunk = (members: string): string =>
    `data: {"id":"c","choices":[{"index":0,"delta":{"content":"\\"usage\\":null, ä"}}]${members}}\n\n`;
  const end = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const relayed = (members: string, usageChunk: "pass" | "withhold"): string => {
    const relay = new StreamRelay({ provider: "openai-chat", gatewayTools: none, usageChunk, onEvent });
    return Buffer.concat([...relay.take(Buffer.from(chunk(members) + end)), ...relay.end().out]).toString();
  };

  it("has the bytes of a stream without: no chunk says that its usage is null", () => {
    expect(relayed(',"usage":null', "withhold")).toBe(chunk("") + end);
    expect(relayed(', "usage": null, "obfuscation":"x1"', "withhold")).toBe(chunk(', "obfuscation":"x1"') + end);
    expect(relayed(',"usage":null', "pass")).toBe(chunk(',"usage":null') + end);
  });
});

describe.each(providers)("a stream of %s", (provider) => {
  it("leaves chunk by chunk, as the same bytes, if nothing can need a change", () => {
    const relay = new StreamRelay({ provider, gatewayTools: none, onEvent });
    const half = sampleStream(provider, reply(textPart("Hello"))).subarray(0, 40);
    expect(relay.take(half)).toEqual([half]);
    expect(relay.take(half)[0]).toBe(half);
  });

  it("leaves without a copy if own tools are offered, but not called", () => {
    const stream = sampleStream(provider, { ...reply(textPart("Hello"), read), tools: [] });
    const { buffer } = stream;
    const relay = new StreamRelay({ provider, gatewayTools: new Set(["palimpsest_recall"]), onEvent });
    const out = [...relay.take(stream.subarray(0, 100)), ...relay.take(stream.subarray(100))];
    expect(Buffer.concat(out).equals(stream)).toBe(true);
    expect(out.every((bytes) => bytes.buffer === buffer)).toBe(true);
    expect(out.length).toBeLessThanOrEqual(4);
  });

  it.each([1, 7, 10_000])("is told as it came, each event once, in chunks of %i bytes", (size) => {
    const whole = reply(textPart("Hello, you"), recall, read);
    const stream = sampleStream(provider, whole);
    const [told, parsed]: [JsonObject[], JsonObject[]] = [[], []];
    const gatewayTools = new Set(["palimpsest_recall"]);
    const listeners = {
      onEvent: (event: JsonObject) => told.push(event),
      onParsed: (event: JsonObject) => parsed.push(event),
    };
    const relay = new StreamRelay({ provider, gatewayTools, ...listeners });
    for (let at = 0; at < stream.length; at += size) relay.take(stream.subarray(at, at + size));
    relay.end();
    relay.observe();
    relay.observe();
    expect(told).toEqual(sampleEvents(provider, whole));
    expect(new Set(parsed)).toEqual(new Set(told));
    expect(parsed.length).toBe(told.length);
  });

  it("ends for the client with its own calls if ours stand beside them", () => {
    const { bytes, ends } = relayStreams(provider, [[sampleStream(provider, reply(textPart("So."), recall, read))]]);
    expect(decodeEvents(bytes)).toEqual(sampleEvents(provider, reply(textPart("So."), read)));
    expect(ends).toMatchObject([
      {
        kind: "gateway-calls",
        client: "complete",
        calls: [{ id: "call_1", name: "palimpsest_recall", input: { query: "port" } }],
      },
    ]);
  });

  it("ends for the client as it was cut, and reports the call that was cut", () => {
    const torn: SamplePart = { kind: "call", id: "call_1", name: "palimpsest_recall", pieces: ['{"query": "po'] };
    const cut = { ...reply(textPart("So."), torn), stop: "cut" } as const;
    const { bytes, ends } = relayStreams(provider, [[sampleStream(provider, cut)]]);
    expect(decodeEvents(bytes)).toEqual(sampleEvents(provider, { ...reply(textPart("So.")), stop: "cut" }));
    expect(ends).toMatchObject([{ kind: "gateway-calls", client: "complete", calls: [{ id: "call_1", input: {} }] }]);
    expect(JSON.stringify(ends)).toContain("flawed");
  });

  it("says behind what of the client's message a call of ours belongs", () => {
    const parts = [thinkingPart("Hm."), textPart("Let me see."), recall];
    const last = { ...reply(textPart("It is 80.")), id: "reply_2" };
    const second = { ...reply(textPart("And"), callPart("call_9", "palimpsest_memory", {})), id: "reply_3" };
    const { ends } = relayStreams(
      provider,
      [reply(...parts), second, last].map((one) => [sampleStream(provider, one)]),
    );
    const after = ends.map((end) => (end.kind === "gateway-calls" ? end.calls.map((call) => call.after) : []));
    expect(after).toEqual(
      provider === "openai-chat" ? [["Let me see.".length], ["Let me see.And".length], []] : [[2], [3], []],
    );
  });

  it("is broken if it ends early, and of a torn own call nothing passes", () => {
    const stream = sampleStream(provider, reply(textPart("So."), recall));
    const shown = sampleStream(provider, reply(textPart("So."), read));
    const places = Array.from({ length: Math.floor(stream.length / 3) }, (_, at) => 3 * at);
    const last = stream.lastIndexOf(provider === "openai-chat" ? "tool_calls" : "stop");
    for (const place of places.filter((at) => provider === "openai-responses" || at < last)) {
      const { bytes, ends } = relayStreams(provider, [[stream.subarray(0, place)]]);
      expect(ends).toEqual([{ kind: "broken" }]);
      expect(bytes.includes("palimpsest")).toBe(false);
      expect(shown.toString().startsWith(bytes.toString())).toBe(true);
    }
  });

  it("counts a last event without its empty line", () => {
    const stream = sampleStream(provider, reply(textPart("So."))).subarray(0, -2);
    const { bytes, ends } = relayStreams(provider, [[stream]]);
    expect(bytes.equals(stream)).toBe(true);
    expect(ends).toEqual([{ kind: "done" }]);
  });

  it("passes comments and unknown events", () => {
    const odd = Buffer.from(': keep-alive\n\nevent: news\ndata: {"type":"news"}\n\nid: 7\nretry: 100\n\n');
    const stream = sampleStream(provider, reply(textPart("So.")));
    expect(relayStreams(provider, [[odd, stream]]).bytes.equals(Buffer.concat([odd, stream]))).toBe(true);
  });

  it("keeps the other lines of an event that changes", () => {
    const [first, ...rest] = [reply(recall), reply(textPart("Yes."))].map((one) =>
      sampleStream(provider, one).toString(),
    );
    const named = rest.join("").replaceAll("\ndata: ", "\nid: 5\ndata: ");
    const { bytes } = relayStreams(provider, [[Buffer.from(first ?? "")], [Buffer.from(named)]]);
    if (provider !== "openai-chat") expect(bytes.toString()).toContain("\nid: 5\ndata: ");
    expect(decodeEvents(bytes)).toEqual(
      sampleEvents(provider, { ...reply(textPart("Yes.")), usage: { input: 10, cached: 100, output: 10 } }).toSpliced(
        1,
        0,
        ...(provider === "anthropic" ? [{ type: "ping" }] : []),
      ),
    );
  });

  it("tells the client the usage of what it sent, in every event that tells one", () => {
    const grown = { ...reply(textPart("So.")), usage: { input: 10, cached: 1_100, output: 5 } };
    const usage = (used: JsonObject): JsonObject => addInputTokens(provider, used, 1_000);
    const { bytes } = relayStreams(provider, [[sampleStream(provider, reply(textPart("So.")))]], { usage });
    expect(decodeEvents(bytes)).toEqual(sampleEvents(provider, grown));
  });

  it("is broken, and passes no more, if an event has no end", () => {
    const relay = new StreamRelay({ provider, gatewayTools: new Set(["palimpsest_recall"]), onEvent });
    const piece = Buffer.alloc(1024 * 1024, "data: x");
    for (let sent = 0; sent <= eventBytesMax; sent += piece.length) expect(relay.take(piece)).toEqual([]);
    expect(relay.take(sampleStream(provider, reply(textPart("So."))))).toEqual([]);
    expect(relay.end()).toEqual({ out: [], end: { kind: "broken" } });
  });

  it("can end a client's stream that waits with an error that the SDK throws", async () => {
    const relay = new StreamRelay({ provider, gatewayTools: new Set(["palimpsest_recall"]), onEvent });
    const out = [...relay.take(sampleStream(provider, reply(textPart("So."), recall))), ...relay.end().out];
    const bytes = Buffer.concat([...out, relay.fail({ type: "api_error", message: "Upstream is gone." })]);
    await expect(listen[provider](bytes)).rejects.toThrow("Upstream is gone.");
  });
});

const eventStream = (bytes: Buffer) => (): Promise<Response> =>
  Promise.resolve(new Response(bytes, { headers: { "content-type": "text/event-stream" } }));
const sdk = { apiKey: "none", maxRetries: 0 };
const listen = {
  anthropic: (bytes: Buffer) =>
    new Anthropic({ ...sdk, fetch: eventStream(bytes) }).messages
      .stream({ model: "claude-sonnet-5", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] })
      .finalMessage(),
  "openai-chat": (bytes: Buffer) =>
    new OpenAI({ ...sdk, fetch: eventStream(bytes) }).chat.completions
      .stream({ model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] })
      .finalChatCompletion(),
  "openai-responses": (bytes: Buffer) =>
    new OpenAI({ ...sdk, fetch: eventStream(bytes) }).responses
      .stream({ model: "gpt-5.6", input: "Hi" })
      .finalResponse(),
};

describe("a stream of the Messages API", () => {
  const delta = (usage: JsonObject, stop = "end_turn"): JsonObject => ({
    type: "message_delta",
    delta: { stop_reason: stop },
    usage,
  });
  const withDelta = (one: SampleReply, change: JsonObject): Buffer =>
    encodeEvents("anthropic", [...sampleEvents("anthropic", one).slice(0, -2), change, { type: "message_stop" }]);

  it("leaves before the pieces of a block are told", () => {
    const told: JsonObject[] = [];
    const options = { provider: "anthropic", gatewayTools: new Set(["palimpsest_recall"]) } as const;
    const relay = new StreamRelay({ ...options, onEvent: (event) => told.push(event) });
    const stream = sampleStream("anthropic", reply(textPart("Hello")));
    expect(Buffer.concat(relay.take(stream)).equals(stream)).toBe(true);
    expect(told.map(({ type }) => type)).toEqual(["message_start", "ping", "content_block_start"]);
    relay.observe();
    expect(told).toEqual(sampleEvents("anthropic", reply(textPart("Hello"))));
  });

  it("passes an error event and is broken", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const begun = sampleEvents("anthropic", reply(textPart("So."))).slice(0, 4);
    const stream = encodeEvents("anthropic", [...begun, error]);
    const { bytes, ends } = relayStreams("anthropic", [[stream]]);
    expect(bytes.equals(stream)).toBe(true);
    expect(ends).toEqual([{ kind: "broken" }]);
  });

  it("tells the last reply's input side although its last event has none", () => {
    const second = { ...reply(textPart("Yes.")), usage: { input: 20, cached: 300, output: 0 } };
    const streams = [sampleStream("anthropic", reply(recall)), withDelta(second, delta({ output_tokens: 7 }))];
    const events = decodeEvents(
      relayStreams(
        "anthropic",
        streams.map((stream) => [stream]),
      ).bytes,
    );
    const usage = { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 300, output_tokens: 12 };
    expect(events.at(-2)).toEqual(delta(usage));
  });

  it("does not add tokens twice if the last event has another part of the input side", () => {
    const stream = withDelta(
      reply(textPart("So.")),
      delta({ input_tokens: 11, cache_read_input_tokens: null, output_tokens: 5 }),
    );
    const usage = (used: JsonObject): JsonObject => addInputTokens("anthropic", used, 1_000);
    const events = decodeEvents(relayStreams("anthropic", [[stream]], { usage }).bytes);
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: 10, cache_read_input_tokens: 1_100 } } });
    expect(events.at(-2)).toEqual(delta({ input_tokens: 11, cache_read_input_tokens: null, output_tokens: 5 }));
  });

  it.each([
    { stop: "end_turn", client: "waits" },
    { stop: "tool_use", client: "waits" },
    { stop: "pause_turn", client: "complete" },
    { stop: "refusal", client: "complete" },
    { stop: "model_context_window_exceeded", client: "complete" },
  ])("with a call of ours and the reason $stop: the client $client", ({ stop, client }) => {
    const stream = withDelta(reply(recall), delta({ output_tokens: 5 }, stop));
    const { bytes, ends } = relayStreams("anthropic", [[stream]]);
    expect(ends).toMatchObject([{ kind: "gateway-calls", client }]);
    expect(bytes.includes("message_stop")).toBe(client === "complete");
  });
});

describe("a stream of chat completions", () => {
  it("has no chunk with the usage if the client did not ask for it", () => {
    const stream = sampleStream("openai-chat", reply(textPart("So.")));
    const { bytes } = relayStreams("openai-chat", [[stream]], { usageChunk: "withhold" });
    const chunks = sampleEvents("openai-chat", reply(textPart("So."))).slice(0, -1);
    expect(decodeEvents(bytes)).toEqual(chunks.map(({ usage: _null, ...rest }) => rest));
    expect(bytes.toString().endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("knows a call by its id if a server gives all calls the same index", () => {
    const piece = (id: string, name: string): JsonObject => ({
      id: "c",
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id, function: { name, arguments: "{}" } }] } }],
    });
    const stop = { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    const stream = encodeEvents("openai-chat", [piece("a", "palimpsest_recall"), piece("b", "read_file"), stop]);
    const { bytes, ends } = relayStreams("openai-chat", [[stream]]);
    expect(decodeEvents(bytes)).toEqual([piece("b", "read_file"), stop]);
    expect(ends).toMatchObject([{ kind: "gateway-calls", client: "complete", calls: [{ id: "a" }] }]);
  });

  it("keeps text that comes in the chunk of an own call or of the end", () => {
    const call = { index: 0, id: "a", function: { name: "palimpsest_recall", arguments: "{}" } };
    const chunk = (delta: JsonObject, finish: string | null): JsonObject => ({
      id: "c",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const stream = encodeEvents("openai-chat", [
      chunk({ content: "So", tool_calls: [call] }, null),
      chunk({ content: "." }, "tool_calls"),
    ]);
    const { bytes } = relayStreams("openai-chat", [[stream]]);
    expect(decodeEvents(bytes)).toEqual([chunk({ content: "So" }, null), chunk({ content: "." }, null)]);
  });
});

describe("a stream of the Responses API", () => {
  it("names no tool of ours", () => {
    const tools = ["palimpsest_recall", "read_file"];
    const stream = sampleStream("openai-responses", { ...reply(textPart("So.")), tools });
    const { bytes } = relayStreams("openai-responses", [[stream]]);
    expect(decodeEvents(bytes)).toEqual(
      sampleEvents("openai-responses", { ...reply(textPart("So.")), tools: ["read_file"] }),
    );
  });

  it.each([
    { type: "custom_tool_call", client: "complete" },
    { type: "shell_call", client: "complete" },
    { type: "mcp_approval_request", client: "complete" },
    { type: "web_search_call", client: "waits" },
    { type: "reasoning", client: "waits" },
  ])("with a call of ours beside an item $type: the client $client", ({ type, client }) => {
    const item = { id: "item", type };
    const events = sampleEvents("openai-responses", reply(recall));
    const beside = [
      { type: "response.output_item.added", output_index: 1, item },
      { type: "response.output_item.done", output_index: 1, item },
    ];
    const stream = encodeEvents("openai-responses", [...events.slice(0, -1), ...beside, ...events.slice(-1)]);
    expect(relayStreams("openai-responses", [[stream]]).ends).toMatchObject([{ kind: "gateway-calls", client }]);
  });

  it("passes a failed response under the id that the client knows", () => {
    const failed = {
      type: "response.failed",
      sequence_number: 2,
      response: { id: "reply_2", status: "failed", output: [] },
    };
    const second = sampleEvents("openai-responses", { ...reply(), id: "reply_2" }).slice(0, 2);
    const streams = [
      sampleStream("openai-responses", reply(recall)),
      encodeEvents("openai-responses", [...second, failed]),
    ];
    const { bytes, ends } = relayStreams(
      "openai-responses",
      streams.map((stream) => [stream]),
    );
    expect(decodeEvents(bytes).at(-1)).toMatchObject({
      sequence_number: 2,
      response: { id: "reply_1", status: "failed" },
    });
    expect(ends.at(-1)).toEqual({ kind: "broken" });
  });
});
