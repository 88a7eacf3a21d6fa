import type { EntryId, MessageId, Millis, NanoUsd, Tokens, ToolUseId } from "./brand.ts";
import type { CompactionCause, CompactionFailure, CompactionPath, CompactionTrigger } from "./compaction-cause.ts";
import type { LeftOutPart } from "./edit.ts";
import type { JsonObject } from "./json.ts";
import type { ReceiptPrice } from "./receipt.ts";
import type { Usage } from "./usage.ts";

/** What a turn tells while it runs. Command line, gateway, library and tests read the same stream. */
export type LoopEvent =
  | { readonly kind: "turn-start"; readonly session: string; readonly model: string }
  | { readonly kind: "request-start"; readonly number: number; readonly tokens: Tokens }
  /** The first byte of the reply is here. */
  | { readonly kind: "reply-start"; readonly id: MessageId }
  | { readonly kind: "text-delta"; readonly text: string }
  | { readonly kind: "thinking-delta"; readonly text: string }
  | {
      readonly kind: "reply-end";
      readonly id: MessageId;
      readonly stopReason: string;
      readonly usage: Usage | undefined;
    }
  /** The reply so far does not count: it is asked for again. */
  | { readonly kind: "retry-start"; readonly attempt: number; readonly afterMs: Millis; readonly message: string }
  | { readonly kind: "call-start"; readonly id: ToolUseId; readonly tool: string; readonly input: JsonObject }
  | {
      readonly kind: "call-end";
      readonly id: ToolUseId;
      readonly tool: string;
      readonly outcome: "done" | "failed" | "denied" | "interrupted";
      readonly summary: string;
    }
  /** A person is asked whether a call may run; `suggestedRules`: what would allow it for good. */
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
      /** That count from now on. */
      readonly rules?: readonly string[];
    }
  | { readonly kind: "edit"; readonly what: string; readonly entries: readonly EntryId[] }
  /** A layer took something out of the view, before a request. */
  | {
      readonly kind: "cleared";
      /** By which kind of edit: `clear`, `collapse` and so on. */
      readonly what: string;
      /** Results, or entries where whole rounds go. */
      readonly count: number;
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      readonly tokensSaved: Tokens;
      /** The layer whose rule it was. */
      readonly trigger: string;
      readonly because: string;
      readonly entries: readonly EntryId[];
      readonly price: ReceiptPrice;
    }
  /** The provider refused a request: from now on requests are sent without a part of what was said. */
  | {
      readonly kind: "left-out";
      readonly part: LeftOutPart;
      /** Entries that held it; in a fork, messages. */
      readonly count: number;
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      readonly because: string;
      /** The edit, by which it is taken back. */
      readonly entries: readonly EntryId[];
      /** Absent in a fork, which writes nothing down. */
      readonly price?: ReceiptPrice;
    }
  /** The server left something out of what it was sent. */
  | { readonly kind: "server-cleared"; readonly tokens: Tokens; readonly what: readonly string[] }
  /** Nothing that may be cleared brings the context below its limit. Told once, until it is below again. */
  | {
      readonly kind: "no-headroom";
      readonly tokens: Tokens;
      readonly limit: Tokens;
      /** Largest first. */
      readonly largest: readonly { readonly what: string; readonly tokens: Tokens }[];
      /** Why no compaction makes room, in a line; absent where none is wanted by itself. */
      readonly because?: string;
    }
  | {
      readonly kind: "compaction-start";
      readonly trigger: CompactionTrigger;
      readonly cause: CompactionCause;
      readonly tokens: Tokens;
      readonly because?: string;
    }
  /** Told while the summary comes, and at least twice a minute while nothing does. */
  | { readonly kind: "compaction-progress"; readonly phase: CompactionPhase; readonly chars: number }
  /** A summary stands for what was said. */
  | {
      readonly kind: "compacted";
      readonly trigger: CompactionTrigger;
      readonly cause: CompactionCause;
      readonly path: CompactionPath;
      /** Its summary was prepared beside the conversation: nobody waited for it. */
      readonly made?: "ahead";
      /** Of the whole context, header included. */
      readonly tokensBefore: Tokens;
      readonly tokensAfter: Tokens;
      /** 0 to 1, before the repair. */
      readonly auditScore: number;
      readonly entries: readonly EntryId[];
      readonly price: ReceiptPrice;
      /** Of the calls for the summary; absent where the model has no known price. */
      readonly costNanos?: NanoUsd;
      /** Why no model wrote it, for a person; only of `extractive`. */
      readonly instead?: string;
    }
  /** The view is as it was. `degraded`: no model is asked for summaries for the time being. */
  | {
      readonly kind: "compaction-failed";
      readonly trigger: CompactionTrigger;
      readonly reason: CompactionFailure;
      readonly message: string;
      readonly state: "trying" | "degraded";
    }
  /** A summary is made beside the conversation, before it is due. Told as soon as a turn runs. */
  | {
      readonly kind: "preparation";
      readonly state: "preparing" | "ready" | "dropped";
      /** Why it is of no use any more; absent where it was not wanted. */
      readonly because?: string;
    }
  | { readonly kind: "message-queued"; readonly text: string }
  | { readonly kind: "cache-break"; readonly cause: string; readonly tokens: Tokens }
  | { readonly kind: "warning"; readonly code: string; readonly message: string }
  | TurnEndEvent;

export type TurnEndEvent = { readonly kind: "turn-end" } & TurnOutcome;

/** Why a write was refused: mostly by the machine. */
export type WriteRefusal = "disk-full" | "read-only" | "lock-lost" | "too-large" | "io";

export type CompactionPhase = "hooks" | "server" | "fork" | "stream" | "extract" | "restore";

/** How a turn ended. Without an answer it says why, and what can be done about it. */
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
      /** Why the transcript could not be written, where the turn failed by that. */
      readonly unwritten?: WriteRefusal;
    };

/** `refused`: by the model. `over-limit`: no request fits. */
type UnansweredReason = "failed" | "refused" | "cut-short" | "over-limit" | "turn-limit" | "blocked-by-hook";

/** `answered`: the reply had no call. */
export type TurnEndReason = TurnOutcome["reason"];

/** What a user can do about a turn that ended without an answer. How it is said depends on where they read it. */
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

/** One at least: a message that names none leaves its reader alone. */
export type Remedies = readonly [Remedy, ...Remedy[]];
