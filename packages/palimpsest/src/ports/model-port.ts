import type { RequestParts, RequestSerializer } from "../cache/request-serializer.ts";
import type { Block, Message } from "../schema/block.ts";
import type { MessageId, Millis, Tokens } from "../schema/brand.ts";
import type { LeftOutPart } from "../schema/edit.ts";
import type { JsonObject } from "../schema/json.ts";
import type { CountableRequest } from "../tokens/fixed-part.ts";

/** A model that answers requests, whichever provider serves it. */
export interface ModelPort {
  /** The API whose format the bodies have: `anthropic` or `openai`. */
  readonly provider: string;
  /**
   * One try, streamed. Must not reject: an error is the last event, `failure`. Ends with exactly one of `reply-end`
   * and `failure`. Aborting ends it with a `failure` whose `why` is `aborted`.
   */
  send(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** The server's description of a model; undefined if it has none or can't be reached. */
  describe(model: string, signal?: AbortSignal): Promise<ModelDescription | undefined>;
  /** Counts a request without sending it, if the server can. Absent: the server never can. Must not reject. */
  count?(request: ModelCountRequest, signal?: AbortSignal): Promise<RequestCount>;
}

export interface ModelCountRequest extends CountableRequest {
  readonly model: string;
}

/** Immutable values, which each provider encodes in its own format. The same request may be sent again. */
export interface ModelRequest extends RequestParts {
  /** Remembers earlier encodings, so that bytes that were sent once stay the same: the cache matches on bytes. */
  readonly pieces: RequestSerializer;
  /** Values of the `anthropic-beta` header; other providers ignore them. */
  readonly betas: readonly string[];
}

export interface ModelDescription {
  readonly windowTokens?: Tokens;
  readonly outputTokensMax?: Tokens;
  /** Limit for the request alone, if the server has one besides the window. */
  readonly inputTokensMax?: Tokens;
  /** As the server describes them: capabilities that only some models have. */
  readonly capabilities: JsonObject;
}

export type ModelEvent =
  | {
      readonly kind: "reply-start";
      readonly id: MessageId;
      readonly model: string;
      readonly usage: JsonObject;
      /** Tokens of results that the server left out of its cache at our request; absent if it does not say. */
      readonly withheldTokens?: Tokens;
    }
  | { readonly kind: "text-delta"; readonly index: number; readonly text: string }
  | { readonly kind: "thinking-delta"; readonly index: number; readonly text: string }
  | { readonly kind: "input-delta"; readonly index: number; readonly json: string }
  /** A whole block, as it goes into the transcript. Input that is not JSON becomes an empty object, and `flawed` says so. */
  | { readonly kind: "block-end"; readonly index: number; readonly block: Block; readonly flawed?: string }
  | {
      readonly kind: "reply-end";
      readonly stopReason: string;
      readonly usage: JsonObject;
      /** What the server left out of the request, in its own format; absent if it was not asked to or left out nothing. */
      readonly appliedEdits?: readonly JsonObject[];
    }
  | { readonly kind: "failure"; readonly failure: ModelFailure };

export interface ModelFailure {
  readonly why:
    | "too-long"
    | "overloaded"
    | "rate-limited"
    | "server"
    | "network"
    | "timeout"
    | "broken-stream"
    | "refused"
    | "unauthorised"
    | "not-found"
    | "spend-limit"
    | "aborted";
  /** One line for the user. */
  readonly message: string;
  /** Whether the same request may succeed later. */
  readonly retry: "later" | "never";
  /** The wait that the server asks for. */
  readonly retryAfterMs?: Millis;
  /** For `refused`: the part of the request that the message names. Without it the request may be accepted. */
  readonly part?: LeftOutPart;
  /** For `refused`: the message names something outside the messages, so a shorter history would be refused too. */
  readonly beside?: "tools" | "settings";
  /** For `too-long`, if the message says it. */
  readonly limitTokens?: Tokens;
  /** `input`: the limit applies to the request alone; the window is larger. */
  readonly limitOf?: "window" | "input";
  readonly usedTokens?: Tokens;
  readonly status?: number;
  readonly requestId?: string;
}

export interface ModelDep {
  readonly model: ModelPort;
}

/** Counts exactly what the engine otherwise estimates. A figure always says which counter it came from. */
export interface TokenCounter {
  /**
   * Shown with every figure and used as the key of remembered counts: two counters with the same name must count alike.
   * A counter for one model has the model in its name.
   */
  readonly name: string;
  count(blocks: readonly Block[]): Promise<Tokens>;
  /** A whole request: system prompt, tools and messages. Must not reject. */
  countRequest(request: CountableRequest): Promise<RequestCount>;
}

export type RequestCount =
  | { readonly kind: "counted"; readonly tokens: Tokens }
  | { readonly kind: "uncounted"; readonly message: string };

/** `absent`: the counter is not installed or can't be reached; `message` is one line for the user and says what to do. */
export type CounterOutcome =
  | { readonly kind: "counter"; readonly counter: TokenCounter }
  | { readonly kind: "absent"; readonly message: string };

/** A model that writes a summary outside any conversation. */
export interface Summariser {
  readonly model: string;
  /** Limit of one request, instructions included: more does not fit its window together with the reply. */
  readonly inputTokensMax: Tokens;
  /** Limit of one reply. Absent: unknown. */
  readonly outputTokensMax?: number;
  /** Estimate, in the tokens of `inputTokensMax`. */
  count(message: Message): number;
  /** One request, streamed, with few retries. Must not reject and must not hang. */
  ask(call: SummaryCall, signal: AbortSignal): Promise<SummaryAnswer>;
}

export interface SummaryCall {
  readonly system: string;
  /** As `toPlainMessages` returns them; the last one asks for the summary. */
  readonly messages: readonly Message[];
  readonly outputTokensMax: number;
  /** Called with each piece of the reply as it arrives. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** `wasted`: the usage of earlier tries whose reply had begun, because these are charged too. */
export type SummaryAnswer =
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly stopReason: string;
      readonly blocks: readonly Block[];
      readonly usage: JsonObject;
      readonly wasted?: readonly JsonObject[];
    }
  /** `usage`: of a reply that had begun, because it is charged. */
  | {
      readonly kind: "failed";
      readonly failure: ModelFailure;
      readonly usage?: JsonObject;
      readonly wasted?: readonly JsonObject[];
    };
