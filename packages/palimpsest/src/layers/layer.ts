import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { SessionId, ToolUseId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Model } from "../schema/model.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";
import type { Policy } from "./policy.ts";
import type { PipelineState } from "./pipeline-state.ts";
import type { ServerUse } from "./server/server-use.ts";

/**
 * Something that may change the view before a request. The runner knows no layer by its name: whatever is special about one
 * is in its own folder.
 */
export interface Layer {
  /** In receipts and events, and for the runner: each layer acts at most once before a request. */
  readonly name: string;
  /** By which it is turned off; `propose` asks for them. */
  readonly switches: readonly SwitchName[];
  /** What a policy says of it, as the presets' table shows it; undefined: the policy has no such layer. Absent: the table tells it itself. */
  readonly inPolicy?: (policy: Policy) => PolicyLine | undefined;
  /** `all`: what it does stands for everything that another layer could do. Where the price decides, it is asked first. */
  readonly replaces?: "all";
  /** Pure. Undefined: it has nothing to propose now. */
  propose(state: PipelineState): Candidate | undefined;
  /** The same, before any layer proposes and whatever is switched off: what an earlier edit of its own has to be replaced by now. */
  mend?(state: PipelineState): Candidate | undefined;
  /** Before any layer is asked: what it has to take back because the server or its cache is not what it was. */
  settle?(host: SettleHost): SettleRun;
  /** What of it the server does. */
  readonly server?: ServerUse;
}

interface PolicyLine {
  readonly name: string;
  readonly value: string;
}

/** What a layer would do to the view, and what that costs. In tokens of the context as it is counted. */
export type Candidate = CandidateFigures &
  (
    | { readonly edit: ViewEdit }
    /** Something has to be saved or asked before an edit can be made. */
    | {
        /** That leave the view; none where it is not known yet. */
        readonly results: readonly ToolUseId[];
        readonly run: (host: LayerHost) => LayerRun;
      }
  );

export interface CandidateFigures {
  readonly layer: string;
  readonly removesTokens: number;
  /** What survives behind the first change and has to be written again; 0 where the cache is cold or is edited itself. */
  readonly behindTokens: number;
  /** In input tokens, for comparison with others; absent: nobody knows. 0: it is paid for already. */
  readonly cost?: number;
  /** For receipts: the arithmetic in words, one line. */
  readonly because: string;
}

/** An edit of the view, and how its receipt and its event speak of it. */
export interface ViewEdit {
  readonly draft: Draft;
  /** The event's name for it. */
  readonly what: string;
  /** Results or entries that it takes away. */
  readonly count: number;
  readonly nature: "reduced" | "summarised";
  /** Of the receipt; absent: the layer's name. */
  readonly cause?: string;
  /**
   * How much of what is shown stands before the first change, by the inventory's count. Absent: nobody knows, and nothing
   * that was shown is taken to be readable. `none`: every message stays as it was sent.
   */
  readonly cut?: number | "none";
  /** By so much requests would be larger if nothing had ever been cleared; absent: such rules do not count it. */
  readonly clearedTokens?: number;
  /** Where it is known better than when the edit was proposed. */
  readonly behindTokens?: number;
  /** The cache of what stands behind the first change; absent: as the whole cache is. */
  readonly cache?: "warm" | "cold";
}

/** What a layer may do to a conversation, and what it may know besides the state by which it proposed. For one candidate. */
export interface LayerHost extends BlobsDep {
  readonly state: PipelineState;
  readonly session: SessionId;
  /** Live. */
  readonly fold: Fold;
  /** The tool by which the model reads files. */
  readonly readingTool: string | undefined;
  /** Undefined where the model is not known. */
  readonly thinking: Model["thinking"] | undefined;
  /** Appends it with its receipt and tells of it. */
  edit(edit: ViewEdit): LayerRun;
  compact(ask: CompactRequest): LayerRun;
}

/** What a layer may know and do before layers propose. */
export interface SettleHost extends Pick<PipelineState, "offers" | "withheld"> {
  /** `lost`: the last request did not find what should have been there, and has written everything again. */
  readonly cache: "warm" | "cold" | "lost";
  /** Appends an edit that leaves every message as it was sent, and tells of it. Must not fail for a disk that refuses. */
  edit(edit: Pick<ViewEdit, "draft"> & { readonly cause: string; readonly because: string }): SettleRun;
}

export type SettleRun = AsyncGenerator<LoopEvent, void>;

export interface CompactRequest {
  readonly cause: "limit" | "threshold" | "price";
  readonly because: string;
}

export type LayerRun = AsyncGenerator<LoopEvent, LayerOutcome>;

export type LayerOutcome =
  | { readonly kind: "edited"; readonly event: ClearedEvent }
  /** The view was compacted, or that came to nothing and was told. */
  | { readonly kind: "compacted" }
  /** It comes later, by itself, and there is room until then: whatever else were done would be done for nothing. */
  | { readonly kind: "later" }
  /** It does not pay after all. */
  | { readonly kind: "nothing" }
  | WriteFailure;

export type ClearedEvent = Extract<LoopEvent, { kind: "cleared" }>;
