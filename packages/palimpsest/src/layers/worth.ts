import type { PipelineState } from "./pipeline-state.ts";

interface EnoughRoomInput {
  readonly state: Pick<PipelineState, "policy" | "thresholds">;
  readonly isCold: boolean;
}

/** Whether an edit below the threshold makes the room that the policy asks for; true if it asks for none. */
export function makesEnoughRoom(removesTokens: number, { state, isCold }: EnoughRoomInput): boolean {
  const worth = state.policy.clear.byPrice?.worth;
  if (worth === undefined) return true;
  return removesTokens >= worth.windowShareMin[isCold ? "cold" : "warm"] * state.thresholds.window;
}
