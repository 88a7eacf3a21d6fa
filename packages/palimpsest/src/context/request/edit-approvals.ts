import type { Candidate } from "../../layers/layer.ts";
import type { PipelineState } from "../../layers/pipeline-state.ts";
import { nanoUsd, tokens } from "../../schema/brand.ts";
import type { PlannedEdit } from "../../schema/loop-event.ts";
import { announcedUsdMin, approvalRounds } from "../limits.ts";

/** `not-now`: the view stays as it is, and the same edit is not proposed for some rounds. */
export type EditApproval = "yes" | "not-now";

export interface EditApprovalDep {
  /**
   * Asked before each edit that is made only because it pays, and costs something now. Absent: nothing is asked, and every such
   * edit is made. Must not reject. The request waits for the answer.
   */
  readonly approveEdit?: ((edit: PlannedEdit, signal: AbortSignal) => Promise<EditApproval>) | undefined;
}

/** Undefined if the edit has to be made: room is needed, or it mends an earlier one. */
export function planEdit(candidate: Candidate, { moment, thresholds }: PipelineState): PlannedEdit | undefined {
  const { unforcedCost, layer, because, removesTokens } = candidate;
  // Over the threshold something has to be removed: what pays most is then also what is needed.
  if (unforcedCost === undefined || moment.contextTokens >= thresholds.compact) return undefined;
  const usd = moment.inputTokenUsd === undefined ? undefined : unforcedCost * moment.inputTokenUsd;
  return {
    trigger: layer,
    because,
    tokensSaved: tokens(Math.round(removesTokens)),
    ...(usd === undefined ? {} : { costNanos: nanoUsd(Math.round(usd * 1e9)) }),
  };
}

/** Whether the edit costs so much that it is announced before it happens. Never without a known price. */
export const isAnnounced = ({ costNanos }: PlannedEdit): boolean =>
  costNanos !== undefined && costNanos >= announcedUsdMin * 1e9;

/**
 * What was decided about edits that are made because they pay, by layer:
 *
 *   open → approved    until the edit is made: a summary may be prepared for some rounds before it is installed
 *   open → declined    until the context has to be reduced anyway
 *
 * Either ends after `approvalRounds` rounds, and for good when the view is rebuilt with fewer rounds than it had at the
 * decision: after a compaction, an undo or a rewind.
 */
export class EditApprovals {
  readonly #decisionByLayer = new Map<string, { readonly approval: EditApproval; readonly round: number }>();

  /** Undefined if nothing is decided, or not any more. */
  find(layer: string, round: number): EditApproval | undefined {
    this.forgetOutdated(round);
    return this.#decisionByLayer.get(layer)?.approval;
  }

  /** Must be called before each request: a rebuilt view reaches the round of an old decision again some requests later. */
  forgetOutdated(round: number): void {
    for (const [layer, decision] of this.#decisionByLayer)
      if (round < decision.round || round >= decision.round + approvalRounds) this.#decisionByLayer.delete(layer);
  }

  decide(layer: string, decision: { readonly approval: EditApproval; readonly round: number }): void {
    this.#decisionByLayer.set(layer, decision);
  }

  /** Called when the layer has made its edit. */
  done(layer: string): void {
    this.#decisionByLayer.delete(layer);
  }
}
