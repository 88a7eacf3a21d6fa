import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { ContextEvent } from "palimpsest/internal/context/outcomes";
import type { Store } from "palimpsest/internal/ports/store";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { RequestBody } from "../body/request-body.ts";
import type { ConversationRow, GatewayState, ReleaseOutcome } from "../operate/gateway-state.ts";
import { localUser } from "../operate/users.ts";
import { type ConversationScope, scopeName, systemName, toolsName } from "../recognise/conversation-index.ts";
import { type ListDigests, ListDigester } from "../recognise/list-digests.ts";
import { readIdentity } from "../recognise/read-identity.ts";
import { readClientList } from "./client-list.ts";
import type { ConversationLog } from "./conversation-log.ts";
import { GatewayConversation, type ReductionOptions } from "./gateway-conversation.ts";
import { RefusedAdditions } from "./refused-additions.ts";
import type { ToolUsageLog } from "./tool-usage-log.ts";
import { guessBytes, guessesMax, idleMs, openMax } from "./limits.ts";
import type { WrittenBody } from "./request-writer.ts";
import { readSystem, wireFormats } from "./wire-format.ts";

/** Whose conversations, and of which project. */
export interface ConversationOwner {
  readonly user: string;
  readonly project: string | undefined;
}

export interface ConversationsDeps {
  readonly openStore: (place: ConversationOwner) => Store;
  readonly reduction: () => ReductionOptions;
  readonly log: ConversationLog;
  /** Absent: no tools are deferred. */
  readonly toolUsageLog?: ToolUsageLog | undefined;
  readonly now: () => number;
  readonly onEvent?: ((id: string, event: ContextEvent) => void) | undefined;
}

