import type { SampledUsage } from "palimpsest/internal/schema/wire/reply";
import type { Iteration } from "../iteration.ts";
import type { TracedReply } from "../trace/record.ts";
import type { Decided } from "./exchange.ts";
import type { ReplyInputs } from "./reply.ts";
import { servedTier } from "./tier.ts";
import { priceOfRuns, splitOf, type Usage, usageOf } from "./usage.ts";

type Traced = Pick<TracedReply, "usage" | "split" | "iterations" | "cost" | "pricesUsdPerMTok">;

/** What a reply took, in the fields that a trace has for the Messages form. */
export function tracedRuns({ decided, model, wish }: Pick<ReplyInputs, "decided" | "model" | "wish">): Traced {
  const iterations = iterationsOf(decided);
  const price = priceOfRuns(decided.runs, { model, tier: servedTier(wish.serviceTier) });
  return {
    usage: inMessagesForm(usageOf({ ...decided, model })),
    ...(iterations[0] === undefined ? {} : { split: iterations[0].split }),
    ...(iterations.some(({ type }) => type === "compaction") ? { iterations } : {}),
    ...(price === undefined
      ? {}
      : { cost: { usd: price.totalUsd, usdByKind: price.usdByKind }, pricesUsdPerMTok: price.usdPerMTok }),
  };
}

/** The last run is the reply, unless a summary was all that was asked for. */
function iterationsOf({ runs, output: { items } }: Decided): readonly Iteration[] {
  const isOnlySummary = runs.length === 1 && items.length > 0 && items.every(({ kind }) => kind === "compaction");
  return runs.map((run, at) => ({
    type: at === runs.length - 1 && !isOnlySummary ? "message" : "compaction",
    split: splitOf(run),
    outputTokens: run.outputTokens,
  }));
}

/** There input is what is neither read nor written. */
function inMessagesForm({ inputTokens, cachedTokens, written, outputTokens }: Usage): SampledUsage {
  const { "30m": short, "12h": long } = written ?? { "30m": 0, "12h": 0 };
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - short - long),
    cache_creation_input_tokens: short + long,
    cache_read_input_tokens: cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    output_tokens: outputTokens,
  };
}
