import { field, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import {
  answeredReasons,
  objectField,
  type PartialCall,
  type RelayFailure,
  type RelayOptions,
  replyEnd,
  type ReplyEnd,
  type ShownEvent,
  type StreamFormat,
} from "./relay.ts";
import { joinUsage, withoutNulls } from "./usage.ts";

/**
 * The events of the Messages API.
 *
 * open → (message_delta with a stop reason) → complete | waits → (message_stop) → over; an error event: broken
 *
 * Blocks get the client's index when they begin; every event with an index follows its block. While the client waits, the
 * end of the message is withheld.
 */
export class AnthropicStream implements StreamFormat {
  readonly #options: RelayOptions;
  /** How many blocks the client has. */
  #blocks = 0;
  /** Of the replies before this one. */
  #earlierUsage: JsonObject | undefined;
  #reply = newStreamState();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  take(event: JsonObject): ShownEvent {
    switch (textField(event, "type")) {
      case "message_start":
        return this.#start(event);
      case "content_block_start":
        return this.#open(event);
      case "message_delta":
        return this.#finish(event);
      case "message_stop":
        return this.#stop();
      case "error":
        this.#reply.state = "broken";
        return "pass";
      default:
        return this.#place(event);
    }
  }

  /** Nearly all events are pieces of a block: they pass if their block is the client's and has the same index there. */
  passes(json: string): boolean {
    const index = Number(blockDelta.exec(json)?.[1] ?? NaN);
    return this.#reply.clientIndexByIndex.get(index) === index;
  }

  takeOther(): "pass" | "withhold" {
    return this.#reply.client === "waits" ? "withhold" : "pass";
  }

  end(): ReplyEnd {
    const { state, callByIndex, client } = this.#reply;
    return state === "over" ? replyEnd([...callByIndex.values()], client) : { kind: "broken" };
  }

  continue(): void {
    this.#earlierUsage = this.#usage();
    this.#reply = newStreamState();
  }

  failure(error: RelayFailure): JsonObject {
    return { type: "error", error: { ...error } };
  }

  #start(event: JsonObject): ShownEvent {
    const message = objectField(event, "message");
    this.#reply.usage = objectField(message, "usage");
    if (this.#earlierUsage !== undefined) return "withhold";
    const usage = this.#tell(this.#reply.usage);
    return usage === undefined ? "pass" : { ...event, message: { ...message, usage } };
  }

  #open(event: JsonObject): ShownEvent {
    const { callByIndex, clientIndexByIndex } = this.#reply;
    const index = field(event, "index");
    const block = objectField(event, "content_block");
    const name = textField(block, "name") ?? "";
    if (typeof index !== "number" || callByIndex.has(index) || clientIndexByIndex.has(index)) return this.#place(event);
    const isCall = textField(block, "type") === "tool_use";
    if (isCall && this.#options.gatewayTools.has(name)) {
      const input = objectField(block, "input");
      const json = Object.keys(input).length === 0 ? "" : JSON.stringify(input);
      callByIndex.set(index, { id: textField(block, "id") ?? "", name, after: this.#blocks, json });
      return "withhold";
    }
    this.#reply.hasClientCall ||= isCall;
    clientIndexByIndex.set(index, this.#blocks);
    this.#blocks += 1;
    return this.#place(event);
  }

  /** Maps the index of other events to the client's: an event with an index belongs to a block. */
  #place(event: JsonObject): ShownEvent {
    const index = field(event, "index");
    if (typeof index !== "number") return "pass";
    const call = this.#reply.callByIndex.get(index);
    if (call !== undefined) {
      call.json += textField(objectField(event, "delta"), "partial_json") ?? "";
      return "withhold";
    }
    const clientIndex = this.#reply.clientIndexByIndex.get(index) ?? index;
    return clientIndex === index ? "pass" : { ...event, index: clientIndex };
  }

  /** A stream can have several `message_delta` events; only the last one has a stop reason. */
  #finish(event: JsonObject): ShownEvent {
    const usage = field(event, "usage");
    if (isObject(usage)) this.#reply.usage = { ...this.#reply.usage, ...withoutNulls(usage) };
    const stopReason = textField(objectField(event, "delta"), "stop_reason");
    if (stopReason !== undefined) this.#decide(stopReason);
    if (this.#reply.client === "waits") return "withhold";
    const told = isObject(usage) ? this.#tell(usage) : undefined;
    return told === undefined ? "pass" : { ...event, usage: told };
  }

  #stop(): ShownEvent {
    if (this.#reply.state === "open") this.#decide("tool_use");
    if (this.#reply.state !== "broken") this.#reply.state = "over";
    return this.#reply.client === "waits" ? "withhold" : "pass";
  }

  #decide(stopReason: string): void {
    const { callByIndex, hasClientCall } = this.#reply;
    const waits = callByIndex.size > 0 && !hasClientCall && answeredReasons.anthropic.has(stopReason);
    this.#reply.client = waits ? "waits" : "complete";
    if (this.#reply.state === "open") this.#reply.state = "stopped";
  }

  #usage(): JsonObject {
    const earlier = this.#earlierUsage;
    return earlier === undefined ? this.#reply.usage : joinUsage("anthropic", { earlier, last: this.#reply.usage });
  }

  /**
   * The usage to show the client, or undefined if the event's own is right. Has the event's fields; in a continued reply all
   * fields, because the client has already seen those of an earlier reply.
   */
  #tell(usage: JsonObject): JsonObject | undefined {
    const before = this.#usage();
    const told = this.#options.usage?.(before) ?? before;
    const isContinued = this.#earlierUsage !== undefined;
    if (told === this.#reply.usage && !isContinued) return undefined;
    const keys = [...Object.keys(usage), ...(isContinued ? deltaUsageKeys : [])];
    const changed: Record<string, Json> = { ...usage };
    for (const key of keys) {
      const value = field(told, key);
      if (value !== undefined && (isContinued || field(usage, key) !== null)) changed[key] = value;
    }
    return changed;
  }
}

/** As the API writes it. Every other form is parsed. */
const blockDelta = /^\{"type":"content_block_delta","index":(\d{1,9}),"delta":\{/;

interface StreamState {
  state: "open" | "stopped" | "over" | "broken";
  /** What the end of this reply means for the client. */
  client: "complete" | "waits";
  usage: JsonObject;
  hasClientCall: boolean;
  readonly callByIndex: Map<number, PartialCall>;
  readonly clientIndexByIndex: Map<number, number>;
}

const newStreamState = (): StreamState => ({
  state: "open",
  client: "complete",
  usage: {},
  hasClientCall: false,
  callByIndex: new Map(),
  clientIndexByIndex: new Map(),
});

/** The fields that a `message_delta` can have. */
const deltaUsageKeys = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens",
  "output_tokens_details",
  "server_tool_use",
  "iterations",
];