export interface FindInput extends ConversationOwner {
  readonly provider: Provider;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
  /** Who writes summaries of a conversation that is opened. By default nobody. */
  readonly summarizer?: "own" | "none" | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** A request whose conversation is known. */
export interface MatchedRequest {
  readonly open: ActiveConversation;
  readonly body: RequestBody;
  readonly previous: RequestBody | undefined;
  /** Digest of its list. */
  readonly list: string;
  readonly signal: AbortSignal;
  /** If the conversation is a new one: resolves when it will be found again after a crash. Never rejects. */
  readonly begun: Promise<void> | undefined;
}

/** A conversation in memory. */
export interface ActiveConversation {
  readonly id: string;
  readonly conversation: GatewayConversation<Provider>;
  readonly row: MutableRow;
  /** The newest body that was found to be its own. */
  newest: { readonly body: RequestBody; readonly digests: ListDigests } | undefined;
  /** Tokens of the client's own list at its last request, as estimated, and when that was. */
  lastSent: { readonly tokens: number; readonly at: number } | undefined;
  /** Requests that use it now. It is not closed before they have ended. */
  running: number;
  /** Those of them whose clients have no whole reply; aborted if the client has gone. */
  readonly waiting: Set<AbortSignal>;
}

/** A request that was read, before its conversation is known. */
interface ReadRequest {
  readonly body: RequestBody;
  /** The body that it was read with. */
  readonly previous: RequestBody | undefined;
  readonly client: string | undefined;
  readonly scope: ConversationScope;
  readonly digests: ListDigests;
}

/** Sessions of this user were deleted. */
type ForgetListener = (user: string, sessions: readonly string[]) => Promise<void>;

type MutableRow = { -readonly [Key in keyof ConversationRow]: ConversationRow[Key] };

/** The conversations of all clients. Those that nobody asks are closed; they are opened again when their client goes on. */
export class Conversations implements GatewayState {
  readonly #deps: ConversationsDeps;
  readonly #open = new Map<string, ActiveConversation>();
  /** Rows of conversations that were asked since the gateway started, newest last. */
  readonly #rows = new Map<string, MutableRow>();
  readonly #guesses = new Map<string, string[]>();
  readonly #digesters: Readonly<Record<Provider, ListDigester>> = {
    anthropic: new ListDigester("anthropic"),
    "openai-chat": new ListDigester("openai-chat"),
    "openai-responses": new ListDigester("openai-responses"),
  };
  readonly #timer: NodeJS.Timeout;
  readonly #forgetListeners: ForgetListener[] = [];
  readonly #refused: RefusedAdditions;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
    this.#refused = new RefusedAdditions(deps.now);
    this.#timer = setInterval(() => void this.#closeIdle(), idleMs / 2);
    this.#timer.unref();
  }

  /** Undefined if the bytes hold no list of messages, or if the server has the beginning of the list. */
  find(input: FindInput): MatchedRequest | undefined {
    const read = this.#read(input);
    return read === undefined ? undefined : this.#take(input, read);
  }

  /** `taken`: it would be of a conversation whose client waits for a reply, if that client has not gone just now. */
  findUnlessTaken(input: FindInput): MatchedRequest | "taken" | undefined {
    const read = this.#read(input);
    if (read === undefined) return undefined;
    const isFound = (isTaken: (id: string) => boolean): boolean =>
      this.#deps.log.index.find(read.scope, read.digests, isTaken).kind === "found";
    const isTaken = !isFound((id) => isAsked(this.#open.get(id))) && isFound(() => false);
    return isTaken ? "taken" : this.#take(input, read);
  }

  #take(input: FindInput, { body, previous, scope, client, digests }: ReadRequest): MatchedRequest {
    const { log } = this.#deps;
    const found = log.index.find(scope, digests, (id) => isAsked(this.#open.get(id)));
    const { id, begun } =
      found.kind === "found"
        ? { id: found.id, begun: undefined }
        : this.#begin(scope, { client, project: input.project });
    const open = this.#openConversation(id, input);
    const model = body.field("model");
    open.row.model = typeof model === "string" ? model : "";
    open.newest = { body, digests };
    const list = digests.lists.at(-1) ?? "";
    log.note(id, { list, tail: ownMessages(digests), system: scope.system });
    this.#remember(input, id);
    return {
      open,
      body,
      previous: previous === open.conversation.body ? previous : undefined,
      list,
      signal: input.signal,
      begun,
    };
  }

  /**
   * A request whose tokens are counted, with the list as it was last sent and what is new behind it. Undefined if it does not go
   * on from the newest list of a conversation that is open. Changes nothing: the client may go on with another list.
   */
  count(input: FindInput): WrittenBody | undefined {
    const read = this.#read(input);
    const id = read === undefined ? undefined : this.#deps.log.index.findNewest(read.scope, read.digests);
    const { newest, conversation } = this.#open.get(id ?? "") ?? {};
    if (read === undefined || newest === undefined || conversation?.body !== newest.body) return undefined;
    const { lists } = newest.digests;
    return read.digests.lists[lists.length - 1] === lists.at(-1) ? conversation.count(read.body) : undefined;
  }

  #read(input: FindInput): ReadRequest | undefined {
    const { provider, headers, bytes, user, project } = input;
    const format = wireFormats[provider];
    const guess = this.#guess(input);
    const previous = guess?.newest?.body;
    const body = RequestBody.read(bytes, { list: format.list, previous });
    if (body === undefined || serverFields.some((name) => (body.field(name) ?? null) !== null)) return undefined;
    const list = readClientList(format, body);
    const lead = list.lead.map(({ value }) => value);
    const { client, ...identity } = readIdentity({ headers, field: (name) => body.field(name), lead });
    const { systemField } = format;
    const system = readSystem(systemField === undefined ? undefined : body.field(systemField), lead);
    const digests = this.#digesters[provider].digest(
      list.elements.map(({ value }) => value),
      { known: guess?.newest?.digests, unchanged: previous === undefined ? 0 : list.unchanged },
    );
    const isNamed = identity.session !== undefined;
    const scope = { user, project, provider, ...identity, system: isNamed ? undefined : systemName(system) };
    return { body, previous, client, scope, digests };
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

  /**
   * The upstream refused the request that began the conversation: nothing was said in it, so nothing is kept of it. Not if
   * another request has found it meanwhile. Must not reject.
   */
  async discard({ open, begun }: MatchedRequest): Promise<void> {
    if (begun === undefined || open.running > 1) return;
    const { id, row } = open;
    // At once: the client's next try may come as soon as it has the refusal.
    this.#drop(id);
    await begun;
    await open.conversation.close().catch(() => undefined);
    const store = await this.#deps.openStore({ user: row.user, project: row.project }).open();
    const deletion = store.kind === "open" ? store.deletion : undefined;
    if ((await deletion?.detach(sessionId(id)))?.kind === "detached") await deletion?.purge([sessionId(id)]);
  }

  async forget(ids: readonly string[]): Promise<void> {
    const userById = new Map(ids.map((id) => [id, this.#deps.log.facts(id)?.user ?? localUser]));
    for (const id of ids) {
      const open = this.#open.get(id);
      this.#drop(id);
      await open?.conversation.close().catch(() => undefined);
    }
    await this.#deps.log.rewrite();
    for (const [user, own] of Map.groupBy(ids, (id) => userById.get(id) ?? localUser))
      for (const listener of this.#forgetListeners) await listener(user, own);
  }

  /** For what is kept of conversations elsewhere. */
  onForget(listener: ForgetListener): void {
    this.#forgetListeners.push(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open.values()].map(({ conversation }) => conversation.close().catch(() => undefined)));
    this.#open.clear();
    await this.#deps.log.close();
    await this.#deps.toolUsageLog?.close();
  }

  #begin(
    scope: ConversationScope,
    { client, project }: { readonly client: string | undefined; readonly project: string | undefined },
  ): { readonly id: string; readonly begun: Promise<void> } {
    const id = randomUUID();
    const known = { id, scope: scopeName(scope), tools: toolsName(scope) };
    return { id, begun: this.#deps.log.add(known, { user: scope.user, project, client }) };
  }

  #openConversation(id: string, { provider, user, project, summarizer = "none" }: FindInput): ActiveConversation {
    const known = this.#open.get(id);
    if (known !== undefined) {
      // The one that was used last is last.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const { openStore, reduction, onEvent, log, toolUsageLog } = this.#deps;
    const facts = log.facts(id);
    const opened: ActiveConversation = {
      id,
      conversation: new GatewayConversation<Provider>({
        provider,
        session: id,
        store: openStore({ user, project: facts?.project ?? project }),
        reduction: reduction(),
        client: facts?.client,
        toolUse: toolUsageLog === undefined ? undefined : { book: toolUsageLog, who: `${user} ${facts?.client ?? ""}` },
        now: this.#deps.now,
        digester: this.#digesters[provider].messages,
        refused: this.#refused,
        onEvent: (event) => onEvent?.(id, event),
        summarizer,
      }),
      row: this.#rows.get(id) ?? newRow({ id, user, project, client: facts?.client, since: this.#deps.now() }),
      newest: undefined,
      lastSent: undefined,
      running: 0,
      waiting: new Set(),
    };
    this.#open.set(id, opened);
    if (this.#open.size > openMax) void this.#closeOldest(opened);
    return opened;
  }

  /** The request is being answered, until `leave`. */
  enter({ open, signal }: MatchedRequest): void {
    open.running += 1;
    open.waiting.add(signal);
  }

  /** The client has the whole reply: the same request again is no retry. */
  replied({ open, list, signal }: MatchedRequest): void {
    open.waiting.delete(signal);
    this.#deps.log.index.setReplied(open.id, list);
  }

  leave({ open, signal }: MatchedRequest): void {
    open.running -= 1;
    open.waiting.delete(signal);
  }

  /** Whether other conversations have been asked with the same list: then the reply tells which one a client goes on with. */
  isShared({ open }: MatchedRequest): boolean {
    return this.#deps.log.index.isShared(open.id);
  }

  /** What the reply says, as the client would send it back. */
  noteReply({ open, list }: MatchedRequest, { provider, elements }: ReadElements): void {
    const replyList = this.#digesters[provider].extend(list, elements);
    this.#deps.log.index.setReply(open.id, { list, replyList });
  }

  /** Called for each request that is sent. */
  countRequest(open: ActiveConversation, { windowTokens }: { readonly windowTokens: number }): void {
    this.#deps.log.noteWindow(open.id, windowTokens);
    open.row.requests += 1;
    open.row.lastAt = this.#deps.now();
    this.#rows.delete(open.id);
    this.#rows.set(open.id, open.row);
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > rowsMax && oldest !== undefined) this.#rows.delete(oldest);
  }

  /** The conversation with the same headers whose newest body begins like this one. */
  #guess(input: FindInput): ActiveConversation | undefined {
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
  async #closeOldest(newest: ActiveConversation): Promise<void> {
    const oldest = this.#open.values().find((open) => open.running === 0 && open !== newest);
    if (oldest !== undefined) await this.#close(oldest);
  }

  #drop(id: string): void {
    this.#open.delete(id);
    this.#rows.delete(id);
    this.#deps.log.remove(id);
  }

  async #close(open: ActiveConversation): Promise<void> {
    this.#open.delete(open.id);
    await open.conversation.close().catch(() => undefined);
  }
}

interface ReadElements {
  readonly provider: Provider;
  readonly elements: readonly JsonObject[];
}

const isAsked = (open: ActiveConversation | undefined): boolean =>
  open?.waiting.values().some(({ aborted }) => !aborted) === true;

/** The messages from the first reply on. What comes before it is what other conversations may begin with too. */
const ownMessages = ({ messages, replies }: ListDigests): readonly string[] => {
  const first = replies.indexOf(true);
  return first === -1 ? [] : messages.slice(first);
};

/** Fields of the Responses API by which the server adds what it keeps: the list in the request is only the end of it. */
const serverFields = ["previous_response_id", "conversation"];

/** Rows that the status shows. */
const rowsMax = 20_000;

const newRow = (facts: Pick<ConversationRow, "id" | "user" | "project" | "client" | "since">): MutableRow => ({
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
