import type { Millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { StopReason } from "palimpsest/internal/schema/wire/reply";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Fault } from "../fault.ts";
import type { Random } from "../random.ts";
import type { Refusal } from "../refusal.ts";

/** Who answers behind the simulator. It sees a request that has passed validation and says what the model would say. */
export interface Actor {
  readonly name: string;
  /** A take with one move; what it throws is told to the client as a 500. */
  play(scene: Scene): Take | Promise<Take>;
}

export interface Scene {
  /** As the model is shown it: what the server cleared, compacted or hides is not in it. */
  readonly request: MessagesRequest;
  /** `compaction`: the server wants a summary of the conversation for itself, in the last message's words. */
  readonly purpose: "reply" | "compaction";
  /** Deterministic for the simulator's seed and the number of the request. */
  readonly random: Random;
  readonly now: Millis;
}

export interface Take {
  readonly move: Move;
  readonly fault?: Fault;
  /** Called where this take's fault is the one that happens: a request may bring one of its own, and then this waits. */
  readonly faulted?: () => void;
  /** Called once the reply has reached the client whole: only then is a scripted move spent, so that a retry gets it again. */
  readonly delivered?: () => void;
  /** Called instead where it did not (a fault, a broken stream, a client that left), before the connection is closed. */
  readonly lost?: () => void;
}

export type Move =
  | {
      readonly kind: "say";
      readonly blocks: readonly SaidBlock[];
      /** Told by the blocks where it is absent: `tool_use` if they call a tool, else `end_turn`. */
      readonly stop?: StopReason;
      /** Before the reply begins. */
      readonly delayMs?: Millis;
      /** Between two events of a stream. */
      readonly pauseMs?: Millis;
    }
  | { readonly kind: "refuse"; readonly refusal: Refusal };

export type SaidBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | { readonly type: "redacted_thinking"; readonly thinking: string }
  | {
      readonly type: "tool_use";
      readonly name: string;
      readonly input: JsonObject;
      /** Made by the simulator where it is absent. */
      readonly id?: string;
      /** What a stream carries instead of the input's JSON: for input that no parser takes. */
      readonly rawInput?: string;
    };
