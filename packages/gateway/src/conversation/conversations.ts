import { randomUUID } from "node:crypto";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { ContextEvent } from "palimpsest/internal/context/outcomes";
import type { Store } from "palimpsest/internal/ports/store";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { ConversationRow, ForgetOutcome, GatewayState, ReleaseOutcome } from "../operate/gateway-state.ts";
import { type Recognition, scopeName, toolsName } from "../recognise/conversation-index.ts";
import type { ListDigests } from "../recognise/list-digests.ts";
import type { ConversationLog } from "./conversation-log.ts";
import type { ReductionOptions } from "./conversation-context.ts";
import { GatewayConversation } from "./gateway-conversation.ts";
import type { DeletedSessions } from "./history/history-log.ts";
import { RefusedAdditions } from "./request/refused-additions.ts";
import type { ToolUsageLog } from "./tools/tool-usage-log.ts";
import { activeMax, idleMs, rowsMax } from "./limits.ts";
import {
  type ConversationOwner,
  type DigestedBody,
  type ReadRequest,
  type RequestInput,
  RequestReader,
} from "./request/request-reader.ts";
import { type CountRequest, readModel } from "./request/request-writer.ts";

export interface ConversationsDeps {
  readonly openStore: (owner: ConversationOwner) => Store;
  readonly reduction: () => ReductionOptions;
  readonly log: ConversationLog;
  /** Absent: no tools are deferred. */
  readonly toolUsageLog?: ToolUsageLog | undefined;
  readonly now: () => number;
  readonly onEvent?: ((id: string, event: ContextEvent) => void) | undefined;
}

export interface FindInput extends RequestInput {
  /** Who writes summaries of a conversation that becomes active. By default nobody. */
  readonly summarizer?: "own" | "none" | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** A request whose conversation is known. */
export interface MatchedRequest extends Pick<ReadRequest, "body" | "previous"> {
  readonly active: ActiveConversation;
  readonly listDigest: string;
  readonly signal: AbortSignal;
  /** If the conversation is a new one: resolves when it will be found again after a crash. Never rejects. */
  readonly persisted: Promise<void> | undefined;
}

/** A conversation in memory. */
export interface ActiveConversation {
  readonly id: string;
  readonly conversation: GatewayConversation<Provider>;
  readonly row: MutableRow;
  /** The newest body that was found to be its own. */
  newest: DigestedBody | undefined;
  /** Tokens of the client's own list at its last request, as estimated, and when that was. */
  lastSent: { readonly tokens: number; readonly at: number } | undefined;
  /** Requests that were found to be its own since it became active. */
  matches: number;
  /** Requests that use it now. It is not closed before they have ended. */
  running: number;
  /** Those of them whose clients have no whole reply; aborted if the client has gone. */
  readonly waiting: Set<AbortSignal>;
}

type ForgetListener = (deleted: DeletedSessions) => Promise<void>;

type MutableRow = { -readonly [Key in keyof ConversationRow]: ConversationRow[Key] };

/** The conversations of all clients. Those that nobody asks are closed; they are active again when their client goes on. */
export class Conversations implements GatewayState {
  readonly #deps: ConversationsDeps;
  readonly #active = new Map<string, ActiveConversation>();
  /** Rows of conversations that were asked since the gateway started, newest last. */
  readonly #rows = new Map<string, MutableRow>();
  readonly #reader = new RequestReader((id) => this.#active.get(id)?.newest);
  readonly #timer: NodeJS.Timeout;
  readonly #forgetListeners: ForgetListener[] = [];
  readonly #refused: RefusedAdditions;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
    this.#refused = new RefusedAdditions(deps.now);
    this.onForget(async ({ sessions }) => await deps.toolUsageLog?.forget(sessions));
    this.#timer = setInterval(() => void this.#closeIdle(), idleMs / 2);
    this.#timer.unref();
  }

  /** Undefined if the bytes hold no list of messages, or if the server has the beginning of the list. */
  find(input: FindInput): MatchedRequest | undefined {
    const read = this.#reader.read(input);
    return read === undefined ? undefined : this.#register(input, read, this.#recognise(read));
  }

  /** `taken`: it would be of a conversation whose client waits for a reply, if that client has not gone just now. */
  findUnlessTaken(input: FindInput): MatchedRequest | "taken" | undefined {
    const read = this.#reader.read(input);
    if (read === undefined) return undefined;
    let isAnyTaken = false;
    const recognition = this.#recognise(read, () => (isAnyTaken = true));
    if (!isAnyTaken) return this.#register(input, read, recognition);
    const ifNobodyWaits = this.#deps.log.index.find(read.scope, read.digests, () => false);
    const isTaken =
      ifNobodyWaits.kind === "found" && (recognition.kind === "new" || recognition.id !== ifNobodyWaits.id);
    return isTaken ? "taken" : this.#register(input, read, recognition);
  }

