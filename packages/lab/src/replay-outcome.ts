import { z } from "zod";

/**
 * What one policy did with one recording. Money is in tokens at the base input price: one uncached input token costs 1.
 * `inputCost` = read·cacheReadTokens + write·cacheWriteTokens + uncachedTokens, the calls of compactions and notes included.
 */
export interface ReplayOutcome {
  readonly file: string;
  readonly policy: string;
  readonly prices: PriceName;
  /** Tokens. */
  readonly window: number | "none";
  readonly refetch: RefetchName;
  readonly cache: CacheName;
  readonly compaction: CompactionName;
  /** Rounds of the recording. */
  readonly rounds: number;
  /** Requests sent, those of compactions and notes included. */
  readonly calls: number;
  readonly uncachedTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` that was written for an hour. */
  readonly cacheWrite1hTokens: number;
  readonly cacheReadTokens: number;
  /** Of compactions and notes only: ordinary output is the same for all policies. */
  readonly outputTokens: number;
  readonly inputCost: number;
  /** What results cost that were needed again when they were cleared. */
  readonly refetchCost: number;
  /** `inputCost + refetchCost + output of compactions and notes at its price`. */
  readonly cost: number;
  /** The part of `inputCost` that the fixed header causes. */
  readonly headerCost: number;
  /** The part of `inputCost` that reading from the cache causes, and of that what reading the header does. */
  readonly readCost: number;
  readonly headerReadCost: number;
  /** `cost` with a charge for every compaction for what summaries lose. */
  readonly costWithRework: number;
  /**
   * The least that `inputCost` and the output of compactions can be with the whole session known, on the same numbers; what the policy offloads counts as its preview.
   * Two kinds of policies may come in below: who clears a result before it is three rounds old, and who restores nothing behind a compaction, so that less is left than the
   * optimum's 11,000 tokens. Null under `auto`: the optima know one lifetime for the whole session, and choosing for each
   * request may cost less than either; and with `extract`: they know one size for all summaries.
   */
  readonly optimumClearOnly: number | null;
  readonly optimumFull: number | null;
  readonly peakContext: number;
  /** Edits of the view other than compactions. */
  readonly edits: number;
  readonly compactions: number;
  /** How often notes were taken, and the part of `cost` that this is. */
  readonly notesTaken: number;
  readonly notesCost: number;
  /** Requests that break a rule of the API or do not fit the window. */
  readonly refused: number;
  /** Results that were needed again when they were cleared. */
  readonly refetched: number;
  /** The round at which the policy could send nothing that fits; absent where it came through. */
  readonly failedAt?: number;
  readonly thinkingTokensLeftOut: number;
  /** What the recording's own usage costs at the same prices; absent where it has none. */
  readonly recordedCost?: number;
  /** By round: tokens of the request. For plots. */
  readonly contextByRound: readonly number[];
}

/** `5m` and `1h`: everything is written with that lifetime. `auto`: the policy chooses for each request. */
export const priceNames = ["5m", "1h", "auto"] as const;
export type PriceName = (typeof priceNames)[number];

/** `free`: results that are needed again cost nothing, and no rule reckons with it. */
export const refetchNames = ["charged", "free"] as const;
export type RefetchName = (typeof refetchNames)[number];

/** `marked`: read is what an earlier request wrote at a mark. `prefix`: whatever a request shares with the one before it. */
export const cacheNames = ["marked", "prefix"] as const;
export type CacheName = (typeof cacheNames)[number];

/** `stand-in`: of a fixed size. `extract`: what the engine writes from the facts of the session where no model summarises. */
export const compactionNames = ["stand-in", "extract"] as const;
export type CompactionName = (typeof compactionNames)[number];

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
