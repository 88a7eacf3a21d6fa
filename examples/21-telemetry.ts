import { metrics, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import Anthropic from "@anthropic-ai/sdk";
import { openContext } from "palimpsest";
import { recordEvents } from "palimpsest/otel";
import { simulated } from "./simulated.ts";

// Your SDK and its exporters. Here they keep everything in memory.
const spans = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }));
const figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: figures })] });
metrics.setGlobalMeterProvider(meters);

const file = "export const answer = 42;\n".repeat(400);
const client = new Anthropic(simulated);
const read = { name: "read", description: "Reads a file.", input_schema: { type: "object" as const } };
const model = "claude-sonnet-5-5";
const context = await openContext({
  model,
  session: "fix-the-test",
  contextTokens: 20_000,
  tools: [read],
  onEvent: recordEvents({ model, provider: "anthropic", session: "fix-the-test" }),
});

for (const task of ["Fix the failing test", "Now the next one"]) {
  await context.user(task);
  for (;;) {
    const request = await context.next();
    const calls = await context.assistant(await client.messages.create(request.params));
    if (calls.length === 0) break;
    for (const call of calls) await context.toolResult(call.id, file);
  }
}
await context.close();
await meters.shutdown();

// The client of Anthropic records its requests itself.
for (const { name, attributes } of spans.getFinishedSpans())
  if (name.startsWith("palimpsest.")) console.log(name, attributes);
for (const { scopeMetrics } of figures.getMetrics())
  for (const { descriptor, dataPoints } of scopeMetrics.flatMap((scope) => scope.metrics))
    for (const { attributes, value } of dataPoints) console.log(descriptor.name, attributes, value);
