import { context, metrics, trace } from "@opentelemetry/api";
import {
  InMemoryMetricExporter,
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  StackContextManager,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterEach, describe, expect, it } from "vitest";
import { openContext } from "../open/open-context.ts";
import { entryId, messageId, millis, nanoUsd, tokens, toolUseId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import { recordEvents } from "./record-events.ts";

const model = "claude-sonnet-5-5";
const usage = { input: tokens(10), cacheWrite: tokens(20), cacheRead: tokens(70), output: tokens(5) };
const price = { writeRate: 1, readRate: 0, now: 0, perRound: 0 };

afterEach(() => {
  trace.disable();
  metrics.disable();
  context.disable();
});

/** An SDK as a program sets it up, with exporters in memory. */
function setUpSdk() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new StackContextManager().enable());
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: metricExporter })] });
  metrics.setGlobalMeterProvider(meters);
  return {
    spans: () => exporter.getFinishedSpans(),
    /** Sums by metric and the given attribute. */
    sums: async (name: string, attribute: string) => {
      await meters.forceFlush();
      const found = metricExporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
        .findLast(({ descriptor }) => descriptor.name === name);
      return Object.fromEntries(
        (found?.dataPoints ?? []).map(({ attributes, value }) => [
          String(attributes[attribute]),
          typeof value === "number" ? value : value.sum,
        ]),
      );
    },
  };
}

const turn: readonly LoopEvent[] = [
  { kind: "turn-start", session: "s1", model },
  { kind: "request-start", number: 1, tokens: tokens(100) },
  { kind: "reply-end", id: messageId("m1"), stopReason: "tool_use", usage },
  { kind: "call-start", id: toolUseId("t1"), tool: "read", input: { path: "/secret/path" } },
  { kind: "call-end", id: toolUseId("t1"), tool: "read", outcome: "failed", summary: "/secret/path is missing" },
  { kind: "turn-end", reason: "answered" },
];

describe("the agent's own loop", () => {
  it("is a trace by the GenAI conventions: an agent, its requests and its calls", () => {
    const sdk = setUpSdk();
    const record = recordEvents({ model });
    for (const event of turn) record(event);
    const [chat, call, agent] = sdk.spans();
    expect([chat?.name, call?.name, agent?.name]).toEqual([
      `chat ${model}`,
      "execute_tool read",
      "invoke_agent palimpsest",
    ]);
    expect(chat?.parentSpanContext?.spanId).toBe(agent?.spanContext().spanId);
    expect(call?.parentSpanContext?.spanId).toBe(agent?.spanContext().spanId);
    expect(chat?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": model,
      "gen_ai.conversation.id": "s1",
      "gen_ai.response.id": "m1",
      "gen_ai.response.finish_reasons": ["tool_use"],
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.cache_read.input_tokens": 70,
      "gen_ai.usage.cache_creation.input_tokens": 20,
      "gen_ai.usage.output_tokens": 5,
    });
    expect(call?.attributes).toMatchObject({ "gen_ai.tool.name": "read", "error.type": "failed" });
  });

  it("counts tokens and time by the conventions' metrics", async () => {
    const sdk = setUpSdk();
    let now = 0;
    const record = recordEvents({ model, clock: () => (now += 1500) });
    for (const event of turn) record(event);
    expect(await sdk.sums("gen_ai.client.token.usage", "gen_ai.token.type")).toEqual({ input: 100, output: 5 });
    expect(await sdk.sums("gen_ai.client.operation.duration", "gen_ai.request.model")).toEqual({ [model]: 1.5 });
  });

  it("ends what a turn leaves open, with the reason", () => {
    const sdk = setUpSdk();
    const record = recordEvents({ model });
    for (const event of turn.slice(0, 2)) record(event);
    record({ kind: "turn-end", reason: "failed", message: "no network", remedies: ["check-network"] });
    expect(sdk.spans().map(({ name, attributes }) => [name, attributes["error.type"]])).toEqual([
      [`chat ${model}`, "failed"],
      ["invoke_agent palimpsest", "failed"],
    ]);
  });
});

