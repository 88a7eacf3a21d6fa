import type { PriceRule } from "../cache/clear-price.ts";
import type { BreakpointStrategy } from "../cache/breakpoint.ts";
import type { ThresholdRule } from "../tokens/thresholds.ts";

/**
 * A policy is data: which layers run, with which numbers, and how one is chosen. Absent: the system has no such layer.
 * The same engine runs all of them.
 */
export interface Policy {
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  /** `first`: the layers in their order, each acts where its rule says so. `price`: what pays most, within the thresholds. */
  readonly chooses: "first" | "price";
  readonly counting: Counting;
  readonly thresholds: ThresholdRule;
  readonly offload?: OffloadRule;
  readonly clear: {
    readonly bySize?: SizeRule;
    readonly byIdleness?: IdleRule;
    readonly inCache?: InCacheRule;
    readonly byServer?: ServerClearRule;
    readonly byPrice?: PriceRule;
  };
  /** Whole rounds leave the view, the oldest first, as soon as the context is over this. */
  readonly truncate?: { readonly overTokens: number };
  readonly snip: "on" | "off";
  readonly collapse: "on" | "off";
  readonly notes: "on" | "off";
  readonly extraction: "on" | "off";
  readonly dream: "on" | "off";
  readonly compact?: CompactRule;
  /** What becomes of a compaction's call, its text and what it leaves; absent: nothing compacts, or nobody asks. */
  readonly summary?: SummaryRule;
  /** Numbers of what runs beside the conversation; whether it runs say `notes`, `extraction` and `dream`. */
  readonly background?: BackgroundRule;
  readonly marks: BreakpointStrategy;
}

/** How the size of the context is known. */
export type Counting =
  /** What the provider counted last, nothing before that; budgets at four characters a token. */
  | "usage"
  /** The same, and four characters a token where the provider has counted nothing. */
  | "usage-and-quarter-characters"
  /** Input, cache reads and output; what was written to the cache is left out. */
  | "usage-without-writes"
  /** What came since is estimated, by a third more than it is taken to be. */
  | "usage-and-padded-estimate"
  | "usage-and-calibrated-estimate";

export interface OffloadRule {
  /** Of a tool that has no limit of its own. */
  readonly resultCharsMax: number;
  /** Whatever a tool says of itself. */
  readonly hardCharsMax: number;
  readonly toolsOwn: "counts" | "ignored";
  readonly roundCharsMax?: number;
  readonly preview: { readonly of: "characters" | "bytes"; readonly length: number };
}

/** Oldest first, until what is left is small enough; not at all if that saves too little. */
export interface SizeRule {
  /** `turn`: only before the first request of a turn, which is after the turn before. */
  readonly when: "request" | "turn";
  /** Only while the context is over this. `sent`: of what was ever said, as if nothing had been cleared. */
  readonly above?: { readonly tokens: number | "warning"; readonly of: "shown" | "sent" };
  readonly keepResults: number;
  /** Results of the newest turns are neither cleared nor counted. */
  readonly keepTurns: number;
  readonly downToTokens: number;
  readonly savesTokensMin: number;
  /** Rounds between two clearings at least. */
  readonly everyRounds?: number;
  readonly marker: "plain" | "named";
}

export interface IdleRule {
  /** `cache`: as soon as the cache is cold. */
  readonly after: { readonly minutes: number } | "cache";
  readonly keepResults: number;
}

/** If the server offers it. */
interface InCacheRule {
  /** Nothing is deleted while fewer results are resident. */
  readonly fromResults: number;
  readonly keepResults: number;
}

export interface ServerClearRule {
  readonly triggerTokens: number;
  readonly clearTokensMin?: number;
  readonly keepResults?: number;
  readonly thinking: "asked" | "left";
  /** How a replay reckons with it, which has no server that clears. */
  readonly modelledBy: SizeRule;
}

export interface CompactRule {
  /** How the summary is asked for: `fork` reads the cached prefix, `plain` sends everything anew. */
  readonly call: "fork" | "plain";
  /** Compacts before the threshold when the rent on what it would remove reaches so many times its price. */
  readonly patience?: number;
  /** What a summary is taken to lose, in input tokens: part of the price. */
  readonly lossCost?: number;
  readonly restores: "nothing" | "files";
  /** Nothing is left where the model fails: `extract` still yields a summary. */
  readonly lastRung: "none" | "extract";
}

export interface SummaryRule {
  /** `plain`: under a system prompt of its own; `last-block`: as the last block of the conversation, which is marked. */
  readonly asks: "plain" | "last-block" | "fork-then-plain";
  readonly form: "nine-sections" | "prose";
  /** The model's own thoughts before the summary. */
  readonly analysis: "none" | "kept" | "stripped";
  readonly transcriptPath: "told" | "untold";
  /** `audited`: what is missing from the summary is added to it. */
  readonly check: "none" | "audited";
  /** `ahead`: prepared between the warning and the threshold. */
  readonly made: "when-due" | "ahead";
  readonly restored: RestoredRule;
  readonly failures: FailureRule;
  /** After a second compaction. Absent: only what the summary before it said of them. */
  readonly userMessages?: { readonly messageTokensMax: number; readonly windowShareMax: number };
}

interface RestoredRule {
  readonly files?: BudgetRule & { readonly filesMax: number };
  readonly skills?: BudgetRule;
  readonly others: readonly ("todos" | "plan" | "agents" | "tools" | "mcp")[];
  readonly order: "as-listed" | "stable-first";
}

interface BudgetRule {
  readonly tokensMaxEach: number;
  readonly tokensMax: number;
}

interface FailureRule {
  /** After so many in a row nothing is tried any more; absent: every failure is logged, and the next request tries again. */
  readonly breakerFailures?: number;
  /** With less input, where the summary's own request is too long. */
  readonly retriesMax: number;
  /** After an answer that the request was too long. */
  readonly reactive: "never" | "once";
}

export interface BackgroundRule {
  readonly notes?: {
    readonly firstTokens: number;
    readonly growthTokens: number;
    readonly callsMin: number;
  };
  readonly extraction?: { readonly turnsMax: number };
  readonly dream?: { readonly hoursMin: number; readonly sessionsMin: number };
  readonly recall?: {
    readonly filesMax: number;
    readonly scannedMax: number;
    readonly linesMax: number;
    readonly fileKbMax: number;
    readonly sessionKbMax: number;
  };
}
