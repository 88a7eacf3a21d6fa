import type { CostSource } from "../cache/costs.ts";
import type { Message } from "../schema/block.ts";
import type { JsonObject } from "../schema/json.ts";
import type { PermissionDep } from "./tools.ts";

/** A side conversation that starts from a parent's exact context and leaves the parent as it is. */
export interface Fork {
  /** Must not reject. */
  run(task: ForkTask, signal: AbortSignal): Promise<ForkOutcome>;
}

export interface ForkTask extends PermissionDep {
  /** What the fork is to do: the last block of its first request, and the only one that differs from the parent's. */
  readonly directive: string;
  /** Under which its requests are booked. */
  readonly source: CostSource;
  readonly roundsMax: number;
  /** `skip`: no breakpoint behind the parent's, so that nothing is written that nobody will read. */
  readonly cacheWrite: "skip" | "write";
}

export type ForkOutcome =
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly said: readonly Message[];
      readonly usage: readonly JsonObject[];
    }
  /** `message`: one line for a person. */
  | { readonly kind: "failed"; readonly message: string; readonly usage: readonly JsonObject[] }
  | { readonly kind: "over"; readonly why: "rounds" | "over-limit" | "aborted"; readonly usage: readonly JsonObject[] };
