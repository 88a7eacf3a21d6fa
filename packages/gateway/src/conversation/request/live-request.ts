import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { ReplyReader } from "../../reply/reply-reader.ts";
import type { GatewayResult, GatewayTool } from "../tools/gateway-tools.ts";
import type { WrittenBody } from "./request-writer.ts";

/** A request in the form in which it goes upstream. */
export interface PreparedBody extends WrittenBody {
  /** The context's estimate. */
  readonly tokens: number;
  /** What the model takes, or what it was told to. */
  readonly windowTokens: number;
  /** How much larger the client's own request is, given what the upstream counted for this one: see `ListEstimator`. */
  readonly moreTokens: (usedTokens: number) => number;
  readonly extend: (elements: readonly JsonObject[]) => PreparedBody;
}

/**
 * A request while it is answered: what it takes to go on behind a call of ours after a newer request has taken the context. The
 * client's own list would go on too, but with all that was removed from it.
 */
export class LiveRequest {
  readonly #provider: Provider;
  #prepared: PreparedBody | undefined;
  #readEvents: () => readonly JsonObject[] = () => [];
  #added: readonly JsonObject[] = [];

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  /** Those that its newest reply may call. */
  get gatewayTools(): readonly GatewayTool[] {
    return this.#prepared?.gatewayTools ?? [];
  }

  /** It was written, with everything so far. */
  setPrepared(prepared: PreparedBody): void {
    this.#prepared = prepared;
    this.#added = [];
  }

  /** `readEvents`: the events of its newest reply, as they came. */
  setReply(readEvents: () => readonly JsonObject[]): void {
    this.#readEvents = readEvents;
  }

  /** The calls of ours in its newest reply have these results. */
  addResults(results: readonly GatewayResult[]): void {
    const reply = ReplyReader.readEvents(this.#provider, this.#readEvents());
    this.#added = [...this.#added, ...reply, ...writeResults[this.#provider](results)];
  }

  /** The request as it was written, with its calls and their results behind it. Undefined if there are none. */
  next(): PreparedBody | undefined {
    return this.#added.length === 0 ? undefined : this.#prepared?.extend(this.#added);
  }
}

const toText = (content: GatewayResult["content"]): string =>
  typeof content === "string" ? content : JSON.stringify(content);

const writeResults: Readonly<Record<Provider, (results: readonly GatewayResult[]) => readonly JsonObject[]>> = {
  anthropic: (results) => [
    {
      role: "user",
      content: results.map(({ id, content, isError }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: typeof content === "string" ? content : content.map((one) => ({ ...one })),
        is_error: isError,
      })),
    },
  ],
  "openai-chat": (results) =>
    results.map(({ id, content }) => ({ role: "tool", tool_call_id: id, content: toText(content) })),
  "openai-responses": (results) =>
    results.map(({ id, content }) => ({ type: "function_call_output", call_id: id, output: toText(content) })),
};
