import type { Proposal } from "./compact/proposal.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Params, Provider } from "./provider-formats.ts";

/** What a caller tells of while it works: the same events that the terminal agent shows. */
export type ContextEvent = LoopEvent;

export interface NextRequest<P extends Provider> {
  /** For the provider's own client: `client.messages.create(request.params)`. */
  readonly params: Params<P>;
  /** Values of the `anthropic-beta` header that it needs; mostly none. */
  readonly betas: readonly string[];
  /** Of the whole request, as far as it can be told before it is sent. */
  readonly tokens: number;
}

/** A call that the model made, to be answered by `toolResult`. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Why the input could not be read; then it is empty. Answer such a call with this. */
  readonly flawed?: string;
}

/** What to do about an error. `retry`: send what `next()` gives, after a while. `stop`: nothing more can be tried here. */
export type AfterRefusal =
  | { readonly kind: "retry"; readonly afterMs: number; readonly because: string }
  | { readonly kind: "stop"; readonly advice: string };

export interface CompactOptions {
  /** Only say what it would do. */
  readonly preview?: boolean;
  /** What the summary should mind. */
  readonly instructions?: string;
  readonly signal?: AbortSignal;
}

export type CompactOutcome =
  | { readonly kind: "compacted" | "preview"; readonly summary: string; readonly preview: Proposal["preview"] }
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };
