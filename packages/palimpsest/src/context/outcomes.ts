import type { ReplyCall } from "./reply/reply-recorder.ts";
import type { Proposal } from "./compact/proposal.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Params, Provider } from "./provider-formats.ts";

/** Events of a context at work: the same that the terminal agent shows. */
export type ContextEvent = LoopEvent;

export interface NextRequest<P extends Provider> {
  /** For the provider's own client: `client.messages.create(request.params)`. Written when it is read first. */
  readonly params: Params<P>;
  /** The limit of the reply in `params`. */
  readonly maxTokens: number;
  /** Values that the `anthropic-beta` header needs; usually none. */
  readonly betas: readonly string[];
  /** Estimated size of the whole request. */
  readonly tokens: number;
}

/** What a sync found. Items are blocks of messages; thinking does not count. */
export interface SyncReport {
  /**
   * `same`: nothing is new. `grown`: the list continues what was known. `branched`: the caller edited, dropped or replaced
   * something at the end, and the conversation continues from before it. `trimmed`: the caller left out something before
   * the end, or put a summary in its place.
   */
  readonly kind: "same" | "grown" | "branched" | "trimmed";
  /** Items that were recognised, and that were added. */
  readonly known: number;
  readonly added: number;
  /** Items that left the conversation. They stay in the transcript, where recall finds them. */
  readonly left: number;
  /** The entry that took them out. `undo` takes it back. */
  readonly edit?: string;
}

/** The same for a list that was handed over, and what was found in it. */
export interface SyncedRequest<P extends Provider> extends NextRequest<P> {
  readonly sync: SyncReport;
}

/** A call that the model made, to be answered by `toolResult`. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Why the input could not be read, in which case it is empty. Answer such a call with this text. */
  readonly flawed?: string;
}

export const toToolCall = ({ call: { id, name, input }, flawed }: ReplyCall): ToolCall => ({
  id,
  name,
  input,
  ...(flawed === undefined ? {} : { flawed }),
});

/** What to do about an error. `retry`: wait, then send what `next()` returns. `stop`: nothing more can be tried here. */
export type AfterRefusal =
  | { readonly kind: "retry"; readonly afterMs: number; readonly because: string }
  | { readonly kind: "stop"; readonly advice: string };

export interface CompactOptions {
  /** Only report the effect, without compacting. */
  readonly preview?: boolean;
  /** Instructions for the summary. */
  readonly instructions?: string;
  readonly signal?: AbortSignal;
}

export type CompactOutcome =
  | { readonly kind: "compacted" | "preview"; readonly summary: string; readonly preview: Proposal["preview"] }
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };
