import type { AgentRun } from "./agent-run.ts";
import type { Bytes, EntryId, MessageId, Millis, NanoUsd, Tokens, ToolUseId } from "./brand.ts";
import type { CompactionCause, CompactionFailure, CompactionPath, CompactionTrigger } from "./compaction-cause.ts";
import type { LeftOutPart } from "./edit.ts";
import type { JsonObject } from "./json.ts";
import type { ReceiptPrice } from "./receipt.ts";
import type { Usage } from "./usage.ts";

/** Events of a running turn. Command line, gateway, library and tests read the same stream. */
export type LoopEvent =
  | { readonly kind: "turn-start"; readonly session: string; readonly model: string }
  | { readonly kind: "request-start"; readonly number: number; readonly tokens: Tokens }
  /** The first byte of the reply has arrived. */
  | { readonly kind: "reply-start"; readonly id: MessageId }
  | { readonly kind: "text-delta"; readonly text: string }
  | { readonly kind: "thinking-delta"; readonly text: string }
  | {
      readonly kind: "reply-end";
      readonly id: MessageId;
      readonly stopReason: string;
      readonly usage: Usage | undefined;
    }
  /** The reply so far is discarded and requested again. */
  | { readonly kind: "retry-start"; readonly attempt: number; readonly afterMs: Millis; readonly message: string }
  | { readonly kind: "call-start"; readonly id: ToolUseId; readonly tool: string; readonly input: JsonObject }
  | {
      readonly kind: "call-end";
      readonly id: ToolUseId;
      readonly tool: string;
      readonly outcome: "done" | "failed" | "denied" | "interrupted";
      readonly summary: string;
    }
  /** The user is asked whether a call may run; `suggestedRules`: the rules that would always allow it. */
  | {
      readonly kind: "permission-start";
      readonly id: ToolUseId;
      readonly tool: string;
      readonly reason: string;
      readonly suggestedRules?: readonly string[];
    }
  | {
      readonly kind: "permission-end";
      readonly id: ToolUseId;
      readonly tool: string;
      readonly answer: "once" | "always" | "denied" | "nobody" | "interrupted";
      /** The rules that apply from now on. */
      readonly rules?: readonly string[];
    }
  | {
      readonly kind: "edit";
      readonly what: string;
      readonly entries: readonly EntryId[];
      /** Only for `offload`. */
      readonly offloaded?: readonly OffloadedResult[];
    }
  /** Emitted before an edit that is made because it pays, not because room is needed, and that is dear. */
  | ({ readonly kind: "edit-planned" } & PlannedEdit)
  /** A layer removed something from the view before a request. */
  | {
      readonly kind: "cleared";
      /** The kind of edit: `clear`, `collapse` and so on. */
      readonly what: string;
      /** Number of results, or of entries if whole rounds are removed. */
      readonly count: number;
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      readonly tokensSaved: Tokens;
      /** The layer that decided it. */
      readonly trigger: string;
      readonly because: string;
      readonly entries: readonly EntryId[];
      readonly price: ReceiptPrice;
    }
  /** The provider refused a request: from now on requests leave out a part of the conversation. */
  | {
      readonly kind: "left-out";
      readonly part: LeftOutPart;
      /** Number of entries that contained the part; in a fork, of messages. */
      readonly count: number;
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      readonly because: string;
      /** The edit that can be undone. */
      readonly entries: readonly EntryId[];
      /** Absent in a fork, which records nothing. */
      readonly price?: ReceiptPrice;
    }
  /** The server left out a part of the request. */
  | { readonly kind: "server-cleared"; readonly tokens: Tokens; readonly what: readonly string[] }
  /**
   * Clearing everything that may be cleared does not bring the context below its limit. Emitted once, until it is below
   * again.
   */
  | {
      readonly kind: "no-headroom";
      readonly tokens: Tokens;
      readonly limit: Tokens;
      /** Largest first. */
      readonly largest: readonly { readonly what: string; readonly tokens: Tokens }[];
      /** Why no compaction makes room, in one line; absent if automatic compaction is off. */
      readonly because?: string;
    }
  | {
      readonly kind: "compaction-start";
      readonly trigger: CompactionTrigger;
      readonly cause: CompactionCause;
      readonly tokens: Tokens;
      readonly because?: string;
    }
  /** Emitted while the summary arrives, and at least twice a minute while nothing arrives. */
  | { readonly kind: "compaction-progress"; readonly phase: CompactionPhase; readonly chars: number }
  /** A summary replaced the conversation so far. */
  | {
      readonly kind: "compacted";
      readonly trigger: CompactionTrigger;
      readonly cause: CompactionCause;
      readonly path: CompactionPath;
      /** The summary was prepared in the background, so the user did not wait for it. */
      readonly made?: "ahead";
      /** Tokens of the whole context, header included. */
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      /** 0 to 1, before the repair. */
      readonly auditScore: number;
      readonly entries: readonly EntryId[];
      readonly price: ReceiptPrice;
      /** Cost of the calls for the summary; absent if the model has no known price. */
      readonly costNanos?: NanoUsd;
      /** The sum of what the provider reported for these calls; absent if there was none. */
      readonly usage?: Usage;
      /** Number of files that the model had read and sees again, whole or in part; absent if there is none. */
      readonly filesRestored?: number;
      /** Only for `extractive`: why no model wrote it, for the user. */
      readonly instead?: string;
    }
  /** The view is unchanged. `degraded`: for the time being no model is asked for summaries. */
  | {
      readonly kind: "compaction-failed";
      readonly trigger: CompactionTrigger;
      readonly reason: CompactionFailure;
      readonly message: string;
      readonly state: "trying" | "degraded";
    }
  /** A summary is prepared in the background, before it is due. Emitted as soon as a turn runs. */
  | {
      readonly kind: "preparation";
      readonly state: "preparing" | "ready" | "dropped";
      /** Why the prepared summary is no longer usable; absent if it was not wanted. */
      readonly because?: string;
    }
  | { readonly kind: "message-queued"; readonly text: string }
  /** An agent has ended that worked in the background, or has left changes in a worktree. */
  | { readonly kind: "agent-ended"; readonly run: AgentRun }
  /** Background work saved or changed memories. Also emitted between turns. */
  | MemoriesSavedEvent
  | { readonly kind: "cache-break"; readonly cause: string; readonly tokens: Tokens }
  | { readonly kind: "warning"; readonly code: string; readonly message: string }
  | TurnEndEvent;

