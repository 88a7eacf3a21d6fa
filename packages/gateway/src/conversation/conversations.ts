import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { ContextEvent } from "palimpsest/internal/context/outcomes";
import type { Store } from "palimpsest/internal/ports/store";
import { RequestBody } from "../body/request-body.ts";
import type { ConversationRow, GatewayState, ReleaseOutcome } from "../operate/gateway-state.ts";
import { type ConversationScope, scopeName, toolsName } from "../recognise/conversation-index.ts";
import { type ListDigests, ListDigester } from "../recognise/list-digests.ts";
import { readIdentity } from "../recognise/read-identity.ts";
import { readClientList } from "./client-list.ts";
import type { ConversationLog } from "./conversation-log.ts";
import { GatewayConversation, type ReductionOptions } from "./gateway-conversation.ts";
import { RefusedAdditions } from "./refused-additions.ts";
import type { ToolBook } from "./tool-book.ts";
import { guessBytes, guessesMax, idleMs, openMax } from "./limits.ts";
import { wireFormats } from "./wire-format.ts";

/** Whose conversations, and of which project. */
export interface ConversationPlace {
  readonly user: string;
  readonly project: string | undefined;
}

export interface ConversationsDeps {
  readonly openStore: (place: ConversationPlace) => Store;
  readonly reduction: () => ReductionOptions;
  readonly log: ConversationLog;
  /** Absent: no tools are deferred. */
  readonly toolBook?: ToolBook | undefined;
  readonly now: () => number;
  readonly onEvent?: ((id: string, event: ContextEvent) => void) | undefined;
}

export interface FindInput extends ConversationPlace {
  readonly provider: Provider;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
  /** Who writes summaries of a conversation that is opened. By default nobody. */
  readonly summarizer?: "own" | "none" | undefined;
  /** Whether a list that is not known begins a conversation, and one that is known in parts changes it. */
  readonly unknown: "begin" | "ignore";
}

/** A request whose conversation is known. */
export interface FoundRequest {
  readonly open: OpenConversation;
  readonly body: RequestBody;
  readonly previous: RequestBody | undefined;
  /** Digest of its list. */
  readonly list: string;
  /** If the conversation is a new one: resolves when it will be found again after a crash. Never rejects. */
  readonly begun: Promise<void> | undefined;
}

/** A conversation in memory. */
export interface OpenConversation {
  readonly id: string;
  readonly conversation: GatewayConversation<Provider>;
  readonly row: MutableRow;
  /** The newest body that was found to be its own. */
  newest: { readonly body: RequestBody; readonly digests: ListDigests } | undefined;
  /** Tokens of the client's own list at its last request, as estimated, and when that was. */
  lastSent: { readonly tokens: number; readonly at: number } | undefined;
  /** Requests that use it now. It is not closed before they have ended. */
  running: number;
}

type MutableRow = { -readonly [Key in keyof ConversationRow]: ConversationRow[Key] };

