import { parseBlock } from "../../schema/block.ts";
import { messageId } from "../../schema/brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "../../schema/json.ts";
import type { IdsDep } from "../../ports/clock-dep.ts";
import type { ModelEvent } from "../../ports/model-port.ts";
import { readCallInput } from "../call-input.ts";

/**
 * Puts a reply together from the chunks of chat completions. A text ends where something else begins. Calls may come
 * in turns, so they all end with the reply; the figures come behind the last word, so the reply ends with its stream.
 */
export class ChatAssembly {
  readonly #ids: IdsDep;
  #isStarted = false;
  #nextIndex = 0;
  #open: OpenText | undefined;
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
    if (isObject(delta)) events.push(...this.#say(delta), ...listCalls(delta).flatMap((call) => this.#call(call)));
    this.#finish = textField(choice, "finish_reason") ?? this.#finish;
    return events;
  }

  /** To be called when the stream has ended well. Nothing where the model never finished: the stream broke off. */
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
    // Replies that share an id count as one, and some servers count to a thousand and start over.
    const unique = id.length >= uniqueIdCharsMin ? id : `chatcmpl-${this.#ids.uuid()}`;
    return [{ kind: "reply-start", id: messageId(unique), model, usage: {} }];
  }

  #say(delta: JsonObject): readonly ModelEvent[] {
    const refusal = textField(delta, "refusal") ?? "";
    if (refusal !== "") this.#isRefusal = true;
    const said = (textField(delta, "content") ?? "") + refusal;
    if (said === "") return [];
    this.#open ??= { index: this.#nextIndex++, text: "" };
    this.#open.text += said;
    return [{ kind: "text-delta", index: this.#open.index, text: said }];
  }

  #endText(): readonly BlockEnd[] {
    const open = this.#open;
    if (open === undefined) return [];
    this.#open = undefined;
    return [{ kind: "block-end", index: open.index, block: { type: "text", text: open.text } }];
  }

  #call(piece: JsonObject): readonly ModelEvent[] {
    const named = field(piece, "function");
    const called = isObject(named) ? named : {};
    const json = textField(called, "arguments") ?? "";
    const known = this.#callOf(piece);
    const ended = known === undefined ? this.#endText() : [];
    const call = known ?? this.#begin(piece);
    call.name += textField(called, "name") ?? "";
    call.json += json;
    return json === "" ? ended : [...ended, { kind: "input-delta", index: call.index, json }];
  }

  /** By its place, or the last one where a server gives none; a new id at an old place is another call. */
  #callOf(piece: JsonObject): OpenCall | undefined {
    const place = field(piece, "index");
    const id = textField(piece, "id") ?? "";
    const call = this.#calls.findLast((one) => typeof place !== "number" || one.place === place);
    return call === undefined || (id !== "" && id !== call.givenId) ? undefined : call;
  }

  #begin(piece: JsonObject): OpenCall {
    const givenId = textField(piece, "id") ?? "";
    const isTaken = givenId === "" || this.#calls.some(({ id }) => id === givenId);
    const id = isTaken ? `call_${this.#ids.uuid()}` : givenId;
    const call = { place: field(piece, "index"), givenId, id, index: this.#nextIndex++, name: "", json: "" };
    this.#calls.push(call);
    return call;
  }
}

/** Random ones of OpenAI and others have thirty and more. */
const uniqueIdCharsMin = 20;

type BlockEnd = Extract<ModelEvent, { kind: "block-end" }>;

interface OpenText {
  readonly index: number;
  text: string;
}

interface OpenCall {
  /** The server's number for it. */
  readonly place: Json | undefined;
  readonly givenId: string;
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

/** In the words of the Messages API. Many servers say `stop` for a reply that calls tools. */
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

/** In the fields of the Messages API: there, input is what no cache had. */
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

/** A completion that came in one piece: its message is one chunk that says everything. */
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
