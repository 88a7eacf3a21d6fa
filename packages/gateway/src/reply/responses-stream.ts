import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
} from "palimpsest/internal/schema/json";
import {
  type PartialCall,
  type RelayFailure,
  type RelayOptions,
  replyEnd,
  type ReplyEnd,
  type ShownEvent,
  type StreamFormat,
} from "./relay.ts";
import { joinUsage } from "./usage.ts";

/**
 * The events of the Responses API.
 *
 * open → (response.completed | incomplete) → complete | waits; response.failed or an error: broken
 *
 * Items get the client's index when they are added. Events are numbered without those that are withheld. A response names
 * its tools: ours are left out. What a continued reply says of the response has the id of the first one, and all items.
 */
export class ResponsesStream implements StreamFormat {
  readonly #options: RelayOptions;
  #id: string | undefined;
  /** The client's items, complete as far as they are. */
  readonly #items: JsonObject[] = [];
  #earlierItems = 0;
  #earlierUsage: JsonObject | undefined;
  /** The number of the last event that the client got. */
  #lastNumber = -1;
  #reply: StreamState = { ...newStreamState(), numberShift: 0 };

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  take(event: JsonObject): ShownEvent {
    const change = this.#change(event);
    const number = field(event, "sequence_number");
    const isNumbered = typeof number === "number";
    if (isNumbered) this.#reply.numberShift ??= this.#lastNumber + 1 - number;
    const shift = this.#reply.numberShift ?? 0;
    if (change === "withhold") {
      if (isNumbered) this.#reply.numberShift = shift - 1;
      return "withhold";
    }
    if (isNumbered) this.#lastNumber = number + shift;
    if (change === undefined && (!isNumbered || shift === 0)) return "pass";
    return { ...event, ...change, ...(isNumbered ? { sequence_number: this.#lastNumber } : {}) };
  }

  takeOther(): "pass" | "withhold" {
    return this.#reply.state === "waits" ? "withhold" : "pass";
  }

  end(): ReplyEnd {
    const { state, callByIndex } = this.#reply;
    return state === "complete" || state === "waits" ? replyEnd([...callByIndex.values()], state) : { kind: "broken" };
  }

  continue(): void {
    this.#earlierUsage = this.#usage();
    this.#earlierItems = this.#items.length;
    this.#reply = newStreamState();
  }

  failure({ type, message }: RelayFailure): JsonObject {
    return { type: "error", code: type, message, param: null, sequence_number: this.#lastNumber + 1 };
  }

  /** The fields that the client's event has otherwise; undefined if none. */
  #change(event: JsonObject): "withhold" | JsonObject | undefined {
    const response = field(event, "response");
    switch (textField(event, "type")) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        if (this.#isContinued) return "withhold";
        return isObject(response) ? this.#showBeginning(response) : undefined;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return isObject(response) ? this.#finish(event, response) : undefined;
      case "error":
        this.#reply.state = "broken";
        return undefined;
      default:
        return this.#place(event);
    }
  }

  get #isContinued(): boolean {
    return this.#earlierUsage !== undefined;
  }

  #showBeginning(response: JsonObject): JsonObject | undefined {
    this.#id ??= textField(response, "id");
    const shown = withoutGatewayTools(response, this.#options.gatewayTools);
    return shown === response ? undefined : { response: shown };
  }

  /** An event with an index belongs to an item. */
  #place(event: JsonObject): "withhold" | JsonObject | undefined {
    const index = field(event, "output_index");
    if (typeof index !== "number") return undefined;
    const item = field(event, "item");
    if (isObject(item)) this.#openItem(index, item);
    const { callByIndex, clientIndexByIndex } = this.#reply;
    const call = callByIndex.get(index);
    const isDone = textField(event, "type") === "response.output_item.done";
    if (call !== undefined) {
      call.json = (isObject(item) ? textField(item, "arguments") : textField(event, "arguments")) ?? call.json;
      return "withhold";
    }
    const clientIndex = clientIndexByIndex.get(index) ?? index;
    if (isDone && isObject(item)) this.#items[clientIndex] = item;
    return clientIndex === index ? undefined : { output_index: clientIndex };
  }

  #openItem(index: number, item: JsonObject): void {
    const { callByIndex, clientIndexByIndex } = this.#reply;
    if (callByIndex.has(index) || clientIndexByIndex.has(index)) return;
    if (isGatewayCall(item, this.#options.gatewayTools)) {
      callByIndex.set(index, { ...readCall(item), after: this.#items.length });
      return;
    }
    this.#reply.hasClientCall ||= isClientCall(item);
    clientIndexByIndex.set(index, this.#items.length);
    this.#items.push(item);
  }

  #finish(event: JsonObject, response: JsonObject): "withhold" | JsonObject | undefined {
    const reply = this.#reply;
    const usage = field(response, "usage");
    if (isObject(usage)) reply.usage = usage;
    const isFailed = textField(event, "type") === "response.failed";
    const isCompleted = textField(event, "type") === "response.completed";
    const waits = isCompleted && reply.callByIndex.size > 0 && !reply.hasClientCall;
    reply.state = isFailed ? "broken" : waits ? "waits" : "complete";
    if (waits) return "withhold";
    const shown = this.#showEnd(response);
    return shown === response ? undefined : { response: shown };
  }

  /** The same object if it needs no change. */
  #showEnd(response: JsonObject): JsonObject {
    let shown = withoutGatewayTools(response, this.#options.gatewayTools);
    if (isObject(field(response, "usage"))) {
      const sum = this.#usage();
      const told = this.#options.usage?.(sum) ?? sum;
      if (told !== field(response, "usage")) shown = { ...shown, usage: told };
    }
    if (!this.#isContinued && this.#reply.callByIndex.size === 0) return shown;
    const output = listField(response, "output").filter((item) => !isGatewayCall(item, this.#options.gatewayTools));
    const items = output.length === 0 ? this.#items : [...this.#items.slice(0, this.#earlierItems), ...output];
    return { ...shown, ...(this.#id === undefined ? {} : { id: this.#id }), output: items };
  }

  #usage(): JsonObject {
    const earlier = this.#earlierUsage;
    return earlier === undefined
      ? this.#reply.usage
      : joinUsage("openai-responses", { earlier, last: this.#reply.usage });
  }
}

interface StreamState {
  state: "open" | "complete" | "waits" | "broken";
  usage: JsonObject;
  hasClientCall: boolean;
  readonly callByIndex: Map<number, PartialCall>;
  readonly clientIndexByIndex: Map<number, number>;
  /** What is added to the number of an event. Undefined until the reply's first one. */
  numberShift: number | undefined;
}

const newStreamState = (): StreamState => ({
  state: "open",
  usage: {},
  hasClientCall: false,
  callByIndex: new Map(),
  clientIndexByIndex: new Map(),
  numberShift: undefined,
});

export const isGatewayCall = (item: Json, gatewayTools: ReadonlySet<string>): item is JsonObject =>
  isObject(item) && textField(item, "type") === "function_call" && gatewayTools.has(textField(item, "name") ?? "");

export const readCall = (item: JsonObject): Omit<PartialCall, "after"> => ({
  id: textField(item, "call_id") ?? "",
  name: textField(item, "name") ?? "",
  json: textField(item, "arguments") ?? "",
});

/** Whether the client has to answer the item before the model can go on. */
export function isClientCall(item: JsonObject): boolean {
  const type = textField(item, "type") ?? "";
  if (type === "tool_search_call") return textField(item, "execution") === "client";
  return (type.endsWith("_call") && !serverCalls.has(type)) || type === "mcp_approval_request";
}

const serverCalls: ReadonlySet<string> = new Set([
  "code_interpreter_call",
  "file_search_call",
  "image_generation_call",
  "mcp_call",
  "web_search_call",
]);

/** The same object if it names none. */
export function withoutGatewayTools(response: JsonObject, gatewayTools: ReadonlySet<string>): JsonObject {
  const tools = field(response, "tools");
  if (!isArray(tools) || gatewayTools.size === 0) return response;
  const shown = tools.filter((tool) => !isObject(tool) || !gatewayTools.has(textField(tool, "name") ?? ""));
  return shown.length === tools.length ? response : { ...response, tools: shown };
}
