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
import type { Receipt, ReceiptFigures } from "../../schema/receipt.ts";
import type { ServerSummary } from "../../schema/block.ts";

/** The request for one compaction. */
export interface CompactionRequest {
  readonly trigger: CompactionTrigger;
  readonly cause: CompactionCause;
  readonly part: CompactionRange;
  /** The user's instructions. */
  readonly instructions?: string;
  /** What the agent wants to find after the compaction, in its own words. */
  readonly note?: string;
  /** The user's own summary in place of a model's. */
  readonly summary?: string;
  /** The text that the user edited, if this program wrote it without a model: its lines pass the gate unchanged. */
  readonly over?: string | undefined;
  /** For the user and the receipt: the reason in one sentence. */
  readonly because?: string;
  /** For the receipt: the arithmetic behind the reason. */
  readonly figures?: ReceiptFigures | undefined;
  /** `ahead`: made in the background, before it is due. Absent: made while the conversation waits. */
  readonly made?: "ahead";
  /** `nobody`: there is no time to call a model. */
  readonly summariser?: "nobody";
}

/** A summary that waits for its commit. Nothing of it is in the log. */
export interface Proposal {
  readonly ask: CompactionRequest;
  /** The text that the user may edit: without the ledger, and without what the audit carries forward. */
  readonly summary: string;
  readonly path: CompactionPath;
  /** Answered calls for it, including those whose answer was rejected. */
  readonly calls: readonly CompactionCall[];
  /** What the gate changed, and why notes were not used, one line each. */
  readonly changes: readonly string[];
  /** Oldest rounds that did not fit the summariser's window; absent if there are none. */
  readonly unseenRounds?: number;
  /** For `notes`: the last entry that they cover; what follows stays. By default the part decides. */
  readonly coversUntil?: EntryId | undefined;
  /** Only for `extractive`: why no model wrote it. */
  readonly instead?: CompactionProblem;
  /** The provider's own block, if the provider wrote the summary; dropped if the user edits it. */
  readonly server?: ServerSummary;
  /** The newest entry that it covers or keeps; later entries stay after it. */
  readonly leaf: EntryId | null;
  /** How long it took to make. */
  readonly tookMillis: number;
  readonly preview: CompactionPreview;
}

/** The summary, if no model wrote it: lines that the user leaves unchanged pass the gate. */
export const ownText = ({ path, summary }: Pick<Proposal, "path" | "summary">): string | undefined =>
  path === "extractive" ? summary : undefined;

export interface CompactionProblem {
  readonly reason: CompactionFailure;
  /** One line for the user. */
  readonly message: string;
}

/** What a commit would do, computed when the summary was made. */
export interface CompactionPreview {
  readonly receipt: Receipt;
  /** Size of the whole context, header included. */
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  readonly audit: Audit;
  /** Number of user messages by how they are shown after it. */
  readonly userMessages: Readonly<Record<string, number>>;
  /** Names of the restored parts. */
  readonly restored: readonly string[];
  readonly pinsWarning?: string;
  readonly money?: CompactionMoney;
}

/** At the model's prices. */
export interface CompactionMoney {
  /** Already paid for the summary. */
  readonly callsNanos: NanoUsd;
  /** A round's prompt from a warm cache, before and after. */
  readonly roundBeforeNanos: NanoUsd;
  readonly roundAfterNanos: NanoUsd;
  /** Rounds after which it has paid off, including the calls; absent if it never does. */
  readonly breakEvenRounds?: number;
}

export type ProposeOutcome =
  | { readonly kind: "proposed"; readonly proposal: Proposal }
  /** `costNanos`: paid for a summary that is not used; absent if nothing was paid or the price is not known. */
  | ({ readonly kind: "failed"; readonly costNanos?: NanoUsd } & CompactionProblem);

export type CommitOutcome =
  | {
      readonly kind: "committed";
      /** The boundary, the summary and the restored attachments, in this order. */
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
