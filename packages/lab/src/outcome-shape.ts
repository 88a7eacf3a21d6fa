import { z } from "zod";
import {
  cacheNames,
  compactionNames,
  type PriceName,
  priceNames,
  refetchNames,
  type ReplayOutcome,
} from "./outcome.ts";

/** An outcome as it was written down. */
export const outcomeShape = z.object({
  file: z.string(),
  policy: z.string(),
  prices: z.enum(priceNames),
  window: z.union([z.number(), z.literal("none")]),
  refetch: z.enum(refetchNames),
  cache: z.enum(cacheNames),
  compaction: z.enum(compactionNames),
  rounds: z.number(),
  calls: z.number(),
  uncachedTokens: z.number(),
  cacheWriteTokens: z.number(),
  cacheWrite1hTokens: z.number(),
  cacheReadTokens: z.number(),
  outputTokens: z.number(),
  inputCost: z.number(),
  refetchCost: z.number(),
  cost: z.number(),
  headerCost: z.number(),
  readCost: z.number(),
  headerReadCost: z.number(),
  costWithRework: z.number(),
  optimumClearOnly: z.number().nullable(),
  optimumFull: z.number().nullable(),
  peakContext: z.number(),
  edits: z.number(),
  compactions: z.number(),
  notesTaken: z.number(),
  notesCost: z.number(),
  refused: z.number(),
  refetched: z.number(),
  failedAt: z.number().exactOptional(),
  thinkingTokensLeftOut: z.number(),
  recordedCost: z.number().exactOptional(),
  contextByRound: z.array(z.number()),
}) satisfies z.ZodType<ReplayOutcome>;

export const isPriceName = (name: string): name is PriceName => priceNames.some((known) => known === name);