/** The conversations of all clients. Those that nobody asks are closed; they are opened again when their client goes on. */
export class Conversations implements GatewayState {
  readonly #deps: ConversationsDeps;
  readonly #open = new Map<string, OpenConversation>();
  /** Rows of conversations that were asked since the gateway started, newest last. */
  readonly #rows = new Map<string, MutableRow>();
  readonly #guesses = new Map<string, string[]>();
  readonly #digesters: Readonly<Record<Provider, ListDigester>> = {
    anthropic: new ListDigester("anthropic"),
    "openai-chat": new ListDigester("openai-chat"),
    "openai-responses": new ListDigester("openai-responses"),
  };
  readonly #timer: NodeJS.Timeout;
  readonly #refused: RefusedAdditions;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
    this.#refused = new RefusedAdditions(deps.now);
    this.#timer = setInterval(() => void this.#closeIdle(), idleMs / 2);
    this.#timer.unref();
  }

  /**
   * Undefined if the bytes hold no list of messages, if the server has the beginning of the list, or if the list is unknown
   * and shall not begin a conversation.
   */
  find(input: FindInput): FoundRequest | undefined {
    const { provider, headers, bytes, user, project } = input;
    const format = wireFormats[provider];
    const guess = this.#guess(input);
    const previous = guess?.newest?.body;
    const body = RequestBody.read(bytes, { list: format.list, previous });
    if (body === undefined || serverFields.some((name) => (body.field(name) ?? null) !== null)) return undefined;
    const list = readClientList(format, body);
    const { client, ...identity } = readIdentity({
      headers,
      field: (name) => body.field(name),
      lead: list.lead.map(({ value }) => value),
    });
    const scope: ConversationScope = { user, project, provider, ...identity };
    const digests = this.#digesters[provider].digest(
      list.elements.map(({ value }) => value),
      { known: guess?.newest?.digests, unchanged: previous === undefined ? 0 : list.unchanged },
    );
    const found = this.#deps.log.index.find(scope, digests, this.#deps.now());
    if (input.unknown === "ignore" && !(found.kind === "found" && found.by === "list")) return undefined;
    const { id, begun } =
      found.kind === "found" ? { id: found.id, begun: undefined } : this.#begin(scope, { client, project });
    const open = this.#openConversation(id, input);
    const model = body.field("model");
    open.row.model = typeof model === "string" ? model : "";
    open.newest = { body, digests };
    const newest = digests.lists.at(-1) ?? "";
    this.#deps.log.note(id, { list: newest, tail: ownMessages(digests) });
    this.#remember(input, id);
    return { open, body, previous: previous === open.conversation.body ? previous : undefined, list: newest, begun };
  }

  /** Newest first. */
  conversations({ user }: { readonly user?: string | undefined } = {}): readonly ConversationRow[] {
    return [...this.#rows.values()].filter((row) => user === undefined || row.user === user).toReversed();
  }

  async release(id: string): Promise<ReleaseOutcome> {
    const open = this.#open.get(id);
    if (open === undefined) return "not-open";
    if (open.running > 0) return "running";
    await this.#close(open);
    return "released";
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open.values()].map(({ conversation }) => conversation.close().catch(() => undefined)));
    this.#open.clear();
    await this.#deps.log.close();
    await this.#deps.toolBook?.close();
  }

  #begin(
    scope: ConversationScope,
    { client, project }: { readonly client: string | undefined; readonly project: string | undefined },
  ): { readonly id: string; readonly begun: Promise<void> } {
    const id = randomUUID();
    const known = { id, scope: scopeName(scope), tools: toolsName(scope) };
    return { id, begun: this.#deps.log.add(known, { user: scope.user, project, client }) };
  }

  #openConversation(id: string, { provider, user, project, summarizer = "none" }: FindInput): OpenConversation {
    const known = this.#open.get(id);
    if (known !== undefined) {
      // The one that was used last is last.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const { openStore, reduction, onEvent, log, toolBook } = this.#deps;
    const facts = log.facts(id);
    const opened: OpenConversation = {
      id,
      conversation: new GatewayConversation<Provider>({
        provider,
        session: id,
        store: openStore({ user, project: facts?.project ?? project }),
        reduction: reduction(),
        client: facts?.client,
        toolUse: toolBook === undefined ? undefined : { book: toolBook, who: `${user} ${facts?.client ?? ""}` },
        now: this.#deps.now,
        refused: this.#refused,
        onEvent: (event) => onEvent?.(id, event),
        summarizer,
      }),
      row: this.#rows.get(id) ?? newRow({ id, user, project, client: facts?.client }),
      newest: undefined,
      lastSent: undefined,
      running: 0,
    };
    this.#open.set(id, opened);
    if (this.#open.size > openMax) void this.#closeOldest(opened);
    return opened;
  }

  /** The client has the whole reply: the same request again is no retry. */
  replied({ open, list }: FoundRequest): void {
    this.#deps.log.index.setReplied(open.id, { list, at: this.#deps.now() });
  }

  /** Called for each request that is sent. */
  countRequest(open: OpenConversation): void {
    open.row.requests += 1;
    open.row.lastAt = this.#deps.now();
    this.#rows.delete(open.id);
    this.#rows.set(open.id, open.row);
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > rowsMax && oldest !== undefined) this.#rows.delete(oldest);
  }

  /** The conversation with the same headers whose newest body begins like this one. */
  #guess(input: FindInput): OpenConversation | undefined {
    const beginning = Buffer.from(
      input.bytes.buffer,
      input.bytes.byteOffset,
      Math.min(guessBytes, input.bytes.byteLength),
    );
    for (const id of this.#guesses.get(guessKey(input)) ?? []) {
      const open = this.#open.get(id);
      const bytes = open?.newest?.body.bytes.subarray(0, guessBytes);
      const shared = Math.min(bytes?.length ?? 0, beginning.length, guessBytes / 2);
      if (bytes !== undefined && bytes.subarray(0, shared).equals(beginning.subarray(0, shared))) return open;
    }
    return undefined;
  }

  #remember(input: FindInput, id: string): void {
    const key = guessKey(input);
    const known = this.#guesses.get(key) ?? [];
    if (known[0] === id) return;
    this.#guesses.delete(key);
    this.#guesses.set(key, [id, ...known.filter((other) => other !== id)].slice(0, guessesMax));
    const [oldest] = this.#guesses.keys();
    if (this.#guesses.size > rowsMax && oldest !== undefined) this.#guesses.delete(oldest);
  }

  async #closeIdle(): Promise<void> {
    const before = this.#deps.now() - idleMs;
    for (const open of this.#open.values().toArray())
      if (open.running === 0 && open.row.lastAt < before) await this.#close(open);
  }

  /** Never the one that is about to be used. */
  async #closeOldest(newest: OpenConversation): Promise<void> {
    const oldest = this.#open.values().find((open) => open.running === 0 && open !== newest);
    if (oldest !== undefined) await this.#close(oldest);
  }

  async #close(open: OpenConversation): Promise<void> {
    this.#open.delete(open.id);
    await open.conversation.close().catch(() => undefined);
  }
}

/** The messages from the first reply on. What comes before it is what other conversations may begin with too. */
const ownMessages = ({ messages, replies }: ListDigests): readonly string[] => {
  const first = replies.indexOf(true);
  return first === -1 ? [] : messages.slice(first);
};

/** Fields of the Responses API by which the server adds what it keeps: the list in the request is only the end of it. */
const serverFields = ["previous_response_id", "conversation"];

/** Rows that the status shows. */
const rowsMax = 20_000;

const newRow = (facts: Pick<ConversationRow, "id" | "user" | "project" | "client">): MutableRow => ({
  ...facts,
  model: "",
  requests: 0,
  inputTokensSent: 0,
  inputTokensUsed: 0,
  savedUsd: 0,
  edits: 0,
  windowShareMax: 0,
  lastAt: 0,
});

const guessHeaders = [
  "x-claude-code-session-id",
  "x-claude-code-agent-id",
  "x-session-id",
  "session-id",
  "x-thread-id",
  "user-agent",
];

const guessKey = ({ user, project, provider, headers }: FindInput): string =>
  JSON.stringify([user, project, provider, ...guessHeaders.map((name) => headers[name] ?? "")]);
