import { type Provider, toJsonObject } from "palimpsest/internal/context/provider-formats";
import { ReplyAssembly } from "palimpsest/internal/model/anthropic/reply-assembly";
import {
  field,
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
  tryParseJson,
} from "palimpsest/internal/schema/json";
import { EventReader } from "./event-reader.ts";

/** What a reply adds to the list of its conversation. */
export interface ReadReply {
  /** The client refers to it by this id. */
  readonly id: string;
  /** They are as the client would send them back. There are none if the reply said nothing. */
  readonly elements: readonly JsonObject[];
  /** `compacted`: it stands for everything before it. */
  readonly kind: "added" | "compacted";
}

/**
 * Reads a reply from the bytes that the client gets. Returns nothing for a reply that was cut off, refused or failed: no
 * client can continue from it.
 */
export class ReplyReader {
  readonly #provider: Provider;
  readonly #events: EventReader;
  readonly #message = new MessageEvents();
  readonly #chat = new ChatChunks();
  #reply: ReadReply | undefined;

  constructor(provider: Provider) {
    this.#provider = provider;
    // The last event of the Responses API contains the whole response; the others are pieces of it.
    const isWanted = (bytes: Buffer): boolean =>
      provider !== "openai-responses" || lastEvents.some((name) => bytes.includes(name));
    this.#events = new EventReader((event) => this.#takeObject(event), isWanted);
  }

  /** Takes a chunk of a stream. Returns the reply once its last event has arrived. */
  take(chunk: Uint8Array): ReadReply | undefined {
    this.#events.take(chunk);
    return this.#reply;
  }

  /** A reply that is not streamed. */
  static readWhole(provider: Provider, bytes: Uint8Array): ReadReply | undefined {
    const reply = tryParseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    if (!isObject(reply)) return undefined;
    return readWholeByProvider[provider](reply);
  }

  /** The events of a stream, or the one object of a reply that is not streamed. */
  static readEvents(provider: Provider, events: readonly JsonObject[]): readonly JsonObject[] {
    const reader = new ReplyReader(provider);
    for (const event of events) reader.#takeObject(event);
    const [first] = events;
    const read = reader.#reply ?? (first === undefined ? undefined : readWholeByProvider[provider](first));
    return read?.elements ?? [];
  }

  #takeObject(event: JsonObject): void {
    if (this.#provider === "anthropic") this.#reply ??= this.#message.take(event);
    else if (this.#provider === "openai-chat") this.#reply ??= this.#chat.take(event);
    else if (lastEvents.includes(textField(event, "type") ?? "")) {
      const response = field(event, "response");
      if (isObject(response)) this.#reply ??= readResponse(response);
    }
  }
}

const lastEvents = ["response.completed", "response.incomplete"];

/** A message of the Messages API, event by event. */
class MessageEvents {
  readonly #assembly = new ReplyAssembly();
  readonly #blocks: JsonObject[] = [];
  #id: string | undefined;

  take(event: JsonObject): ReadReply | undefined {
    for (const one of this.#assembly.take(event)) {
      if (one.kind === "reply-start") this.#id = one.id;
      else if (one.kind === "block-end") this.#blocks[one.index] = toJsonObject(one.block);
      else if (one.kind === "reply-end")
        return readMessage({
          content: this.#blocks.filter(isObject),
          stop_reason: one.stopReason,
          ...(this.#id === undefined ? {} : { id: this.#id }),
        });
    }
    return undefined;
  }
}

/** A compaction that failed adds nothing. */
function readMessage(message: JsonObject): ReadReply | undefined {
  const id = textField(message, "id") ?? "";
  if (id === "" || textField(message, "stop_reason") === "refusal") return undefined;
  const content = listField(message, "content").filter((block) => !isCompaction(block) || hasContent(block));
  const isCompacted = content.some(isCompaction);
  return {
    id,
    elements: content.length === 0 ? [] : [{ role: "assistant", content }],
    kind: isCompacted ? "compacted" : "added",
  };
}

const isCompaction = (block: Json): block is JsonObject => isObject(block) && textField(block, "type") === "compaction";
const hasContent = (block: JsonObject): boolean => (field(block, "content") ?? null) !== null;

function readResponse(response: JsonObject): ReadReply | undefined {
  const id = textField(response, "id") ?? "";
  const status = textField(response, "status") ?? "completed";
  if (id === "" || (status !== "completed" && status !== "incomplete")) return undefined;
  return { id, elements: listField(response, "output").filter(isObject), kind: "added" };
}

/** A chat completion, chunk by chunk. Only its first choice is read. */
class ChatChunks {
  #text = "";
  readonly #calls: { id: string; name: string; json: string }[] = [];

  take(chunk: JsonObject): ReadReply | undefined {
    const choice = listField(chunk, "choices").find(isObject);
    const delta = choice === undefined ? undefined : field(choice, "delta");
    if (choice === undefined || !isObject(delta)) return undefined;
    this.#text += textField(delta, "content") ?? "";
    for (const piece of listField(delta, "tool_calls").filter(isObject)) this.#takeCall(piece);
    if (textField(choice, "finish_reason") === undefined) return undefined;
    const calls = this.#calls.filter(isObject).map(({ id, name, json }) => {
      return { id, type: "function", function: { name, arguments: json } };
    });
    return readChat({ ...chunk, choices: [{ message: { content: this.#text, tool_calls: calls } }] });
  }

  #takeCall(piece: JsonObject): void {
    const index = field(piece, "index");
    const called = field(piece, "function");
    const call = (this.#calls[typeof index === "number" ? index : 0] ??= { id: "", name: "", json: "" });
    call.id ||= textField(piece, "id") ?? "";
    if (!isObject(called)) return;
    call.name ||= textField(called, "name") ?? "";
    call.json += textField(called, "arguments") ?? "";
  }
}

function readChat(completion: JsonObject): ReadReply | undefined {
  const choice = listField(completion, "choices").find(isObject);
  const message = choice === undefined ? undefined : field(choice, "message");
  if (!isObject(message)) return undefined;
  const { content = null } = message;
  const calls = listField(message, "tool_calls");
  const element = { role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: [...calls] }) };
  return { id: textField(completion, "id") ?? "", elements: [element], kind: "added" };
}

const readWholeByProvider: Readonly<Record<Provider, (reply: JsonObject) => ReadReply | undefined>> = {
  anthropic: readMessage,
  "openai-chat": readChat,
  "openai-responses": readResponse,
};
