import type { ExtractionRule } from "./5-extract/plan.ts";
import type { PriceRule } from "../cache/clear-price.ts";
import type { BreakpointStrategy } from "../cache/breakpoint.ts";
import type { ThresholdRule } from "../tokens/thresholds.ts";

/**
 * A policy is data: which layers run, with which numbers, and how one is chosen. An absent rule means that the system
 * has no such layer. The same engine runs all policies.
 */
export interface Policy {
  readonly name: string;
  /** One line for users. */
  readonly about: string;
  /**
   * `first`: the layers in their order, each acts if its rule says so. `price`: what pays most, within the thresholds.
   */
  readonly chooses: "first" | "price";
  readonly counting: CountingMethod;
  readonly thresholds: ThresholdRule;
  readonly offload?: OffloadRule;
  /** Absent: all results of tools that can be run again. */
  readonly clearable?: ClearableRule;
  readonly clear: {
    readonly bySize?: SizeRule;
    readonly byIdleness?: IdleRule;
    readonly inCache?: InCacheRule;
    readonly byServer?: ServerClearRule;
    readonly byPrice?: PriceRule;
  };
  /** Above this, whole rounds leave the view, the oldest first. */
  readonly truncate?: { readonly overTokens: number };
  readonly snip: "on" | "off";
  readonly collapse: "on" | "off";
  readonly notes: "on" | "off";
  readonly extraction: "on" | "off";
  readonly dream: "on" | "off";
  readonly compact?: CompactRule;
  /** How a compaction asks for the summary and what it leaves. Absent if nothing compacts. */
  readonly summary?: SummaryRule;
  /** Numbers for what runs beside the conversation. `notes`, `extraction` and `dream` say whether it runs. */
  readonly background?: BackgroundRule;
  readonly marks: BreakpointStrategy;
}

/** How the size of the context is determined. What is not estimated counts four characters as a token in budgets. */
export type CountingMethod =
  /** What the provider counted last, and nothing before its first count. */
  | "usage"
  /** The same, with four characters a token until the provider has counted. */
  | "usage-and-quarter-characters"
  /** Input, cache reads and output, without cache writes; everything is estimated until the provider has counted. */
  | "usage-without-writes"
  /** What came since the last count is estimated, plus a third. */
  | "usage-and-padded-estimate"
  | "usage-and-calibrated-estimate";

export interface OffloadRule {
  /** The limit for tools that have none of their own. */
  readonly resultCharsMax: number;
  /** The limit whatever a tool's own limit is. */
  readonly hardCharsMax: number;
  readonly toolsOwn: "counts" | "ignored";
  readonly roundCharsMax?: number;
  readonly preview: PreviewRule;
}

export interface PreviewRule {
  readonly of: "characters" | "bytes";
  readonly length: number;
  /** `head`: the beginning. `structure`: the outline of JSON, both ends of command output, else the beginning and a little of the end. */
  readonly shows: "head" | "structure";
}

/** Which results may be cleared. */
interface ClearableRule {
  /** `rerunnable`: those of tools that can be run again. `all-but-skills`: those of all tools but `skill`. */
  readonly tools: "rerunnable" | "all-but-skills";
  /** Results that would save less are never cleared, and do not count as results to keep. */
  readonly tokensMin: number;
}

/** Clears the oldest results first until what is left is small enough, but nothing if that saves too little. */
export interface SizeRule {
  /** `turn`: only before the first request of a turn. */
  readonly when: "request" | "turn";
  /** Only while the context is over this. `sent` counts everything ever said, as if nothing had been cleared. */
  readonly above?: { readonly tokens: number | "warning"; readonly of: "shown" | "sent" };
  readonly keepResults: number;
  /** Results of the newest turns are neither cleared nor counted. */
  readonly keepTurns: number;
  readonly downToTokens: number;
  readonly savesTokensMin: number;
  /** The least number of rounds between two clearings. */
  readonly everyRounds?: number;
  readonly marker: "plain" | "named";
}

export interface IdleRule {
  /** `cache`: as soon as the cache is cold. */
  readonly after: { readonly minutes: number } | "cache";
  readonly keepResults: number;
  readonly marker: "plain" | "named";
}

/** Applies if the server offers it. */
interface InCacheRule {
  /** Nothing is deleted while there are fewer residents. */
  readonly fromResults: number;
  readonly keepResults: number;
}

