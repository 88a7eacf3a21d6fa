import type { Baseline } from "../../cache/baseline.ts";
import { type BreakCause, BreakDetector, type HashDep } from "../../cache/breaks.ts";
import { type Breakpoint, type BreakpointInput, type Lifetimes, planBreakpoints } from "../../cache/breakpoints.ts";
import type { CostLedger, CostSource } from "../../cache/costs.ts";
import { ImageGuard } from "../../layers/1-offload/image-guard.ts";
import { RequestPieces } from "../../cache/pieces.ts";
import { Written } from "../../cache/written.ts";
import type { ReadFiles } from "../../ports/tools.ts";
import type { SessionId } from "../../schema/brand.ts";
import type { Line } from "./line.ts";
import type { UsedIds } from "./used-ids.ts";

/** One line of requests to a model: what it stands on and what it remembers. Travels with the session, never in a module. */
export interface Conversation {
  readonly session: SessionId;
  readonly line: Line;
  readonly baseline: Baseline;
  readonly pieces: RequestPieces;
  readonly written: Written;
  readonly breaks: BreakDetector;
  readonly costs: CostLedger;
  readonly files: ReadFiles;
  readonly ids: UsedIds;
  readonly images: ImageGuard;
  readonly source: CostSource;
  readonly lifetimes: Lifetimes;
  /** Where its requests are marked. */
  readonly mark: (input: BreakpointInput) => readonly Breakpoint[];
}

export interface NewConversation extends Pick<
  Conversation,
  "session" | "line" | "baseline" | "costs" | "files" | "ids" | "lifetimes"
> {
  /** Why its first request can't read what an earlier run of the session left in the cache. */
  readonly moved?: BreakCause | undefined;
}

export const mainConversation = ({ hash }: HashDep, { moved, ...parts }: NewConversation): Conversation => ({
  ...parts,
  pieces: new RequestPieces(),
  written: new Written(),
  images: new ImageGuard(),
  breaks: new BreakDetector({ hash }, moved),
  source: "main",
  mark: planBreakpoints,
});
