import type { RequestParts, RequestSerializer } from "../cache/request-serializer.ts";
import type { Block, Message } from "../schema/block.ts";
import type { MessageId, Millis, Tokens } from "../schema/brand.ts";
import type { LeftOutPart } from "../schema/edit.ts";
import type { JsonObject } from "../schema/json.ts";
import type { CountableRequest } from "../tokens/fixed-part.ts";

/** A model that answers requests, whoever serves it. */
export interface ModelPort {
  /** `anthropic`, `openai`: whose form the bodies have. */
  readonly provider: string;
  /**
   * One try, streamed. Must not reject: what goes wrong is the last event, `failure`. Ends with exactly one of
   * `reply-end` and `failure`. Aborting ends it with `failure` of why `aborted`.
   */
  send(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** What the server says of a model; undefined where it says nothing or can't be reached. */
  describe(model: string, signal?: AbortSignal): Promise<ModelDescription | undefined>;
  /** Counts a request without sending it, if the server can. Absent: it never can. Must not reject. */
  count?(request: ModelCountRequest, signal?: AbortSignal): Promise<RequestCount>;
}

export interface ModelCountRequest extends CountableRequest {
  readonly model: string;
}

/** Values, which each provider encodes in its own form. They may be sent again: none of them is live. */
export interface ModelRequest extends RequestParts {
  /** Remembers what was encoded before, so that bytes once sent stay as they are: they decide what a cache recognises. */
  readonly pieces: RequestSerializer;
  /** Values of the `anthropic-beta` header; other providers ignore them. */
  readonly betas: readonly string[];
}

export interface ModelDescription {
  readonly windowTokens?: Tokens;
  readonly outputTokensMax?: Tokens;
  /** Of what is sent, where the server tells it apart from the window. */
  readonly inputTokensMax?: Tokens;
  /** The server's own words, for capabilities that only some have. */
  readonly capabilities: JsonObject;
}

export type ModelEvent =
  | {
      readonly kind: "reply-start";
      readonly id: MessageId;
      readonly model: string;
      readonly usage: JsonObject;
      /** Of results that the server left out of its cache, as the request asked; absent where it says nothing of it. */
      readonly withheldTokens?: Tokens;
    }
  | { readonly kind: "text-delta"; readonly index: number; readonly text: string }
  | { readonly kind: "thinking-delta"; readonly index: number; readonly text: string }
  | { readonly kind: "input-delta"; readonly index: number; readonly json: string }
  /** A whole block, as it goes into the transcript. Input that was no JSON is an empty object, and `flawed` says so. */
  | { readonly kind: "block-end"; readonly index: number; readonly block: Block; readonly flawed?: string }
  | {
      readonly kind: "reply-end";
      readonly stopReason: string;
      readonly usage: JsonObject;
      /** What the server left out of the request, in its own words; absent where it was not asked to, or left out nothing. */
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
  /** What the server asks for. */
  readonly retryAfterMs?: Millis;
  /** Of `refused`: the part of the request that the message names. Without it the request may be taken. */
  readonly part?: LeftOutPart;
  /** Of `refused`: the message names what stands beside the messages. No shorter history would be taken either. */
  readonly beside?: "tools" | "settings";
  /** Of `too-long`, where the message says it. */
  readonly limitTokens?: Tokens;
  /** `input`: the limit of what is sent, in a window that is larger. */
  readonly limitOf?: "window" | "input";
  readonly usedTokens?: Tokens;
  readonly status?: number;
  readonly requestId?: string;
}

export interface ModelDep {
  readonly model: ModelPort;
}

/** Counts what the engine otherwise estimates. A figure always says which counter it came from. */
export interface TokenCounter {
  /**
   * Stands beside every figure, and counts are remembered by it: two counters of one name must count alike. One that
   * counts for a model has the model in its name.
   */
  readonly name: string;
  count(blocks: readonly Block[]): Promise<Tokens>;
  /** A whole request: system prompt, tools and messages. Must not reject. */
  countRequest(request: CountableRequest): Promise<RequestCount>;
}

export type RequestCount =
  | { readonly kind: "counted"; readonly tokens: Tokens }
  | { readonly kind: "uncounted"; readonly message: string };

/** A counter that is not installed, or can't be reached: `message` is one line for a person and says what to do. */
export type CounterOutcome =
  | { readonly kind: "counter"; readonly counter: TokenCounter }
  | { readonly kind: "absent"; readonly message: string };

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