export interface ServerClearRule {
  readonly triggerTokens: number;
  readonly clearTokensMin?: number;
  readonly keepResults?: number;
  readonly thinking: "asked" | "left";
  /** A replay has no server that clears; it uses this rule instead. */
  readonly modelledBy: SizeRule;
}

export interface CompactRule {
  /** How the summary is requested: `fork` reads the cached prefix, `plain` sends everything again. */
  readonly call: "fork" | "plain";
  /** Compacts before the threshold if that pays. Absent: only at the threshold. */
  readonly early?: EarlyCompactRule;
  /** The assumed cost of what a summary loses, in input tokens. It is part of the price. */
  readonly lossCost?: number;
  /**
   * What has to be free below the threshold after a compaction, at most a tenth of it. Otherwise none is made. Absent: it
   * is made however little room it leaves.
   */
  readonly headroomTokens?: number;
  readonly restores: "nothing" | "files";
  /** What happens if the model fails: `extract` still yields a summary. */
  readonly lastRung: "none" | "extract";
}

export interface EarlyCompactRule {
  /**
   * Due once the rent on what it would remove reaches so many times its price, less what the coming request saves. A
   * session that was compacted before is a long one, and has saved something: it may risk more.
   */
  readonly patience: { readonly first: number; readonly later: number };
  /** Not while the context is below this share of the window. */
  readonly fromWindowShare: number;
  /** `never`: nobody who comes back after a break finds the conversation compacted, if there was room. */
  readonly whenCold: "if-it-pays" | "never";
}

export interface SummaryRule {
  /** `plain`: with its own system prompt. `last-block`: as the last block of the conversation, which is marked. */
  readonly call: "plain" | "last-block" | "fork-then-plain";
  /** `small-fast`: the provider's small fast model, if the registry has one. Absent: the conversation's own. */
  readonly model?: "small-fast";
  readonly form: "nine-sections" | "prose";
  /** What happens to the model's analysis before the summary. */
  readonly analysis: "none" | "kept" | "stripped";
  readonly transcriptPath: "included" | "omitted";
  /** `audited`: what is missing from the summary is added to it. */
  readonly check: "none" | "audited";
  /** `ahead`: prepared between the warning and the threshold. */
  readonly made: "when-due" | "ahead";
  readonly restored: RestoredRule;
  readonly failures: FailureRule;
  /**
   * Limits for user messages kept across a second compaction. Absent: only what the previous summary says about them.
   */
  readonly userMessages?: { readonly messageTokensMax: number; readonly windowShareMax: number };
}

interface RestoredRule {
  readonly files?: BudgetRule & { readonly filesMax: number };
  readonly skills?: BudgetRule;
  readonly others: readonly ("todos" | "plan" | "agents" | "tools" | "mcp")[];
  /** `as-listed`: files, skills, then `others` in their order. `stable-first`: what changes least comes first. */
  readonly order: "as-listed" | "stable-first";
}

interface BudgetRule {
  readonly tokensMaxEach: number;
  readonly tokensMax: number;
}

export interface FailureRule {
  /**
   * After so many failures in a row nothing is tried any more. Absent: every failure is logged, and the next request
   * tries again.
   */
  readonly breakerFailures?: number;
  /** Rounds after which one summary is tried again. Absent: none is tried any more. */
  readonly breakerRestRounds?: number;
  /** At most this many calls for automatic summaries in the newest `inRounds` rounds, at most 30. Absent: no limit. */
  readonly callsMax?: { readonly calls: number; readonly inRounds: number };
  /** Retries with less input if the summary's own request is too long. */
  readonly retriesMax: number;
  /** Whether to compact after an answer that the request was too long. */
  readonly reactive: "never" | "once";
}

export interface BackgroundRule {
  readonly notes?: {
    readonly firstTokens: number;
    readonly growthTokens: number;
    readonly callsMin: number;
  };
  readonly extraction?: ExtractionRule;
  readonly dream?: { readonly hoursMin: number; readonly sessionsMin: number };
  readonly recall?: {
    readonly filesMax: number;
    readonly scannedMax: number;
    readonly linesMax: number;
    readonly fileKbMax: number;
    readonly sessionKbMax: number;
  };
}
