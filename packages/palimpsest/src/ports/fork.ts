import type { CostSource } from "../cache/cost-ledger.ts";
import type { Message } from "../schema/block.ts";
import type { Millis } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { MessagesReach } from "../transcript/first-messages.ts";
import type { PermissionDep, ReadFile } from "./tool.ts";

/** A side conversation that starts from a parent's exact context and leaves the parent as it is. */
export interface Fork {
  /** The parent's, which answers. */
  readonly model: string;
  /** Must not reject. */
  run(task: ForkTask, signal: AbortSignal): Promise<ForkOutcome>;
}

/** `MessagesReach`: with how much of the parent it begins, which must end a round. */
export interface ForkTask extends PermissionDep, MessagesReach {
  /** What the fork is to do: the last block of its first request, and the only one that differs from the parent's. */
  readonly directive: string;
  /** Under which its requests are booked. */
  readonly source: CostSource;
  readonly roundsMax: number;
  /** `skip`: no breakpoint behind the parent's, so that nothing is written that nobody will read. */
  readonly cacheWrite: "skip" | "write";
  /** Of each request, the first try included; absent: as many as the parent's. */
  readonly triesMax?: number | undefined;
  /** Of all it does; then it fails. Absent: it may take as long as it takes. */
  readonly timeMillisMax?: Millis | undefined;
  /** `calls`: it is also over after a round of which calls succeeded and none failed, unless its reply was cut off. Absent: only with a reply without a call. */
  readonly endsWith?: "answer" | "calls" | undefined;
  /**
   * A file of the engine's own, which holds nothing of the person's: it counts as read, and nobody is asked about a write
   * of it that `permit` allows. What is denied to the parent stays denied.
   */
  readonly ownFile?: OwnFile | undefined;
  /** Told of each piece of a reply as it comes; a reply that breaks off is told again from its beginning. */
  readonly onText?: ((text: string) => void) | undefined;
}

interface OwnFile {
  /** Real path. */
  readonly path: string;
  readonly read: ReadFile;
}

export type ForkOutcome =
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly said: readonly Message[];
      readonly usage: readonly JsonObject[];
    }
  /** `message`: one line for a person. `why`: its reply ended at its limit of tokens. */
  | {
      readonly kind: "failed";
      readonly why?: "cut-short";
      readonly message: string;
      readonly usage: readonly JsonObject[];
    }
  | { readonly kind: "over"; readonly why: "rounds" | "over-limit" | "aborted"; readonly usage: readonly JsonObject[] };