  /** `onTaken`: a conversation was passed over because its client waits for a reply. */
  #recognise({ scope, digests }: ReadRequest, onTaken?: () => void): Recognition {
    return this.#deps.log.index.find(scope, digests, (id) => {
      const isTaken = isAsked(this.#active.get(id));
      if (isTaken) onTaken?.();
      return isTaken;
    });
  }

  /** The request is the newest of its conversation, which is begun if it is new. */
  #register(input: FindInput, read: ReadRequest, recognition: Recognition): MatchedRequest {
    const { body, previous, scope, digests } = read;
    const { id, persisted } =
      recognition.kind === "found" ? { id: recognition.id, persisted: undefined } : this.#begin(read);
    const active = this.#activate(id, input);
    active.row.model = readModel(body);
    active.newest = { body, digests };
    active.matches += 1;
    const listDigest = digests.prefixDigests.at(-1) ?? "";
    this.#deps.log.note(id, { digests, tail: ownMessages(digests), system: scope.system });
    this.#reader.remember(input, id);
    return { active, body, previous, listDigest, signal: input.signal, persisted };
  }

  /**
   * A request whose tokens are counted, with the list as it was last sent and what is new behind it. Undefined if it does not go
   * on from the newest list of a conversation that is active. Changes nothing: the client may go on with another list.
   */
  count(input: FindInput): CountRequest | undefined {
    const read = this.#reader.read(input);
    const id = read === undefined ? undefined : this.#deps.log.index.findNewest(read.scope, read.digests);
    const { newest, conversation } = this.#active.get(id ?? "") ?? {};
    if (read === undefined || newest === undefined || conversation?.body !== newest.body) return undefined;
    const known = newest.digests.prefixDigests;
    const goesOn = read.digests.prefixDigests[known.length - 1] === known.at(-1);
    return goesOn ? conversation.count(read.body) : undefined;
  }

  /** Newest first. */
  conversations({ user }: { readonly user?: string | undefined } = {}): readonly ConversationRow[] {
    return [...this.#rows.values()].filter((row) => user === undefined || row.user === user).toReversed();
  }

  async release(id: string): Promise<ReleaseOutcome> {
    const active = this.#active.get(id);
    if (active === undefined) return "not-active";
    if (active.running > 0) return "running";
    await this.#close(active);
    return "released";
  }

  /**
   * The upstream refused the request that began the conversation: nothing was said in it, so nothing is kept of it. Not if
   * another request has found it meanwhile. Must not reject.
   */
  async discard({ active, persisted }: MatchedRequest): Promise<void> {
    if (persisted === undefined || active.matches > 1) return;
    const { id, row } = active;
    // At once: the client's next try may come as soon as it has the refusal.
    this.#drop(id);
    try {
      await persisted;
      await active.conversation.close();
      const store = await this.#deps.openStore({ user: row.user, project: row.project }).open();
      const deletion = store.kind === "open" ? store.deletion : undefined;
      if ((await deletion?.detach(sessionId(id)))?.kind === "detached") await deletion?.purge([sessionId(id)]);
    } catch {
      // An empty session stays in the list, and no more.
    }
  }

  async forget(ids: readonly string[]): Promise<ForgetOutcome> {
    if (ids.some((id) => (this.#active.get(id)?.running ?? 0) > 0)) return "running";
    const sessionsByUser = Map.groupBy(ids, (id) => (this.#deps.log.facts(id) ?? this.#rows.get(id))?.user);
    const closed = ids.flatMap((id) => this.#active.get(id) ?? []);
    // At once: a request that comes meanwhile begins another conversation.
    for (const id of ids) this.#drop(id);
    for (const active of closed) await this.#close(active);
    // If one fails, the next try deletes them as sessions that may be anybody's.
    for (const [user, sessions] of sessionsByUser)
      for (const listener of this.#forgetListeners) await listener({ user, sessions });
    await this.#deps.log.rewrite();
    return "forgotten";
  }

  /** For what is kept of conversations elsewhere. */
  onForget(listener: ForgetListener): void {
    this.#forgetListeners.push(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(
      [...this.#active.values()].map(({ conversation }) => conversation.close().catch(() => undefined)),
    );
    this.#active.clear();
    await this.#deps.log.close();
    await this.#deps.toolUsageLog?.close();
  }

  #begin({ scope, client }: ReadRequest): { readonly id: string; readonly persisted: Promise<void> } {
    const id = randomUUID();
    const record = { id, scope: scopeName(scope), tools: toolsName(scope) };
    return { id, persisted: this.#deps.log.add(record, { user: scope.user, project: scope.project, client }) };
  }

  #activate(id: string, { provider, user, project, summarizer = "none" }: FindInput): ActiveConversation {
    const active = this.#active.get(id);
    if (active !== undefined) {
      // The one that was used last is last.
      this.#active.delete(id);
      this.#active.set(id, active);
      return active;
    }
    const { openStore, reduction, onEvent, log, toolUsageLog } = this.#deps;
    const facts = log.facts(id);
    const added: ActiveConversation = {
      id,
      conversation: new GatewayConversation<Provider>({
        provider,
        session: id,
        store: openStore({ user, project: facts?.project ?? project }),
        reduction: reduction(),
        client: facts?.client,
        toolUse: toolUsageLog === undefined ? undefined : { log: toolUsageLog, who: `${user} ${facts?.client ?? ""}` },
        now: this.#deps.now,
        digester: this.#reader.digesters[provider].messages,
        refused: this.#refused,
        onEvent: (event) => onEvent?.(id, event),
        summarizer,
      }),
      row: this.#rows.get(id) ?? newRow({ id, user, project, client: facts?.client, since: this.#deps.now() }),
      newest: undefined,
      lastSent: undefined,
      running: 0,
      matches: 0,
      waiting: new Set(),
    };
    this.#active.set(id, added);
    if (this.#active.size > activeMax) void this.#closeOldest(added);
    return added;
  }

  /** The request is being answered, until `leave`. */
  enter({ active, signal }: MatchedRequest): void {
    active.running += 1;
    active.waiting.add(signal);
  }

  /** The client has the whole reply: the same request again is no retry. */
  replied({ active, listDigest, signal }: MatchedRequest): void {
    active.waiting.delete(signal);
    this.#deps.log.index.setReplied(active.id, listDigest);
  }

  leave({ active, signal, body }: MatchedRequest): void {
    active.running -= 1;
    active.waiting.delete(signal);
    active.conversation.end(body);
  }

  /** Whether the reply tells which of several conversations a client goes on with. */
  needsReply({ active }: MatchedRequest): boolean {
    return this.#deps.log.index.needsReply(active.id);
  }

  /** What the reply says, as the client would send it back. */
  noteReply(
    { active, listDigest: list }: MatchedRequest,
    { provider, elements }: { readonly provider: Provider; readonly elements: readonly JsonObject[] },
  ): void {
    const replyList = this.#reader.digesters[provider].extend(list, elements);
    this.#deps.log.index.setReply(active.id, { list, replyList });
  }

  /** Called for each request that is sent. */
  countRequest(active: ActiveConversation, { windowTokens }: { readonly windowTokens: number }): void {
    this.#deps.log.noteWindow(active.id, windowTokens);
    active.row.requests += 1;
    active.row.lastAt = this.#deps.now();
    this.#rows.delete(active.id);
    this.#rows.set(active.id, active.row);
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > rowsMax && oldest !== undefined) this.#rows.delete(oldest);
  }

  async #closeIdle(): Promise<void> {
    const before = this.#deps.now() - idleMs;
    for (const active of this.#active.values().toArray())
      if (active.running === 0 && active.row.lastAt < before) await this.#close(active);
  }

  /** Never the one that is about to be used. */
  async #closeOldest(newest: ActiveConversation): Promise<void> {
    const oldest = this.#active.values().find((active) => active.running === 0 && active !== newest);
    if (oldest !== undefined) await this.#close(oldest);
  }

  #drop(id: string): void {
    this.#active.delete(id);
    this.#rows.delete(id);
    this.#deps.log.remove(id);
  }

  async #close({ id, conversation }: ActiveConversation): Promise<void> {
    this.#active.delete(id);
    await conversation.close().catch(() => undefined);
  }
}

const isAsked = (active: ActiveConversation | undefined): boolean =>
  active?.waiting.values().some(({ aborted }) => !aborted) === true;

/** The messages from the first reply on. What comes before it is what other conversations may begin with too. */
const ownMessages = ({ messages, replies }: ListDigests): readonly string[] => {
  const first = replies.indexOf(true);
  return first === -1 ? [] : messages.slice(first);
};

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
