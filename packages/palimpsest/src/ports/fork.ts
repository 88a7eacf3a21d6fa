import type { CostSource } from "../cache/cost-ledger.ts";
import type { Message } from "../schema/block.ts";
import type { Millis } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { MessagesReach } from "../transcript/first-messages.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { PermissionDep, ReadFile, Tool } from "./tool.ts";

/** A side conversation that starts from a parent's exact context and does not change the parent. */
export interface Fork {
  /** The parent's model, which also answers the fork. */
  readonly model: string;
  /** Must not reject. */
  run(task: ForkTask, signal: AbortSignal): Promise<ForkOutcome>;
}

/**
 * `MessagesReach` says how much of the parent the fork begins with; that part must end with a complete round. With none of
 * its messages a fork still shares the tools and the system prompt with it.
 */
export interface ForkTask extends PermissionDep, MessagesReach {
  /** The fork's task: the last block of its first request, and the only one that differs from the parent's. */
  readonly directive: string;
  /** The cost source that its requests are booked under. */
  readonly source: CostSource;
  readonly roundsMax: number;
  /** `skip`: no cache breakpoint after the parent's, so that no cache entry is paid for that is never read. */
  readonly cacheWrite: "skip" | "write";
  /** Tries of each request, including the first; absent: as many as the parent's. */
  readonly triesMax?: number | undefined;
  /** Time limit for the whole fork, after which it fails. Absent: no limit. */
  readonly timeMillisMax?: Millis | undefined;
  /**
   * `calls`: the fork also ends after a round in which calls succeeded and none failed, unless its reply was cut off.
   * A function is asked after such a round whether it ends. Absent: it ends only with a reply without a call.
   */
  readonly endsWith?: "answer" | "calls" | (() => "answer" | "calls") | undefined;
  /**
   * A file of the engine that holds no user data: it counts as read, and the user is not asked about a write to it
   * that `permit` allows. Whatever is denied to the parent stays denied.
   */
  readonly ownFile?: OwnFile | undefined;
  /** Changes the input that the tool of a call gets; permissions are asked with the original. What the fork said stays as it is. */
  readonly rewriteInput?: ((input: JsonObject) => Promise<JsonObject>) | undefined;
  /**
   * Run in place of the parent's tools of the same names. The model keeps seeing the parent's definitions: they are part of
   * the cached prefix.
   */
  readonly ownTools?: readonly ForkTool[] | undefined;
  /** Called with each event of the fork, for progress. Must not throw. */
  readonly onEvent?: ((event: LoopEvent) => void) | undefined;
  /** Called with each piece of a reply as it arrives. If a reply breaks off, the retry starts again from its beginning. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** What a tool does in a fork. */
export type ForkTool = Pick<Tool, "name" | "plan">;

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
  /** `message`: one line for the user. `cut-short`: the reply ended at its token limit. */
  | {
      readonly kind: "failed";
      readonly why?: "cut-short";
      readonly message: string;
      readonly usage: readonly JsonObject[];
    }
  | { readonly kind: "over"; readonly why: "rounds" | "over-limit" | "aborted"; readonly usage: readonly JsonObject[] };
