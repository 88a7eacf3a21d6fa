import { type Counter, type Histogram, metrics } from "@opentelemetry/api";

/** The first two have the names and the buckets of the GenAI conventions. */
export interface Instruments {
  readonly tokenUsage: Histogram;
  readonly duration: Histogram;
  readonly compactions: Counter;
  readonly tokensRemoved: Counter;
  readonly tokensRewritten: Counter;
  readonly filesRestored: Counter;
  readonly memories: Counter;
  readonly warnings: Counter;
}

export function createInstruments(): Instruments {
  const meter = metrics.getMeter("palimpsest");
  return {
    tokenUsage: meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Tokens of a reply and its request.",
      advice: { explicitBucketBoundaries: powers(4, { from: 1, count: 14 }) },
    }),
    duration: meter.createHistogram("gen_ai.client.operation.duration", {
      unit: "s",
      description: "From a request to the end of its reply.",
      advice: { explicitBucketBoundaries: powers(2, { from: 0.01, count: 14 }) },
    }),
    compactions: meter.createCounter("palimpsest.compactions", {
      description: "Compactions, also those that failed.",
    }),
    tokensRemoved: meter.createCounter("palimpsest.tokens.removed", {
      unit: "{token}",
      description: "Tokens that an edit removed from the view.",
    }),
    tokensRewritten: meter.createCounter("palimpsest.cache.tokens.rewritten", {
      unit: "{token}",
      description: "Tokens written to the provider's cache again because it broke.",
    }),
    filesRestored: meter.createCounter("palimpsest.files.restored", {
      description: "Files that the model sees again after a compaction.",
    }),
    memories: meter.createCounter("palimpsest.memories", {
      description: "Memories that background work saved or deleted.",
    }),
    warnings: meter.createCounter("palimpsest.warnings", { description: "Warnings, by their code." }),
  };
}

const powers = (base: number, { from, count }: { readonly from: number; readonly count: number }): number[] =>
  Array.from({ length: count }, (_, power) => Number((from * base ** power).toPrecision(12)));
