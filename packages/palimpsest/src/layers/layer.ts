import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { SessionId, ToolUseId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Model } from "../schema/model.ts";
import type { ReceiptFigures } from "../schema/receipt.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";
import type { Policy } from "./policy.ts";
import type { PipelineState } from "./pipeline-state.ts";
import type { ServerUse } from "./server/server-use.ts";

/**
 * Something that may change the view before a request. The runner knows no layer by its name: whatever is special about
 * a layer is in its own folder.
 */
export interface Layer {
  /** Used in receipts and events, and by the runner: each layer acts at most once before a request. */
  readonly name: string;
  /** The switches that turn the layer off; `propose` checks them. */
  readonly switches: readonly SwitchName[];
  /**
   * What a policy says about the layer, for the table of presets. Returns undefined if the policy has no such layer.
   * Absent if the table has its own text for it.
   */
  readonly inPolicy?: (policy: Policy) => PolicyLine | undefined;
  /** `all`: it makes everything that another layer could do unnecessary. If the price decides, it is asked first. */
  readonly replaces?: "all";
  /** Pure. Undefined if there is nothing to propose now. */
  propose(state: PipelineState): Candidate | undefined;
  /**
   * Like `propose`, but before any layer proposes and whatever is switched off: what has to replace an earlier edit of
   * this layer now.
   */
  mend?(state: PipelineState): Candidate | undefined;
  /** Called before any layer is asked. Takes back what no longer holds because the server or its cache has changed. */
  settle?(host: SettleHost): SettleRun;
  /** The part of the layer that the server does. */
  readonly server?: ServerUse;
}

interface PolicyLine {
  readonly name: string;
  readonly value: string;
}

/** What a layer would do to the view, and what that costs, in tokens of the context as it is counted. */
export type Candidate = CandidateFigures &
  (
    | { readonly edit: ViewEdit }
    /** Something has to be saved or asked before an edit can be made. */
    | {
        /** Results that leave the view; empty if they are not known yet. */
        readonly results: readonly ToolUseId[];
        readonly run: (host: LayerHost) => LayerRun;
      }
  );

export interface CandidateFigures {
  readonly layer: string;
  readonly removesTokens: number;
  /** What survives behind the first change and has to be written again. 0 if the cache is cold or is edited itself. */
  readonly behindTokens: number;
  /** In input tokens, for comparison with other candidates. Absent if unknown; 0 if it is paid for already. */
  readonly cost?: number;
  /**
   * What the provider charges now for making it, in input tokens. Only on an edit that is made because it pays: it is
   * announced if it is dear, and the user may decline it. Absent: the edit has to be made, or costs nothing now.
   */
  readonly unforcedCost?: number;
  /** For the user and the receipt: the reason in one sentence (reason.ts). */
  readonly because: string;
  /** For the receipt: the arithmetic behind the reason. */
  readonly figures?: ReceiptFigures;
}

/** An edit of the view, and how its receipt and its event describe it. */
export interface ViewEdit {
  readonly draft: Draft;
  /** Drafts that are appended with it, under the same receipt. */
  readonly others?: readonly Draft[];
  /** The name of the edit in the event. */
  readonly what: string;
  /** The number of results or entries that it takes away. */
  readonly count: number;
  readonly nature: "reduced" | "summarised";
  /** The cause in the receipt. Absent: the layer's name. */
  readonly cause?: string;
  /**
   * Tokens shown before the first change, by the inventory's count. Absent if unknown: then nothing that was shown is
   * assumed to be readable. `none`: every message stays as it was sent.
   */
  readonly cut?: number | "none";
  /**
   * How much larger requests would be if nothing had ever been cleared. Absent: rules that count this ignore the edit.
   */
  readonly clearedTokens?: number;
  /** Present if it is known better than when the edit was proposed. */
  readonly behindTokens?: number;
  /** State of the cache behind the first change. Absent: the same as the whole cache. */
  readonly cache?: "warm" | "cold";
}

/**
 * What a layer may do to a conversation, and what it may know besides the state by which it proposed. Made for one
 * candidate.
 */
export interface LayerHost extends BlobsDep {
  readonly state: PipelineState;
  readonly session: SessionId;
  /** Live. */
  readonly fold: Fold;
  /** Name of the tool with which the model reads files. */
  readonly readingTool: string | undefined;
  /** Undefined if the model is unknown. */
  readonly thinking: Model["thinking"] | undefined;
  /** Appends the edit with its receipt and announces it. */
  edit(edit: ViewEdit): LayerRun;
  compact(ask: CompactRequest): LayerRun;
}

/** What a layer may know and do before layers propose. */
export interface SettleHost extends Pick<PipelineState, "offers" | "withheld"> {
  /** `lost`: the last request did not find what should have been there, and has written everything again. */
  readonly cache: "warm" | "cold" | "lost";
  /** Appends an edit that leaves every message as it was sent, and announces it. Must not fail if the disk refuses. */
  edit(edit: Pick<ViewEdit, "draft"> & { readonly cause: string; readonly because: string }): SettleRun;
}

export type SettleRun = AsyncGenerator<LoopEvent, void>;

export interface CompactRequest {
  readonly cause: "limit" | "threshold" | "price";
  readonly because: string;
  readonly figures?: ReceiptFigures;
}

export type LayerRun = AsyncGenerator<LoopEvent, LayerOutcome>;

export type LayerOutcome =
  | { readonly kind: "edited"; readonly event: ClearedEvent }
  /** The view was compacted, or the attempt failed and that was announced. */
  | { readonly kind: "compacted" }
  /** It will happen later by itself, and there is room until then. Anything else done now would be wasted. */
  | { readonly kind: "later" }
  /** It turned out not to pay. */
  | { readonly kind: "nothing" }
  | WriteFailure;

export type ClearedEvent = Extract<LoopEvent, { kind: "cleared" }>;
