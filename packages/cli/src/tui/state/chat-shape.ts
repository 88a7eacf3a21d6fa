import type { Millis, NanoUsd, Tokens } from "palimpsest/internal/schema/brand";
import type { CompactionCause } from "palimpsest/internal/schema/compaction";
import type { CompactionPhase } from "palimpsest/internal/schema/event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import type { ChatItem, ItemId } from "./chat-item.ts";
import type { Folds } from "./folds.ts";
import type { Growing } from "./growing.ts";

/** Everything a chat shows, as a value. */
export interface ChatState {
  /** Never changes, only grows. */
  readonly done: Growing<ChatItem>;
  /** Behind them, in order: the first one may still change. At most those of one reply and the calls it made. */
  readonly open: readonly ChatItem[];
  readonly nextId: ItemId;
  /** The first item that no boundary covers. */
  readonly coveredTo: ItemId;
  readonly turn: "running" | "none";
  readonly phase: Phase;
  /** The tool whose question a person looks at. It may be asked before the event comes that its call has begun. */
  readonly asks: string | undefined;
  /** Typed meanwhile, not handed over yet; oldest first. */
  readonly queue: readonly string[];
  readonly folds: Folds;
  readonly status: Status;
}

/** What the spinner says. */
export type Phase =
  | { readonly kind: "idle" }
  /** The agent comes up: nothing is known of it yet, and nothing can be interrupted. */
  | { readonly kind: "opening" }
  | { readonly kind: "requesting"; readonly tokens?: Tokens }
  | { readonly kind: "waiting"; readonly attempt: number; readonly until: Millis }
  | { readonly kind: "thinking" }
  | { readonly kind: "responding" }
  /** Calls that run now, in order. */
  | { readonly kind: "calling"; readonly tools: readonly string[] }
  /** A person is to decide about a call of this tool. */
  | { readonly kind: "asking"; readonly tool: string }
  | {
      readonly kind: "compacting";
      readonly cause: CompactionCause;
      readonly phase: CompactionPhase | undefined;
      /** Of the summary, as far as it has come. */
      readonly chars: number;
    }
  | { readonly kind: "interrupting" };

/** Whether something goes on that a person can end. */
export const isAtWork = ({ kind }: Phase): boolean => kind !== "idle" && kind !== "opening";

export interface Status extends Figures {
  readonly background: Background;
}

/** What only the agent knows. It is asked behind each event, so that no sum is kept twice. */
export interface Figures {
  readonly model: string;
  /** Events tell it too. */
  readonly usedTokens: Tokens;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  /** 0 to 1. */
  readonly hitRate: number;
  readonly costNanos: NanoUsd;
  /** Requests whose model has no known price: their cost is missing in `costNanos`. */
  readonly unpricedRequests: number;
  /** Of permissions: `default` where nothing is said about it. */
  readonly mode: string;
  /** Whether the operating system holds the commands that the agent runs. */
  readonly sandbox: "held" | "none";
}

/** What runs beside the conversation. */
export interface Background {
  readonly notes: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
  readonly jobs: number;
  readonly agents: number;
}
