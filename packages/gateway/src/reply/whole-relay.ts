import type { Provider } from "palimpsest/internal/context/provider-formats";
import {
  field,
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
  tryParseJson,
} from "palimpsest/internal/schema/json";
import { answeredReasons, objectField, type PartialCall, type RelayOptions, replyEnd, type ReplyEnd } from "./relay.ts";
import { isClientCall, isGatewayCall, readCall, withoutGatewayTools } from "./responses-stream.ts";
import { joinUsage } from "./usage.ts";

/**
 * Relays a reply that is not streamed. A reply that needs no change leaves as the bytes that came. Call `take` again with
 * the next reply if the client waits.
 */
export class WholeRelay {
  readonly #options: RelayOptions;
  /** What the client has to be shown of the replies so far. */
  #earlier: JsonObject | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** `out` is undefined while the client waits. What is no reply passes as it is. */
  take(bytes: Uint8Array): { readonly out: Uint8Array | undefined; readonly end: ReplyEnd } {
    const { provider, gatewayTools, onEvent } = this.#options;
    const reply = tryParseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    const format = formats[provider];
    if (!isObject(reply) || !Array.isArray(field(reply, format.content)))
      return { out: bytes, end: { kind: "broken" } };
    onEvent(reply);
    const earlier = this.#earlier;
    const { shown, calls, client } = format.show(reply, { gatewayTools, earlier });
    const joined = earlier === undefined ? shown : joinReplies(provider, { earlier, last: shown });
    const isFailed = textField(reply, "status") === "failed";
    const end: ReplyEnd = isFailed ? { kind: "broken" } : replyEnd(calls, client);
    if (client === "waits") {
      this.#earlier = joined;
      return { out: undefined, end };
    }
    const told = this.#tellUsage(joined);
    return { out: told === reply ? bytes : Buffer.from(JSON.stringify(told)), end };
  }

  #tellUsage(reply: JsonObject): JsonObject {
    const usage = field(reply, "usage");
    if (!isObject(usage) || this.#options.usage === undefined) return reply;
    const told = this.#options.usage(usage);
    return told === usage ? reply : { ...reply, usage: told };
  }
}

interface ShownReply {
  /** The same object if nothing is withheld. */
  readonly shown: JsonObject;
  readonly calls: readonly PartialCall[];
  readonly client: "complete" | "waits";
}

interface ReplyPlace {
  readonly gatewayTools: ReadonlySet<string>;
  /** What the client is shown before this reply. */
  readonly earlier: JsonObject | undefined;
}

interface WholeFormat {
  /** The field that makes an object a reply. */
  readonly content: string;
  show(reply: JsonObject, place: ReplyPlace): ShownReply;
  join(earlier: JsonObject, last: JsonObject): JsonObject;
}

interface TwoReplies {
  readonly earlier: JsonObject;
  readonly last: JsonObject;
}

/** Appends the last reply to the earlier one, under the id that the client knows. */
function joinReplies(provider: Provider, { earlier, last }: TwoReplies): JsonObject {
  const [before, after, id] = [field(earlier, "usage"), field(last, "usage"), field(earlier, "id")];
  return {
    ...last,
    ...formats[provider].join(earlier, last),
    ...(id === undefined ? {} : { id }),
    ...(isObject(before) && isObject(after) ? { usage: joinUsage(provider, { earlier: before, last: after }) } : {}),
  };
}

const joinLists = (key: string, { earlier, last }: TwoReplies): JsonObject => ({
  [key]: [...listField(earlier, key), ...listField(last, key)],
});

const anthropic: WholeFormat = {
  content: "content",
  show: (reply, { gatewayTools, earlier }) => {
    const calls: PartialCall[] = [];
    let hasClientCall = false;
    const before = earlier === undefined ? 0 : listField(earlier, "content").length;
    const content: Json[] = [];
    for (const block of listField(reply, "content")) {
      const isCall = isObject(block) && textField(block, "type") === "tool_use";
      const name = isCall ? (textField(block, "name") ?? "") : "";
      if (isCall && gatewayTools.has(name)) {
        const json = JSON.stringify(field(block, "input") ?? {});
        calls.push({ id: textField(block, "id") ?? "", name, json, after: before + content.length });
      } else content.push(block);
      hasClientCall ||= isCall && !gatewayTools.has(name);
    }
    const reason = textField(reply, "stop_reason") ?? "tool_use";
    const waits = calls.length > 0 && !hasClientCall && answeredReasons.anthropic.has(reason);
    return { shown: calls.length === 0 ? reply : { ...reply, content }, calls, client: waits ? "waits" : "complete" };
  },
  join: (earlier, last) => joinLists("content", { earlier, last }),
};

