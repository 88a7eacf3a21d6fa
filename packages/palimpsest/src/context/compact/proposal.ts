import type { Audit } from "../../layers/4-compact/audit.ts";
import type { EntryId, NanoUsd, Tokens } from "../../schema/brand.ts";
import type {
  CompactionCall,
  CompactionCause,
  CompactionFailure,
  CompactionRange,
  CompactionPath,
  CompactionTrigger,
} from "../../schema/compaction-cause.ts";
import type { Receipt } from "../../schema/receipt.ts";
import type { ServerSummary } from "../../schema/block.ts";

/** What is asked of one compaction. */
export interface CompactionRequest {
  readonly trigger: CompactionTrigger;
  readonly cause: CompactionCause;
  readonly part: CompactionRange;
  /** The person's. */
  readonly instructions?: string;
  /** What the agent wants to find again behind it, in its own words. */
  readonly note?: string;
  /** In place of a model's: a summary that a person has written. */
  readonly summary?: string;
  /** What they changed for it, where this program wrote that without a model: its lines pass as they are. */
  readonly over?: string | undefined;
  /** For receipts: the arithmetic in words, one line. */
  readonly because?: string;
  /** Beside the conversation, before it is due; absent: while it waits. */
  readonly made?: "ahead";
  /** `nobody`: there is no time to ask a model. Absent: whoever can. */
  readonly summariser?: "nobody";
}

/** A summary that waits for its commit. Nothing of it is in the log. */
export interface Proposal {
  readonly ask: CompactionRequest;
  /** As a person may edit it: without the ledger, and without what the audit carries forward. */
  readonly summary: string;
  readonly path: CompactionPath;
  /** Calls for it that were answered, also those whose answer was refused. */
  readonly calls: readonly CompactionCall[];
  /** What the gate changed, and why notes were not used, a line each. */
  readonly changes: readonly string[];
  /** Oldest rounds that the summariser did not see, for want of room; absent: none. */
  readonly unseenRounds?: number;
  /** Of `notes`: the last entry that they stand for; what follows stays. Absent: the part says it. */
  readonly coversUntil?: EntryId | undefined;
  /** Why no model wrote it; only of `extractive`. */
  readonly instead?: CompactionProblem;
  /** The provider's own block, where the provider wrote it; a person's edit does without. */
  readonly server?: ServerSummary;
  /** The newest entry that it covers, or keeps; what comes later stays behind it. */
  readonly leaf: EntryId | null;
  /** How long it took to make. */
  readonly tookMillis: number;
  readonly preview: CompactionPreview;
}

/** Its summary, where no model wrote it: a person's changes to it leave the rest as it is. */
export const ownText = ({ path, summary }: Pick<Proposal, "path" | "summary">): string | undefined =>
  path === "extractive" ? summary : undefined;

export interface CompactionProblem {
  readonly reason: CompactionFailure;
  /** One line for a person. */
  readonly message: string;
}

/** What a commit would do, as reckoned when the summary came. */
export interface CompactionPreview {
  readonly receipt: Receipt;
  /** Of the whole context, header included. */
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  readonly audit: Audit;
  /** What a message of a person looks like behind it: how many, by how they are shown. */
  readonly userMessages: Readonly<Record<string, number>>;
  /** Names of what is put back. */
  readonly restored: readonly string[];
  readonly pinsWarning?: string;
  readonly money?: CompactionMoney;
}

/** At the model's prices. */
export interface CompactionMoney {
  /** Paid for the summary already. */
  readonly callsNanos: NanoUsd;
  /** A round's prompt from a warm cache, before and after. */
  readonly roundBeforeNanos: NanoUsd;
  readonly roundAfterNanos: NanoUsd;
  /** After which it has paid for itself, the calls included; absent where it never does. */
  readonly breakEvenRounds?: number;
}

export type ProposeOutcome =
  | { readonly kind: "proposed"; readonly proposal: Proposal }
  /** `costNanos`: paid for a summary that is not used; absent where nothing was, or nobody knows the price. */
  | ({ readonly kind: "failed"; readonly costNanos?: NanoUsd } & CompactionProblem);

export type CommitOutcome =
  | {
      readonly kind: "committed";
      /** The boundary, the summary and what is put back, in this order. */
      readonly entries: readonly EntryId[];
      readonly receipt: Receipt;
      readonly audit: Audit;
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
    }
  | ({ readonly kind: "failed" } & CompactionProblem);

export type FailedProposal = Extract<ProposeOutcome, { kind: "failed" }>;

export const proposalFailure = (reason: CompactionProblem["reason"], message: string): FailedProposal => ({
  kind: "failed",
  reason,
  message,
});
