import { parseBlock } from "../../schema/block.ts";
import { messageId } from "../../schema/brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "../../schema/json.ts";
import type { IdsDep } from "../../ports/clock-dep.ts";
import type { ModelEvent } from "../../ports/model-port.ts";
import { readCallInput } from "../call-input.ts";

/**
 * Assembles a reply from the chunks of chat completions. A text ends when a call begins. The chunks of several calls may
 * be interleaved, so all calls end with the reply. The usage comes after the last text, so the reply ends with its stream.
 */
export class ChatAssembly {
  readonly #ids: IdsDep;
  #isStarted = false;
  #nextIndex = 0;
  #openText: OpenText | undefined;
  readonly #calls: OpenCall[] = [];
  #usage: JsonObject = {};
  #finish: string | undefined;
  #isRefusal = false;

  constructor(ids: IdsDep) {
    this.#ids = ids;
  }

  take(chunk: JsonObject): readonly ModelEvent[] {
    const usage = field(chunk, "usage");
    if (isObject(usage)) this.#usage = readOpenaiUsage(usage, chatUsageKeys);
    const choice = firstChoice(chunk);
    const events = [...this.#start(chunk)];
    if (choice === undefined) return events;
    const delta = field(choice, "delta");
    if (isObject(delta))
      events.push(...this.#takeText(delta), ...listCalls(delta).flatMap((call) => this.#takeCall(call)));
    this.#finish = textField(choice, "finish_reason") ?? this.#finish;
    return events;
  }

  /** Called when the stream has ended without an error. Returns nothing if the model never finished: the stream broke off. */
  end(): readonly ModelEvent[] {
    if (!this.#isStarted || this.#finish === undefined) return [];
    const calls = this.#calls.map((call): BlockEnd => {
      const { input, flawed } = call.json === "" ? { input: {} } : readCallInput(call.json);
      const block = parseBlock({ type: "tool_use", id: call.id, name: call.name, input });
      return { kind: "block-end", index: call.index, block, ...(flawed === undefined ? {} : { flawed }) };
    });
    const stopReason = this.#isRefusal ? "refusal" : toStopReason(this.#finish, calls);
    const blocks = [...this.#endText(), ...calls].toSorted((a, b) => a.index - b.index);
    return [...blocks, { kind: "reply-end", stopReason, usage: this.#usage }];
  }

  #start(chunk: JsonObject): readonly ModelEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const id = textField(chunk, "id") ?? "";
    const model = textField(chunk, "model") ?? "";
    // Replies with the same id count as one, and some servers reuse their ids after a thousand replies.
    const unique = id.length >= uniqueIdCharsMin ? id : `chatcmpl-${this.#ids.uuid()}`;
    return [{ kind: "reply-start", id: messageId(unique), model, usage: {} }];
  }

  #takeText(delta: JsonObject): readonly ModelEvent[] {
    const refusal = textField(delta, "refusal") ?? "";
    if (refusal !== "") this.#isRefusal = true;
    const text = (textField(delta, "content") ?? "") + refusal;
    if (text === "") return [];
    this.#openText ??= { index: this.#nextIndex++, text: "" };
    this.#openText.text += text;
    return [{ kind: "text-delta", index: this.#openText.index, text }];
  }

  #endText(): readonly BlockEnd[] {
    const open = this.#openText;
    if (open === undefined) return [];
    this.#openText = undefined;
    return [{ kind: "block-end", index: open.index, block: { type: "text", text: open.text } }];
  }

  #takeCall(piece: JsonObject): readonly ModelEvent[] {
    const functionField = field(piece, "function");
    const calledFunction = isObject(functionField) ? functionField : {};
    const json = textField(calledFunction, "arguments") ?? "";
    const openCall = this.#findCall(piece);
    const events = openCall === undefined ? this.#endText() : [];
    const call = openCall ?? this.#beginCall(piece);
    call.name += textField(calledFunction, "name") ?? "";
    call.json += json;
    return json === "" ? events : [...events, { kind: "input-delta", index: call.index, json }];
  }

  /** The call with the same index, or the last call if the server sends no index; a new id at the same index is another call. */
  #findCall(piece: JsonObject): OpenCall | undefined {
    const serverIndex = field(piece, "index");
    const id = textField(piece, "id") ?? "";
    const call = this.#calls.findLast((open) => typeof serverIndex !== "number" || open.serverIndex === serverIndex);
    return call === undefined || (id !== "" && id !== call.serverId) ? undefined : call;
  }

  #beginCall(piece: JsonObject): OpenCall {
    const serverId = textField(piece, "id") ?? "";
    const needsId = serverId === "" || this.#calls.some(({ id }) => id === serverId);
    const id = needsId ? `call_${this.#ids.uuid()}` : serverId;
    const serverIndex = field(piece, "index");
    const call = { serverIndex, serverId, id, index: this.#nextIndex++, name: "", json: "" };
    this.#calls.push(call);
    return call;
  }
}

/** The random ids of OpenAI and others have at least thirty characters. */
const uniqueIdCharsMin = 20;

type BlockEnd = Extract<ModelEvent, { kind: "block-end" }>;

interface OpenText {
  readonly index: number;
  text: string;
}

interface OpenCall {
  /** The server's number for the call. */
  readonly serverIndex: Json | undefined;
  /** Empty if the server sent none. */
  readonly serverId: string;
  readonly id: string;
  readonly index: number;
  name: string;
  json: string;
}

const firstChoice = (chunk: JsonObject): JsonObject | undefined => {
  const choices = field(chunk, "choices");
  const [first] = isArray(choices) ? choices : [];
  return isObject(first) ? first : undefined;
};

const listCalls = (delta: JsonObject): readonly JsonObject[] => {
  const calls = field(delta, "tool_calls");
  return isArray(calls) ? calls.filter(isObject) : [];
};

/** The stop reason of the Messages API. Many servers send `stop` for a reply that calls tools. */
function toStopReason(finish: string, calls: readonly ModelEvent[]): string {
  if (finish === "length") return "max_tokens";
  if (finish === "content_filter") return "refusal";
  return calls.length > 0 ? "tool_use" : "end_turn";
}

const chatUsageKeys = {
  input: "prompt_tokens",
  details: "prompt_tokens_details",
  output: "completion_tokens",
} as const;

/** The usage in the fields of the Messages API, where the input excludes cached tokens. */
export function readOpenaiUsage(
  usage: JsonObject,
  keys: { readonly input: string; readonly details: string; readonly output: string },
): JsonObject {
  const details = field(usage, keys.details);
  const cached = isObject(details) ? countAt(details, "cached_tokens") : countAt(usage, "prompt_cache_hit_tokens");
  const written = isObject(details) ? countAt(details, "cache_write_tokens") : 0;
  return {
    input_tokens: Math.max(0, countAt(usage, keys.input) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: countAt(usage, keys.output),
  };
}

const countAt = (usage: JsonObject, key: string): number => {
  const value = field(usage, key);
  return typeof value === "number" && value > 0 ? value : 0;
};

/** The events of a completion that came as a whole: its message is treated as one chunk. */
export function wholeChatEvents(completion: JsonObject, ids: IdsDep): readonly ModelEvent[] {
  const choices = field(completion, "choices");
  const chunk = { ...completion, choices: (isArray(choices) ? choices : []).map(asDelta) };
  const assembly = new ChatAssembly(ids);
  return [...assembly.take(chunk), ...assembly.end()];
}

function asDelta(choice: Json): Json {
  if (!isObject(choice)) return choice;
  const { message, ...rest } = choice;
  if (message === undefined || !isObject(message)) return choice;
  const calls = field(message, "tool_calls");
  const numbered = isArray(calls) ? calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) : [];
  return { ...rest, delta: { ...message, tool_calls: numbered } };
}
