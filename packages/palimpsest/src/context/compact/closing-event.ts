import type { CompactionTrigger } from "../../schema/compaction.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { NumbersDep } from "../deps.ts";
import type { Compacting } from "./compacting.ts";
import type { CompactionProblem } from "./proposal.ts";
import { standingOf } from "./standing.ts";

export interface Closing extends CompactionProblem {
  readonly compacting: Pick<Compacting, "session">;
  readonly trigger: CompactionTrigger;
}

export type ClosingEvent = Extract<LoopEvent, { kind: "compaction-failed" }>;

/** By which whoever was told of its beginning hears that nothing comes of it. */
export function closingEvent({ numbers }: NumbersDep, { compacting, trigger, reason, message }: Closing): ClosingEvent {
  const standing = standingOf(compacting.session.fold, numbers().policy);
  const state = standing.kind === "may-ask" ? "trying" : "degraded";
  return { kind: "compaction-failed", trigger, reason, message, state };
}
