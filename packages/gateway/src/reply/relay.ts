import type { Provider } from "palimpsest/internal/context/provider-formats";
import { field, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { readCallInput } from "palimpsest/internal/model/call-input";

/**
 * What both relays share.
 *
 * One reply to the client may consist of several replies of upstream: when a reply calls only tools of ours, the gateway
 * answers them and asks again, and the client sees one message that goes on.
 *
 * - What the client has been sent stays: text and thinking before a gateway call are already in the client's message, in
 *   order, and the next reply's blocks follow them. The client later sends them back without the call; `GatewayCall.after`
 *   says after what the call belongs.
 * - Calls of ours beside calls of the client: the client's reply ends normally, with its calls. Our results wait for the
 *   client's next request.
 * - A reply that was cut (`max_tokens`, `length`, `incomplete`), refused or paused ends for the client as it ended
 *   upstream: the limit was the client's own. Calls of ours in it are reported, since the next request must contain them
 *   with a result; a cut one is flawed.
 * - Usage: the input side is that of the last reply, since clients compare it with their window; the output side is the
 *   sum, since all of it was paid and generated. So the input of earlier replies is missing in what a client adds up as
 *   cost.
 */
export interface RelayOptions {
  readonly provider: Provider;
  /** Names of the tools that the client must never see. None for a chat request with `n` above 1. */
  readonly gatewayTools: ReadonlySet<string>;
  /**
   * Changes the usage that the client is told. It gets the usage so far: with the input side that the beginning of a
   * stream told, and the sum of several replies. Without a change it must return the same object.
   */
  readonly usage?: ((usage: JsonObject) => JsonObject) | undefined;
  /**
   * `withhold` for a chat client that did not ask for the chunk with the usage, if the gateway did. Then the other chunks have
   * `"usage":null`, which is withheld too.
   */
  readonly usageChunk?: "pass" | "withhold" | undefined;
  /** Is called with each event of upstream, or with a reply that is not streamed, as it came: with gateway calls. */
  readonly onEvent: (event: JsonObject) => void;
  /**
   * Each event of a stream once, as soon as it is parsed. Events that pass unparsed are parsed in `StreamRelay.observe`, so
   * that their order may differ from that of `onEvent`.
   */
  readonly onParsed?: ((event: JsonObject) => void) | undefined;
}

/** A call of a tool of the gateway. */
export interface GatewayCall {
  /** Its result refers to it by this id. */
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Why `input` is empty although the model wrote one. */
  readonly flawed?: string;
  /** What stands before the call in the client's message: blocks (Anthropic), items (Responses), characters of text (chat). */
  readonly after: number;
}

export type ReplyEnd =
  /** The client has its whole reply. */
  | { readonly kind: "done" }
  /** `complete`: the client has its whole reply, results wait for its next request. `waits`: the next reply goes on with it. */
  | { readonly kind: "gateway-calls"; readonly calls: readonly GatewayCall[]; readonly client: "complete" | "waits" }
  /** Upstream ended before the end of its message, or sent an error, which was passed on. */
  | { readonly kind: "broken" };

/** What the client gets of an event: the same bytes, the same without the member `usage`, nothing, or another event. */
export type ShownEvent = "pass" | "without-usage" | "withhold" | JsonObject;

/** What a provider's streams mean. */
export interface StreamFormat {
  take(event: JsonObject): ShownEvent;
  /** Whether an event passes as it is and changes nothing here, by the beginning of its JSON: then `take` need not see it. */
  passes?(json: string): boolean;
  /** For data that is no JSON object: `[DONE]`. */
  takeOther(): "pass" | "withhold";
  end(): ReplyEnd;
  continue(): void;
  /** An error as an event of the stream. */
  failure(error: RelayFailure): JsonObject;
}

export interface RelayFailure {
  readonly type: string;
  readonly message: string;
}

/** A gateway call while it arrives. */
export interface PartialCall {
  readonly id: string;
  readonly name: string;
  readonly after: number;
  json: string;
}

function closeCall({ id, name, after, json }: PartialCall): GatewayCall {
  const read = json === "" ? { input: {} } : readCallInput(json);
  return { id, name, after, ...read };
}

/** How a reply ends that upstream has ended properly. */
export const replyEnd = (calls: readonly PartialCall[], client: "complete" | "waits"): ReplyEnd =>
  calls.length === 0 ? { kind: "done" } : { kind: "gateway-calls", calls: calls.map(closeCall), client };

/**
 * The reasons after which the model expects to go on by itself. Some servers send the second one for a reply that calls tools.
 */
export const answeredReasons: Readonly<Record<"anthropic" | "openai-chat", ReadonlySet<string>>> = {
  anthropic: new Set(["tool_use", "end_turn"]),
  "openai-chat": new Set(["tool_calls", "stop"]),
};

export const objectField = (object: JsonObject, key: string): JsonObject => {
  const value: Json | undefined = field(object, key);
  return isObject(value) ? value : {};
};
