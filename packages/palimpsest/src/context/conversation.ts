import type { Baseline } from "../cache/baseline.ts";
import { type BreakCause, BreakDetector, type HashDep } from "../cache/breaks.ts";
import type { Breakpoint, BreakpointInput, Lifetimes } from "../cache/breakpoints.ts";
import type { CostLedger, CostSource } from "../cache/costs.ts";
import { markedBy, type MarksName } from "../cache/marks.ts";
import { ImageGuard } from "../layers/1-offload/image-guard.ts";
import type { Layer } from "../layers/layer.ts";
import { layers as allLayers } from "../layers/layers.ts";
import { RequestPieces } from "../cache/pieces.ts";
import { Written } from "../cache/written.ts";
import type { ReadFiles } from "../ports/tools.ts";
import type { SessionId } from "../schema/brand.ts";
import type { Model } from "../schema/model.ts";
import type { FixedFigure } from "../tokens/fixed-part.ts";
import type { Compacting } from "./compact/compacting.ts";
import type { Line } from "./line.ts";
import type { ReckonedCache } from "./request/reckoned-cache.ts";
import type { ServerAsks } from "../layers/server/server-use.ts";
import { UsageDoubts } from "./reply/usage-doubts.ts";
import type { UsedIds } from "./reply/used-ids.ts";

/** One line of requests to a model: what it stands on and what it remembers. Travels with the session, never in a module. */
export interface Conversation {
  readonly session: SessionId;
  readonly line: Line;
  readonly baseline: Baseline;
  /** What the provider counted the baseline's prompt and tools to; undefined as long as it has not. */
  readonly countedFixed?: (() => FixedFigure | undefined) | undefined;
  readonly pieces: RequestPieces;
  readonly written: Written;
  readonly breaks: BreakDetector;
  readonly doubts: UsageDoubts;
  readonly costs: CostLedger;
  readonly files: ReadFiles;
  readonly ids: UsedIds;
  readonly images: ImageGuard;
  readonly source: CostSource;
  readonly lifetimes: Lifetimes;
  /** What the registry and the settings know of its model. */
  readonly known: Model | undefined;
  /** What the provider still holds of it; undefined where nothing is ever cleared: in a fork. */
  readonly cache: ReckonedCache | undefined;
  /** What may change its view before a request, in the order in which it is asked. */
  readonly layers: readonly Layer[];
  /** By which it is compacted; undefined where that never happens: in a fork, which would wait for itself. */
  readonly compacting: Compacting | undefined;
  /** A fork's: what its parent asks of the server by rule. */
  readonly inheritedAsks?: ServerAsks | undefined;
  /** Where its requests are marked; the policy's way counts for the main conversation alone. */
  readonly mark: (input: BreakpointInput, way: MarksName) => readonly Breakpoint[];
}

export interface NewConversation extends Pick<
  Conversation,
  "session" | "line" | "baseline" | "countedFixed" | "costs" | "files" | "ids" | "lifetimes"
> {
  readonly known?: Model | undefined;
  readonly cache?: ReckonedCache | undefined;
  readonly compacting?: Compacting | undefined;
  /** Absent: all that there are. */
  readonly layers?: readonly Layer[];
  /** Why its first request can't read what an earlier run of the session left in the cache. */
  readonly moved?: BreakCause | undefined;
}

export const mainConversation = (
  { hash }: HashDep,
  { moved, known, cache, compacting, layers = allLayers, ...parts }: NewConversation,
): Conversation => ({
  ...parts,
  known,
  cache,
  compacting,
  layers,
  pieces: new RequestPieces(),
  written: new Written(),
  images: new ImageGuard(),
  doubts: new UsageDoubts(),
  breaks: new BreakDetector({ hash }, moved),
  source: "main",
  mark: (input, way) => markedBy(way, input),
});
