import type { IncomingHttpHeaders } from "node:http";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { RequestBody } from "../../body/request-body.ts";
import { type ConversationScope, systemName } from "../../recognise/conversation-index.ts";
import { type ListDigests, ListDigester } from "../../recognise/list-digests.ts";
import { readIdentity } from "../../recognise/read-identity.ts";
import { readClientList } from "./client-list.ts";
import { guessBytes, guessesMax, guessKeysMax } from "../limits.ts";
import { readSystem, wireFormats } from "./wire-format.ts";

/** Whose conversations, and of which project. */
export interface ConversationOwner {
  readonly user: string;
  readonly project: string | undefined;
}

export interface RequestInput extends ConversationOwner {
  readonly provider: Provider;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
}

/** A body, and the digests of its list. */
export interface DigestedBody {
  readonly body: RequestBody;
  readonly digests: ListDigests;
}

/** A request that was read, before its conversation is known. */
export interface ReadRequest extends DigestedBody {
  /** The body that it was read with. */
  readonly previous: RequestBody | undefined;
  readonly client: string | undefined;
  readonly scope: ConversationScope;
}

/**
 * Reads requests. What a body shares with an earlier one of its conversation is not read again, and before the conversation is
 * known, that one is guessed: from the conversations with the same headers. A wrong guess costs time only.
 */
export class RequestReader {
  readonly digesters: Readonly<Record<Provider, ListDigester>> = {
    anthropic: new ListDigester("anthropic"),
    "openai-chat": new ListDigester("openai-chat"),
    "openai-responses": new ListDigester("openai-responses"),
  };
  readonly #newestBody: (id: string) => DigestedBody | undefined;
  /** The conversation that was asked last is first. */
  readonly #idsByHeaders = new Map<string, readonly string[]>();

  /** `newestBody`: of a conversation, if it is in memory. */
  constructor(newestBody: (id: string) => DigestedBody | undefined) {
    this.#newestBody = newestBody;
  }

  /** Undefined if the bytes hold no list of messages, or if the server has the beginning of the list. */
  read(input: RequestInput): ReadRequest | undefined {
    const { provider, headers, bytes, user, project } = input;
    const format = wireFormats[provider];
    const earlier = this.#guessEarlier(input);
    const previous = earlier?.body;
    const body = RequestBody.read(bytes, { list: format.listField, previous });
    if (body === undefined || serverFields.some((name) => (body.field(name) ?? null) !== null)) return undefined;
    const list = readClientList(format, body);
    const preamble = list.preamble.map(({ value }) => value);
    const { client, ...identity } = readIdentity({ headers, field: (name) => body.field(name), preamble });
    const { systemField } = format;
    const system = readSystem(systemField === undefined ? undefined : body.field(systemField), preamble);
    const digests = this.digesters[provider].digest(
      list.elements.map(({ value }) => value),
      { known: earlier?.digests, unchanged: previous === undefined ? 0 : list.unchanged },
    );
    const isNamed = identity.session !== undefined;
    const scope = { user, project, provider, ...identity, system: isNamed ? undefined : systemName(system) };
    return { body, previous, client, scope, digests };
  }

  /** The request is of this conversation: the next one with its headers may be too. */
  remember(input: RequestInput, id: string): void {
    const key = headersKey(input);
    const ids = this.#idsByHeaders.get(key) ?? [];
    if (ids[0] === id) return;
    this.#idsByHeaders.delete(key);
    this.#idsByHeaders.set(key, [id, ...ids.filter((other) => other !== id)].slice(0, guessesMax));
    const [oldest] = this.#idsByHeaders.keys();
    if (this.#idsByHeaders.size > guessKeysMax && oldest !== undefined) this.#idsByHeaders.delete(oldest);
  }

  /** The newest body of a conversation with the same headers that begins like this one. */
  #guessEarlier(input: RequestInput): DigestedBody | undefined {
    const { buffer, byteOffset, byteLength } = input.bytes;
    const beginning = Buffer.from(buffer, byteOffset, Math.min(guessBytes, byteLength));
    for (const id of this.#idsByHeaders.get(headersKey(input)) ?? []) {
      const newest = this.#newestBody(id);
      const bytes = newest?.body.bytes.subarray(0, guessBytes);
      const shared = Math.min(bytes?.length ?? 0, beginning.length, guessBytes / 2);
      if (bytes !== undefined && bytes.subarray(0, shared).equals(beginning.subarray(0, shared))) return newest;
    }
    return undefined;
  }
}

/** Fields of the Responses API by which the server adds what it keeps: the list in the request is only the end of it. */
const serverFields = ["previous_response_id", "conversation"];

const comparedHeaders = [
  "x-claude-code-session-id",
  "x-claude-code-agent-id",
  "x-session-id",
  "session-id",
  "x-thread-id",
  "user-agent",
];

const headersKey = ({ user, project, provider, headers }: RequestInput): string =>
  JSON.stringify([user, project, provider, ...comparedHeaders.map((name) => headers[name] ?? "")]);
