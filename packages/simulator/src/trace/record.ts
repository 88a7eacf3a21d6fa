import type { Millis } from "palimpsest/internal/schema/brand";
import type { Prices } from "palimpsest/internal/schema/model";
import type { ReplyMessage, SampledUsage } from "palimpsest/internal/schema/wire/reply";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Fault } from "../fault.ts";
import type { Iteration } from "../iteration.ts";
import type { Lifetime, Prompt } from "palimpsest/internal/cache/prompt";

/** A request as the simulator tells it to its trace. */
export interface TracedRequest {
  /** Grows from request to request; the reply names the same. */
  readonly n: number;
  /** `req_…` */
  readonly id: string;
  readonly at: Millis;
  readonly workspace: string;
  readonly model: string;
  /** `/v1/messages` */
  readonly endpoint: string;
  readonly betas: readonly string[];
  /** As it came or as it was read: blocks are looked up in it by the prompt's paths. */
  readonly body: object;
  /** Absent where the request was refused before it became one. */
  readonly prompt?: Prompt;
  /** Absent where the cache was not asked. */
  readonly cache?: TracedCache;
  readonly faults: readonly Fault[];
}

/** Positions count the prompt's blocks from 0. */
export interface TracedCache {
  /** The block up to which the prompt was read from the cache. */
  readonly hit: number | null;
  readonly breakpoints: readonly TracedBreakpoint[];
}

export interface TracedBreakpoint {
  readonly at: number;
  /** The entry that its look-back found, and that lives on by it. */
  readonly found: { readonly at: number; readonly lifetime: Lifetime } | null;
  /** `read`: the entry found is at this very block; `not_written`: a longer prefix was read. */
  readonly outcome: "read" | "written" | "not_written" | "below_minimum";
}

/** The end of a request, whatever it was. */
export interface TracedReply {
  readonly n: number;
  readonly status: number;
  /** `broken`: the client did not get all of it. */
  readonly outcome: "delivered" | "broken" | "refused";
  /** When the response began: from then on others may read what it wrote to the cache. */
  readonly beganAt?: Millis | undefined;
  readonly message?: ReplyMessage;
  /** Of a reply that is no message: one of the OpenAI form. */
  readonly usage?: SampledUsage;
  readonly cost?: TracedCost;
  /** How the request's prompt was billed; the message's usage may be a fault's. */
  readonly split?: UsageSplit;
  /** Where the server compacted: all that was billed, in order; the first is what the request's prompt was asked for. */
  readonly iterations?: readonly Iteration[];
  /** By which it was billed, kind by kind, also those that this reply has no tokens of. */
  readonly pricesUsdPerMTok?: Readonly<Prices>;
  /** What a count of tokens answered. */
  readonly inputTokens?: number;
  readonly error?: { readonly type: string; readonly message: string };
}

export interface TracedCost {
  readonly usd: number;
  readonly usdByKind: Readonly<Prices>;
}
