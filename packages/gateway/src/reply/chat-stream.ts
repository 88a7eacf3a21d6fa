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
import { joinUsage } from "./usage.ts";

/**
 * The chunks of a chat completion. A call's name comes whole in its first piece, as the SDKs assume.
 *
 * open → (finish_reason) → complete | waits; an error: broken. While the client waits, the reason, the usage and `[DONE]`
 * are withheld. Chunks of a continued reply have the id of the first one.
 */
export class ChatStream implements StreamFormat {
  readonly #options: RelayOptions;
  /** The fields that tell the client which completion a chunk belongs to. */
  #head: JsonObject | undefined;
  #earlierUsage: JsonObject | undefined;
  #isContinued = false;
  #chars = 0;
  #reply = newStreamState();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  take(chunk: JsonObject): ShownEvent {
    if (isObject(field(chunk, "error"))) {
      this.#reply.state = "broken";
      return "pass";
    }
    this.#head ??= readHead(chunk);
    const choices = field(chunk, "choices");
    const before = isArray(choices) ? choices : [];
    const after = before.map((choice) => (isObject(choice) ? this.#showChoice(choice) : choice));
    const usage = field(chunk, "usage");
    const told = isObject(usage) ? this.#tell(usage) : usage;
    const isChanged = after.some((choice, at) => choice !== before[at]);
    const isNullWithheld = usage === null && this.#options.usageChunk === "withhold";
    if (told === usage && !isChanged && !this.#isContinued) return isNullWithheld ? "without-usage" : "pass";
    const saysNothing = !isObject(told) && after.every(isEmptyChoice);
    if (saysNothing && (told !== usage || isChanged || after.length > 0)) return "withhold";
    const { usage: _, ...rest } = chunk;
    return {
      ...rest,
      ...(this.#isContinued ? this.#head : {}),
      ...(isArray(choices) ? { choices: after } : {}),
      ...(told === undefined || isNullWithheld ? {} : { usage: told }),
    };
  }

  takeOther(): "pass" | "withhold" {
    return this.#reply.state === "waits" ? "withhold" : "pass";
  }

  end(): ReplyEnd {
    const { state, calls } = this.#reply;
    return state === "complete" || state === "waits" ? replyEnd(calls, state) : { kind: "broken" };
  }

  continue(): void {
    this.#earlierUsage = this.#usage();
    this.#isContinued = true;
    this.#reply = newStreamState();
  }

  failure({ type, message }: RelayFailure): JsonObject {
    return { error: { message, type, param: null, code: null } };
  }

  /** The same object if it needs no change. */
  #showChoice(choice: JsonObject): JsonObject {
    const delta = objectField(choice, "delta");
    const pieces = listField(delta, "tool_calls");
    const key = field(choice, "index");
    const shownPieces = pieces.flatMap((piece) => (isObject(piece) ? this.#showPiece(piece, key) : piece));
    this.#chars += textField(delta, "content")?.length ?? 0;
    const finish = textField(choice, "finish_reason");
    if (finish !== undefined) this.#finish(finish);
    const isEndWithheld = finish !== undefined && this.#reply.state === "waits";
    const hasRole = this.#isContinued && field(delta, "role") !== undefined;
    const isSame = shownPieces.every((piece, at) => piece === pieces[at]) && shownPieces.length === pieces.length;
    if (isSame && !isEndWithheld && !hasRole) return choice;
    const { tool_calls: _, role, ...rest } = delta;
    const shown = {
      ...(role === undefined || hasRole ? {} : { role }),
      ...rest,
      ...(shownPieces.length === 0 ? {} : { tool_calls: shownPieces }),
    };
    return { ...choice, delta: shown, ...(isEndWithheld ? { finish_reason: null } : {}) };
  }

  /** Returns nothing for a piece of a gateway call. */
  #showPiece(piece: JsonObject, choice: Json | undefined): readonly JsonObject[] {
    const reply = this.#reply;
    const calledFunction = objectField(piece, "function");
    const serverIndex = field(piece, "index");
    const key = typeof serverIndex === "number" ? `${JSON.stringify(choice)}/${serverIndex}` : reply.lastKey;
    const id = textField(piece, "id") ?? "";
    let call = reply.callByKey.get(key);
    // Some servers give all calls the same index.
    if (call === undefined || (id !== "" && id !== call.id)) {
      const name = textField(calledFunction, "name") ?? "";
      call = { id, name, after: this.#chars, json: "", owner: "client", shift: reply.calls.length };
      if (this.#options.gatewayTools.has(name)) {
        call.owner = "gateway";
        reply.calls.push(call);
      } else reply.hasClientCall = true;
      reply.callByKey.set(key, call);
    }
    reply.lastKey = key;
    if (call.owner === "gateway") {
      call.json += textField(calledFunction, "arguments") ?? "";
      return [];
    }
    return call.shift === 0 || typeof serverIndex !== "number"
      ? [piece]
      : [{ ...piece, index: Math.max(0, serverIndex - call.shift) }];
  }

  #finish(reason: string): void {
    const { calls, hasClientCall, state } = this.#reply;
    if (state !== "open") return;
    this.#reply.state =
      calls.length > 0 && !hasClientCall && answeredReasons["openai-chat"].has(reason) ? "waits" : "complete";
  }

  #usage(): JsonObject {
    const earlier = this.#earlierUsage;
    return earlier === undefined ? this.#reply.usage : joinUsage("openai-chat", { earlier, last: this.#reply.usage });
  }

  /** What a chunk tells instead of `usage`, if anything. */
  #tell(usage: JsonObject): JsonObject | undefined {
    this.#reply.usage = usage;
    if (this.#reply.state === "waits" || this.#options.usageChunk === "withhold") return undefined;
    const sum = this.#usage();
    return this.#options.usage?.(sum) ?? sum;
  }
}

interface KnownCall extends PartialCall {
  owner: "client" | "gateway";
  /** How many gateway calls began before it. */
  readonly shift: number;
}

interface StreamState {
  state: "open" | "complete" | "waits" | "broken";
  usage: JsonObject;
  hasClientCall: boolean;
  /** Calls of gateway tools. */
  readonly calls: KnownCall[];
  /** By choice and index. */
  readonly callByKey: Map<string, KnownCall>;
  lastKey: string;
}

const newStreamState = (): StreamState => ({
  state: "open",
  usage: {},
  hasClientCall: false,
  calls: [],
  callByKey: new Map(),
  lastKey: "",
});

function readHead(chunk: JsonObject): JsonObject {
  const [id, created] = [field(chunk, "id"), field(chunk, "created")];
  return { ...(id === undefined ? {} : { id }), ...(created === undefined ? {} : { created }) };
}

/** Whether a choice tells the client nothing: no reason, and only empty fields. */
const isEmptyChoice = (choice: Json): boolean =>
  isObject(choice) &&
  typeof field(choice, "finish_reason") !== "string" &&
  Object.values(objectField(choice, "delta")).every(
    (value) => value === null || value === "" || (isArray(value) && value.length === 0),
  );
