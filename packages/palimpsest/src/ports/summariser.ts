import type { Block, Message } from "../schema/block.ts";
import type { Tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { ModelFailure } from "./model.ts";

/** A model that is asked for a text apart from any conversation. */
export interface Summariser {
  readonly model: string;
  /** Of one request, what it asks for included: more does not fit its window beside the reply. */
  readonly inputTokensMax: Tokens;
  /** Of one reply. Absent: nobody knows. */
  readonly outputTokensMax?: number;
  /** Estimate, in the tokens of `inputTokensMax`. */
  count(message: Message): number;
  /** One request, streamed, with few retries. Must not reject and must not hang. */
  ask(call: SummaryCall, signal: AbortSignal): Promise<SummaryAnswer>;
}

export interface SummaryCall {
  readonly system: string;
  /** As `plainInput` leaves them; the last one asks. */
  readonly messages: readonly Message[];
  readonly outputTokensMax: number;
  /** Told of each piece of the reply as it comes. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** `wasted`: of earlier tries whose reply had begun: they are paid for too. */
export type SummaryAnswer =
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly stopReason: string;
      readonly blocks: readonly Block[];
      readonly usage: JsonObject;
      readonly wasted?: readonly JsonObject[];
    }
  /** `usage`: of a reply that had begun: it is paid for. */
  | {
      readonly kind: "failed";
      readonly failure: ModelFailure;
      readonly usage?: JsonObject;
      readonly wasted?: readonly JsonObject[];
    };