describe("the layers", () => {
  const start: LoopEvent = { kind: "compaction-start", trigger: "auto", cause: "threshold", tokens: tokens(900) };
  const compacted: LoopEvent = {
    kind: "compacted",
    trigger: "auto",
    cause: "threshold",
    path: "fork",
    tokensBefore: tokens(900),
    tokensAfter: tokens(200),
    auditScore: 1,
    entries: [entryId("e1")],
    price,
    costNanos: nanoUsd(5_000_000),
    usage,
    filesRestored: 2,
  };

  it("record a compaction with its five usage figures, its path and the hit rate of its fork", async () => {
    const sdk = setUpSdk();
    const record = recordEvents({ model, session: "s1" });
    record(start);
    record(compacted);
    expect(sdk.spans()).toMatchObject([
      {
        name: "palimpsest.compact",
        attributes: {
          "gen_ai.conversation.id": "s1",
          "palimpsest.compaction.path": "fork",
          "palimpsest.compaction.files_restored": 2,
          "palimpsest.tokens.saved": 700,
          "palimpsest.cost.usd": 0.005,
          "palimpsest.cache.hit_rate": 0.7,
          "gen_ai.usage.input_tokens": 100,
          "gen_ai.usage.cache_read.input_tokens": 70,
          "gen_ai.usage.cache_creation.input_tokens": 20,
          "palimpsest.usage.cache_creation_1h.input_tokens": 0,
          "gen_ai.usage.output_tokens": 5,
        },
      },
    ]);
    expect(await sdk.sums("palimpsest.compactions", "palimpsest.compaction.path")).toEqual({ fork: 1 });
    expect(await sdk.sums("palimpsest.tokens.removed", "palimpsest.edit")).toEqual({ compact: 700 });
    expect(await sdk.sums("gen_ai.client.token.usage", "palimpsest.purpose")).toMatchObject({ compact: 5 });
  });

  it("record a failure with its reason, and the breaker", async () => {
    const sdk = setUpSdk();
    const record = recordEvents({ model });
    record(start);
    record({ kind: "compaction-failed", trigger: "auto", reason: "breaker_open", message: "no", state: "degraded" });
    const [span] = sdk.spans();
    expect(span?.attributes).toMatchObject({
      "error.type": "breaker_open",
      "palimpsest.compaction.breaker": "degraded",
    });
    expect(await sdk.sums("palimpsest.compactions", "error.type")).toEqual({ breaker_open: 1 });
  });

  it.each<[LoopEvent, object]>([
    [
      {
        kind: "cleared",
        what: "clear",
        count: 3,
        tokensBefore: tokens(50),
        tokensAfter: tokens(20),
        tokensSaved: tokens(30),
        trigger: "clear.size",
        because: "too large",
        entries: [],
        price,
      },
      { name: "palimpsest.clear", attributes: { "palimpsest.trigger": "clear.size", "palimpsest.tokens.saved": 30 } },
    ],
    [
      { kind: "cache-break", cause: "tools changed: Read", tokens: tokens(40) },
      { name: "palimpsest.cache_break", attributes: { "palimpsest.cause": "tools changed: Read" } },
    ],
    [
      {
        kind: "memories-saved",
        by: "dream",
        revision: "r1",
        memories: [{ path: "a.md", name: "a", description: "private", change: "saved" }],
      },
      { name: "palimpsest.save_memories", attributes: { "palimpsest.work": "dream", "palimpsest.count": 1 } },
    ],
    [
      { kind: "no-headroom", tokens: tokens(9), limit: tokens(8), largest: [] },
      { name: "palimpsest.no_headroom", attributes: { "palimpsest.tokens.limit": 8 } },
    ],
  ])("record %o as a span", (event, span) => {
    const sdk = setUpSdk();
    recordEvents({ model })(event);
    expect(sdk.spans()).toMatchObject([span]);
  });
});

it("records no text of the conversation", () => {
  const sdk = setUpSdk();
  const record = recordEvents({ model });
  for (const event of turn) record(event);
  record({ kind: "text-delta", text: "private words" });
  record({ kind: "retry-start", attempt: 1, afterMs: millis(1), message: "private" });
  record({ kind: "warning", code: "hook", message: "private" });
  const written = JSON.stringify(sdk.spans().map(({ name, attributes, events }) => [name, attributes, events]));
  expect(written).not.toMatch(/private|secret/);
});

it("does nothing without an SDK, and passes events on", () => {
  const passed: string[] = [];
  const record = recordEvents({ model, onEvent: ({ kind }) => passed.push(kind) });
  for (const event of turn) record(event);
  expect(passed).toEqual(turn.map(({ kind }) => kind));
});

it("records what a library's context does, below the caller's span", async () => {
  const sdk = setUpSdk();
  const tracer = trace.getTracer("program");
  const parent = tracer.startSpan("program");
  const record = recordEvents({ model, tokenUsage: "off" });
  const conversation = await openContext({
    model,
    contextTokens: 20_000,
    tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
    onEvent: (event) => context.with(trace.setSpan(context.active(), parent), () => record(event)),
  });
  for (let round = 0; round < 6; round += 1) {
    await conversation.user(`Read file ${round}.`);
    await conversation.next();
    await conversation.assistant({
      id: `m${round}`,
      model,
      content: [{ type: "tool_use", id: `t${round}`, name: "read", input: {} }],
      stop_reason: "tool_use",
      usage: { input_tokens: 10, output_tokens: 5 },
    });
    await conversation.toolResult(`t${round}`, "a line of the file\n".repeat(600 + 400 * (round % 3)));
    await conversation.next();
    await conversation.assistant({
      id: `e${round}`,
      model,
      content: [{ type: "text", text: "Read." }],
      stop_reason: "end_turn",
      usage: { input_tokens: 10, output_tokens: 5 },
    });
  }
  await conversation.compact();
  await conversation.close();
  const spans = sdk.spans();
  const names = new Set(spans.map(({ name }) => name));
  expect([...names]).toEqual(expect.arrayContaining(["palimpsest.offload", "palimpsest.compact"]));
  expect(spans.every((span) => span.parentSpanContext?.spanId === parent.spanContext().spanId)).toBe(true);
  const offload = spans.find(({ name }) => name === "palimpsest.offload");
  expect(offload?.attributes).toMatchObject({ "gen_ai.tool.name": "read" });
  expect(Number(offload?.attributes["palimpsest.bytes.before"])).toBeGreaterThan(10_000);
  expect(Number(offload?.attributes["palimpsest.tokens.saved"])).toBeGreaterThan(1_000);
  expect(await sdk.sums("gen_ai.client.token.usage", "gen_ai.token.type")).toEqual({});
});
