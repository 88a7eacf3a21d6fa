import { hash } from "node:crypto";
import { MessageDigester } from "palimpsest/internal/context/sync/message-digester";
import { parseMessageByProvider } from "palimpsest/internal/context/sync/parse-messages";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";

/** A list of messages, as it is recognised: by what it says, not by its bytes. */
export interface ListDigests {
  /** Of each message alone. Empty if it says nothing that counts. */
  readonly messages: readonly string[];
  /** Of the list up to and including each message. */
  readonly prefixDigests: readonly string[];
  /** Whether each message is of a reply. One that says nothing that counts is like the one before it. */
  readonly replies: readonly boolean[];
}

/**
 * Digests of lists. A message's value that was seen before costs a look-up: the bodies of a conversation share the values of
 * what did not change.
 */
export class ListDigester {
  /** Each message is read once, for recognition and for the context that takes it over. */
  readonly messages: MessageDigester;
  readonly #readByValue = new WeakMap<JsonObject, ReadMessage>();

  constructor(provider: Provider) {
    this.messages = new MessageDigester({ hash: sha256 }, parseMessageByProvider[provider]);
  }

  /** `known`: the digests of a list whose first `unchanged` messages are the same. */
  digest(
    values: readonly JsonObject[],
    { known, unchanged = 0 }: { readonly known?: ListDigests | undefined; readonly unchanged?: number } = {},
  ): ListDigests {
    const from = Math.min(unchanged, known?.messages.length ?? 0, values.length);
    const messages = known?.messages.slice(0, from) ?? [];
    const prefixDigests = known?.prefixDigests.slice(0, from) ?? [];
    const replies = known?.replies.slice(0, from) ?? [];
    for (const value of values.slice(from)) {
      const { digest: message, isReply } = this.#read(value);
      messages.push(message);
      replies.push(message === "" ? (replies.at(-1) ?? false) : isReply);
      const before = prefixDigests.at(-1) ?? "";
      prefixDigests.push(message === "" ? before : digest(`${before} ${message}`));
    }
    return { messages, prefixDigests, replies };
  }

  /** Of a list with more messages behind it. */
  extend(list: string, values: readonly JsonObject[]): string {
    return values.reduce((before, value) => {
      const { digest: message } = this.#read(value);
      return message === "" ? before : digest(`${before} ${message}`);
    }, list);
  }

  #read(value: JsonObject): ReadMessage {
    const known = this.#readByValue.get(value);
    if (known !== undefined) return known;
    const { items } = this.messages.read(value);
    const read = {
      digest: items.length === 0 ? "" : digest(items.map((item) => item.digest).join(" ")),
      isReply: items.some(({ role }) => role === "assistant"),
    };
    this.#readByValue.set(value, read);
    return read;
  }
}

interface ReadMessage {
  /** Empty if it says nothing that counts. */
  readonly digest: string;
  readonly isReply: boolean;
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

const digest = (text: string): string => sha256(text).slice(0, digestChars);

/** 64 bits: enough for the lists of one scope, and short in memory and on disk. */
const digestChars = 16;
