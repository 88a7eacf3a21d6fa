import { z } from "zod";

/**
 * The outcome of one policy on one recording. Costs are in tokens at the base input price: one uncached input token costs 1.
 * `inputCost` = read·cacheReadTokens + write·cacheWriteTokens + uncachedTokens, including the calls of compactions and notes.
 */
export interface ReplayOutcome {
  readonly file: string;
  readonly policy: string;
  readonly prices: PriceName;
  /** In tokens. */
  readonly window: number | "none";
  readonly refetch: RefetchName;
  readonly cache: CacheName;
  readonly compaction: CompactionName;
  /** Rounds of the recording. */
  readonly rounds: number;
  /** Requests sent, including those of compactions and notes. */
  readonly calls: number;
  readonly uncachedTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` that was written for an hour. */
  readonly cacheWrite1hTokens: number;
  readonly cacheReadTokens: number;
  /** Only of compactions and notes: other output is the same for all policies. */
  readonly outputTokens: number;
  readonly inputCost: number;
  /** The cost of results that were needed again after they were cleared. */
  readonly refetchCost: number;
  /** `inputCost`, `refetchCost` and the output of compactions and notes at its price. */
  readonly cost: number;
  /** The part of `inputCost` for the fixed header. */
  readonly headerCost: number;
  /** The part of `inputCost` for reading from the cache, and `headerReadCost` is the part of that for reading the header. */
  readonly readCost: number;
  readonly headerReadCost: number;
  /** `cost` plus a charge for every compaction, because summaries lose information. */
  readonly costWithRework: number;
  /**
   * The minimum of `inputCost` plus the output of compactions if the whole session were known in advance, with the same
   * numbers; a result that the policy offloads counts as its preview. Two kinds of policies may cost less: those that clear
   * a result before it is three rounds old, and those that restore nothing after a compaction, so that less is left than
   * the optimum's 11,000 tokens. Null under `auto`, because the optima know one lifetime for the whole session, and choosing
   * one per request may cost less than either; and with `extract`, because they know one size for all summaries.
   */
  readonly optimumClearOnly: number | null;
  readonly optimumFull: number | null;
  readonly peakContext: number;
  /** Edits of the view other than compactions. */
  readonly edits: number;
  readonly compactions: number;
  /** How often notes were taken, and the part of `cost` for them. */
  readonly notesTaken: number;
  readonly notesCost: number;
  /** Requests that violate a rule of the API or do not fit the window. */
  readonly refused: number;
  /** Results that were needed again after they were cleared. */
  readonly refetched: number;
  /** The round in which no request of the policy fit the window; absent if the policy completed the session. */
  readonly failedAt?: number;
  readonly thinkingTokensLeftOut: number;
  /**
   * The cost of the recorded usage. Absent if it can't be compared: if a round has no usage, the client wrote with another
   * lifetime or without paying for it, or it removed something from the context.
   */
  readonly recordedCost?: number;
  /** The part of `recordedCost` for what was written again although it had not expired. No policy is charged for that. */
  readonly recordedLossCost?: number;
  /** The tokens of each round's request, for plots. */
  readonly contextByRound: readonly number[];
}

/** `5m` and `1h`: everything is written with that lifetime. `auto`: the policy chooses for each request. */
export const priceNames = ["5m", "1h", "auto"] as const;
export type PriceName = (typeof priceNames)[number];

/** `free`: results that are needed again cost nothing, and no rule expects a cost. */
export const refetchNames = ["charged", "free"] as const;
export type RefetchName = (typeof refetchNames)[number];

/** `marked`: a request reads what an earlier one wrote at a mark. `prefix`: it reads whatever it shares with the previous one. */
export const cacheNames = ["marked", "prefix"] as const;
export type CacheName = (typeof cacheNames)[number];

/** `stand-in`: summaries of a fixed size. `extract`: the summaries that the engine writes without a model, from the facts of the session. */
export const compactionNames = ["stand-in", "extract"] as const;
export type CompactionName = (typeof compactionNames)[number];

/** The shape of a stored outcome. */
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
  recordedLossCost: z.number().exactOptional(),
  contextByRound: z.array(z.number()),
}) satisfies z.ZodType<ReplayOutcome>;

export const isPriceName = (name: string): name is PriceName => priceNames.some((known) => known === name);