const responses: WholeFormat = {
  content: "output",
  show: (response, { gatewayTools, earlier }) => {
    const calls: PartialCall[] = [];
    let hasClientCall = false;
    const before = earlier === undefined ? 0 : listField(earlier, "output").length;
    const output: Json[] = [];
    for (const item of listField(response, "output")) {
      if (isGatewayCall(item, gatewayTools)) calls.push({ ...readCall(item), after: before + output.length });
      else output.push(item);
      hasClientCall ||= isObject(item) && !isGatewayCall(item, gatewayTools) && isClientCall(item);
    }
    const named = withoutGatewayTools(response, gatewayTools);
    const status = textField(response, "status") ?? "completed";
    const waits = calls.length > 0 && !hasClientCall && status === "completed";
    return { shown: calls.length === 0 ? named : { ...named, output }, calls, client: waits ? "waits" : "complete" };
  },
  join: (earlier, last) => joinLists("output", { earlier, last }),
};

const chat: WholeFormat = {
  content: "choices",
  show: (completion, { gatewayTools, earlier }) => {
    const calls: PartialCall[] = [];
    let [hasClientCall, isCut] = [false, false];
    const choices = listField(completion, "choices").map((choice, at) => {
      const message = isObject(choice) ? objectField(choice, "message") : {};
      const before = earlier === undefined ? "" : spokenText(messageAt(earlier, at));
      const after = before.length + spokenText(message).length;
      const clientCalls: Json[] = [];
      for (const call of listField(message, "tool_calls")) {
        const calledFunction = isObject(call) ? objectField(call, "function") : {};
        const name = textField(calledFunction, "name") ?? "";
        if (!isObject(call) || !gatewayTools.has(name)) clientCalls.push(call);
        else {
          const json = textField(calledFunction, "arguments") ?? "";
          calls.push({ id: textField(call, "id") ?? "", name, json, after });
        }
      }
      hasClientCall ||= clientCalls.length > 0;
      if (!isObject(choice)) return choice;
      const finish = textField(choice, "finish_reason");
      isCut ||= finish !== undefined && !answeredReasons["openai-chat"].has(finish);
      const { tool_calls: _, ...rest } = message;
      return { ...choice, message: { ...rest, ...(clientCalls.length === 0 ? {} : { tool_calls: clientCalls }) } };
    });
    const waits = calls.length > 0 && !hasClientCall && !isCut;
    const shown = calls.length === 0 ? completion : { ...completion, choices };
    return { shown, calls, client: waits ? "waits" : "complete" };
  },
  join: (earlier, last) => ({
    ...("created" in earlier ? { created: field(earlier, "created") ?? null } : {}),
    choices: listField(last, "choices").map((choice, at) =>
      isObject(choice)
        ? { ...choice, message: joinMessages(messageAt(earlier, at), objectField(choice, "message")) }
        : choice,
    ),
  }),
};

const messageAt = (completion: JsonObject, at: number): JsonObject => {
  const choice = listField(completion, "choices")[at];
  return isObject(choice) ? objectField(choice, "message") : {};
};

const spokenText = (message: JsonObject): string => textField(message, "content") ?? "";

/** Texts are joined without anything between them, as a stream's client joins them. */
function joinMessages(earlier: JsonObject, last: JsonObject): JsonObject {
  const joined: Record<string, Json> = { ...earlier, ...last };
  for (const key of ["content", "reasoning_content", "reasoning"]) {
    const [before, after] = [textField(earlier, key), textField(last, key)];
    if (before !== undefined) joined[key] = before + (after ?? "");
  }
  return {
    ...joined,
    ...(listField(earlier, "annotations").length > 0 ? joinLists("annotations", { earlier, last }) : {}),
  };
}

const formats: Readonly<Record<Provider, WholeFormat>> = {
  anthropic,
  "openai-chat": chat,
  "openai-responses": responses,
};