export interface MemoriesSavedEvent {
  readonly kind: "memories-saved";
  readonly by: "extraction" | "dream";
  /** Reverting it takes back all of these changes. */
  readonly revision: string;
  readonly memories: readonly SavedMemory[];
}

/** A result that is shown as a preview. Tokens are estimates. */
export interface OffloadedResult {
  readonly tool: string;
  readonly bytesBefore: Bytes;
  readonly bytesAfter: Bytes;
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
}

export interface SavedMemory {
  readonly path: string;
  readonly name: string;
  /** What it says, in one line; empty if it was deleted. */
  readonly description: string;
  readonly change: "saved" | "deleted";
}

/** An edit that pays, before it is made. */
export interface PlannedEdit {
  /** The layer that wants to make it. */
  readonly trigger: string;
  /** The reason, in one sentence. */
  readonly because: string;
  /** What it keeps out of each request. */
  readonly tokensSaved: Tokens;
  /** What the provider charges for making it now; absent if the model has no known price. */
  readonly costNanos?: NanoUsd;
}

export type TurnEndEvent = { readonly kind: "turn-end" } & TurnOutcome;

/** Why a write was refused, usually by the machine. */
export type WriteRefusal = "disk-full" | "read-only" | "lock-lost" | "too-large" | "io";

export type CompactionPhase = "hooks" | "server" | "fork" | "stream" | "extract" | "restore";

/** How a turn ended. If there is no answer, it says why and what the user can do about it. */
export type TurnOutcome =
  | {
      readonly reason: "answered" | "aborted";
      readonly message?: undefined;
      readonly remedies?: undefined;
      readonly unwritten?: undefined;
    }
  | {
      readonly reason: UnansweredReason;
      readonly message: string;
      readonly remedies: Remedies;
      /** Why the transcript could not be written, if that made the turn fail. */
      readonly unwritten?: WriteRefusal;
    };

/** `refused`: the model refused to answer. `over-limit`: no request fits. */
type UnansweredReason = "failed" | "refused" | "cut-short" | "over-limit" | "turn-limit" | "blocked-by-hook";

/** `answered`: the last reply had no call. */
export type TurnEndReason = TurnOutcome["reason"];

/** What the user can do about a turn that ended without an answer. Each host words it in its own way. */
export type Remedy =
  | "compact"
  | "rewind"
  | "other-model"
  | "smaller-window"
  | "new-session"
  | "open-again"
  | "say-again"
  | "say-less"
  | "go-on"
  | "wait"
  | "check-key"
  | "check-account"
  | "check-address"
  | "check-network"
  | "check-disk"
  | "check-hooks"
  | "check-tools"
  | "check-settings";

/** At least one, so that no error message leaves the user without a next step. */
export type Remedies = readonly [Remedy, ...Remedy[]];
