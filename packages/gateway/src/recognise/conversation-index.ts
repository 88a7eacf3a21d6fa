import { hash } from "node:crypto";
import { listsMax, sharedListMax } from "./limits.ts";
import type { ListDigests } from "./list-digests.ts";
import { TailIndex } from "./tail-index.ts";

/** Where a conversation can be looked for: only its own scope is ever searched. */
export interface ConversationScope {
  readonly user: string;
  readonly project: string | undefined;
  readonly provider: string;
  readonly session: string | undefined;
  readonly agent: string | undefined;
  readonly hasTools: boolean;
  readonly toolNames: readonly string[];
  /** A digest of the system prompt; undefined if it does not count, because the client names its session. */
  readonly system: string | undefined;
}

/** What is remembered of a conversation, in memory and on disk. */
export interface ConversationRecord {
  readonly id: string;
  readonly scope: string;
  /** The names of its tools. */
  readonly tools: string;
  /** The list that it began with; undefined if it has none yet. */
  readonly first?: string | undefined;
  /** The newest lists that it was asked with; the newest last. */
  readonly lists: readonly string[];
  /** Messages at the end of its newest list. */
  readonly tail: readonly string[];
  /** Of its newest request; undefined if it is not known. */
  readonly system?: string | undefined;
}

/** How the conversation of a list was found. */
export type Recognition =
  | { readonly kind: "found"; readonly id: string; readonly by: "next" | "retry" | "list" | "session" | "tail" }
  | { readonly kind: "new" };

interface IndexedConversation {
  readonly scope: string;
  readonly tools: string;
  /** The list that it began with. */
  first: string | undefined;
  lists: string[];
  tail: string[];
  system: string | undefined;
  /** Whether the client has the whole reply to the newest list, as far as is known. */
  isReplied: boolean;
  /** The newest list with its reply, if that was read. */
  replyList: string | undefined;
  /** Whether its client was seen to send a reply back that is not the one it got. */
  changesReplies: boolean;
  /** Grows with each list: the conversation with the largest was asked last. */
  askedAt: number;
}

/**
 * Finds the conversation that a list of messages belongs to. In this order:
 *
 *   next      the list is what the conversation waits for: its newest list and one reply more; or a retry, which is the same list
 *             again, or with more of the user, if its client has no whole reply and waits for none. Of several, the one whose
 *             reply it is, then one with the same system prompt, then the one that was asked last
 *   list      a list of the conversation is the beginning of this one, the longest wins: a rewind. It comes before a next that
 *             is shorter and got another reply, unless its client was seen to change replies
 *   session   the client names its session, and the conversation has the same tools: the client compacted or cleared it.
 *             Not without tools: titles and summaries of one session have nothing to do with each other
 *   tail      otherwise: the list holds the conversation's last messages, in a row: the client compacted it
 *
 * A client that names no session may have many runs that begin alike. So then
 *
 *   - while its client waits for a reply, a conversation gets only what is next: one that waits does not try again, go back or
 *     compact, so it is another run
 *   - a list that a conversation began with, or that holds no reply, begins one, unless it is a retry
 *   - a list without a reply is of a conversation with the same system prompt only. Later the prompt may change: many clients
 *     write the date or the state of the project into it
 */
export class ConversationIndex {
  readonly #known = new Map<string, IndexedConversation>();
  /** Ids with a space between them, the newest first: nearly always one. */
  readonly #idsByList = new Map<string, string>();
  readonly #tails = new TailIndex();
  readonly #idBySession = new Map<string, string>();
  #asked = 0;

  get size(): number {
    return this.#known.size;
  }

  /** `isAsked`: whether a client waits for a reply of the conversation. */
  find(scope: ConversationScope, digests: ListDigests, isAsked: (id: string) => boolean): Recognition {
    const name = scopeName(scope);
    const isFree = (id: string): boolean => scope.session !== undefined || !isAsked(id);
    const request: ListRequest = { scope, name, digests, isStart: !digests.replies.includes(true), isFree };
    const next = this.#findNext(request);
    if (next !== undefined && !next.hasOtherReply) return { kind: "found", id: next.id, by: next.by };
    const rewound = this.#findRewound(request);
    if (next !== undefined && !(rewound?.changesReplies === false && rewound.at > next.at))
      return { kind: "found", id: next.id, by: next.by };
    if (rewound !== undefined)
      return rewound.id === undefined ? { kind: "new" } : { kind: "found", id: rewound.id, by: "list" };
    if (scope.session !== undefined && scope.hasTools) {
      const id = this.#idBySession.get(`${name} ${toolsName(scope)}`);
      return id === undefined ? { kind: "new" } : { kind: "found", id, by: "session" };
    }
    const id = this.#tails.find({ scope: name, messages: digests.messages });
    return id === undefined || !isFree(id) ? { kind: "new" } : { kind: "found", id, by: "tail" };
  }

  /** The conversation that waits for this list. */
  #findNext(request: ListRequest): NextMatch | undefined {
    const { prefixDigests, replies } = request.digests;
    let best: (NextMatch & { readonly rank: readonly number[] }) | undefined;
    /** Replies behind the list that is looked for. */
    let repliesBehind = 0;
    for (let at = prefixDigests.length - 1; at >= 0 && repliesBehind < 2; at -= 1) {
      for (const { id, known } of this.#withList(request, at)) {
        if (known.lists.at(-1) !== prefixDigests[at]) continue;
        const by = repliesBehind === 1 ? "next" : "retry";
        if (by === "retry" && !this.#isRetry(id, known, request)) continue;
        const reply = by === "retry" ? "unknown" : compareReply(known, prefixDigests.slice(at + 1));
        const rank = [
          replyRank[reply],
          isSameSystem(known, request) ? 1 : 0,
          request.isFree(id) ? 1 : 0,
          known.askedAt,
        ];
        if (best === undefined || compareRanks(rank, best.rank) > 0)
          best = { id, by, at, hasOtherReply: reply === "other", rank };
      }
      if (replies[at] === true && replies[at - 1] !== true) repliesBehind += 1;
    }
    return best;
  }

  #isRetry(id: string, known: IndexedConversation, request: ListRequest): boolean {
    return !known.isReplied && request.isFree(id) && (!request.isStart || isSameSystem(known, request));
  }

  /** By the longest list that is the beginning of this one. Undefined if there is none. */
  #findRewound(request: ListRequest): RewoundMatch | undefined {
    const { prefixDigests } = request.digests;
    const isUnnamed = request.scope.session === undefined;
    for (let at = prefixDigests.length - 1; at >= 0; at -= 1) {
      const all = this.#withList(request, at);
      if (all.length === 0) continue;
      const isWhole = prefixDigests[at] === prefixDigests.at(-1);
      const fitting = all.filter(
        ({ id, known }) =>
          request.isFree(id) &&
          !(isUnnamed && isWhole && request.isStart) &&
          !(isUnnamed && known.first === prefixDigests[at] && (isWhole || wentElsewhere(known, request, at))) &&
          !(isUnnamed && request.isStart && !isSameSystem(known, request)),
      );
      // One that has not gone elsewhere from there: a crash may have lost its later lists.
      const found =
        fitting.find(({ known }) => known.lists.at(-1) === prefixDigests[at]) ??
        fitting.find(({ known }) => isSameSystem(known, request)) ??
        fitting[0];
      const changesReplies = found?.known.changesReplies ?? all.some(({ known }) => known.changesReplies);
      return { id: found?.id, at, changesReplies };
    }
    return undefined;
  }

  /** The conversations that were asked with the list up to a message; the newest first. */
  #withList({ name, digests }: Pick<ListRequest, "name" | "digests">, at: number): readonly IdentifiedConversation[] {
    const list = digests.prefixDigests[at] ?? "";
    const ids = list === "" ? undefined : this.#idsByList.get(`${name} ${list}`);
    return (ids?.split(" ") ?? []).flatMap((id) => {
      const known = this.#known.get(id);
      return known === undefined ? [] : [{ id, known }];
    });
  }

  /** The conversation whose newest list is the longest beginning of this one; of several, the one that was asked last. */
  findNewest(scope: ConversationScope, digests: ListDigests): string | undefined {
    const request = { name: scopeName(scope), digests };
    for (let at = digests.prefixDigests.length - 1; at >= 0; at -= 1) {
      const newest = this.#withList(request, at).filter(
        ({ known }) => known.lists.at(-1) === digests.prefixDigests[at],
      );
      if (newest.length > 0) return newest.reduce((a, b) => (b.known.askedAt > a.known.askedAt ? b : a)).id;
    }
    return undefined;
  }

  /**
   * Whether the reply to its newest list tells it from other runs: some have the same list, or had the one before; or it is its
   * first one, which others may begin with too.
   */
  needsReply(id: string): boolean {
    const known = this.#known.get(id);
    if (known === undefined) return false;
    const isShared = (list: string): boolean => this.#idsByList.get(`${known.scope} ${list}`)?.includes(" ") === true;
    return known.lists.length === 1 || known.lists.slice(-2).some(isShared);
  }

  /** Adds a conversation, or replaces what is known of it. */
  put({ id, scope, tools, first, lists, tail, system }: ConversationRecord): void {
    this.remove(id);
    const empty = {
      first,
      lists: [],
      tail: [],
      isReplied: false,
      replyList: undefined,
      changesReplies: false,
      askedAt: 0,
    };
    this.#known.set(id, { ...empty, scope, tools, system });
    this.#idBySession.set(`${scope} ${tools}`, id);
    for (const list of lists) this.addList(id, list);
    this.setTail(id, tail);
  }

  /** A list of the conversation; its digests if they are known. Only the newest ones are kept. */
  addList(id: string, list: string, digests?: ListDigests): void {
    const known = this.#known.get(id);
    if (known === undefined || list === "") return;
    if (digests !== undefined && holdsChangedReply(known, digests)) known.changesReplies = true;
    known.first ??= list;
    known.isReplied = false;
    known.replyList = undefined;
    known.askedAt = this.#asked += 1;
    if (known.lists.at(-1) === list) return;
    known.lists.push(list);
    this.#share(`${known.scope} ${list}`, id);
    const dropped = known.lists.length > listsMax ? known.lists.shift() : undefined;
    if (dropped !== undefined && !known.lists.includes(dropped)) this.#unshare(`${known.scope} ${dropped}`, id);
    this.#idBySession.set(`${known.scope} ${known.tools}`, id);
  }

  /** The client has the whole reply to a list. Only the newest list counts. */
  setReplied(id: string, list: string): void {
    const known = this.#known.get(id);
    if (known?.lists.at(-1) === list) known.isReplied = true;
  }

  /** What the reply to a list says: the list with it. Only the newest list counts. */
  setReply(id: string, { list, replyList }: { readonly list: string; readonly replyList: string }): void {
    const known = this.#known.get(id);
    if (known?.lists.at(-1) === list) known.replyList = replyList;
  }

  setSystem(id: string, system: string | undefined): void {
    const known = this.#known.get(id);
    if (known !== undefined) known.system = system;
  }

  setTail(id: string, messages: readonly string[]): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    known.tail = this.#tails.set(id, { scope: known.scope, messages });
  }

  get(id: string): ConversationRecord | undefined {
    const known = this.#known.get(id);
    return known === undefined ? undefined : toKnown(id, known);
  }

  remove(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    for (const list of known.lists) this.#unshare(`${known.scope} ${list}`, id);
    this.#tails.remove(id);
    this.#unset(this.#idBySession, `${known.scope} ${known.tools}`, id);
    this.#known.delete(id);
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<ConversationRecord> {
    for (const [id, known] of this.#known) yield toKnown(id, known);
  }

  #share(key: string, id: string): void {
    const others = this.#idsByList.get(key);
    if (others === undefined) return void this.#idsByList.set(key, id);
    const ids = [id, ...others.split(" ").filter((other) => other !== id)];
    this.#idsByList.set(key, ids.slice(0, sharedListMax).join(" "));
  }

  #unshare(key: string, id: string): void {
    const ids = this.#idsByList.get(key)?.split(" ");
    const others = ids?.filter((other) => other !== id) ?? [];
    if (others.length === 0) this.#idsByList.delete(key);
    else this.#idsByList.set(key, others.join(" "));
  }

  /** Unless another conversation has taken the place since. */
  #unset(map: Map<string, string>, key: string, id: string): void {
    if (map.get(key) === id) map.delete(key);
  }
}

interface ListRequest {
  readonly scope: ConversationScope;
  readonly name: string;
  readonly digests: ListDigests;
  /** Whether the list holds no reply. */
  readonly isStart: boolean;
  /** Whether the conversation may get a list that is not its next. */
  readonly isFree: (id: string) => boolean;
}

/** A conversation that waits for a list. Its newest list ends at the message `at`. */
interface NextMatch {
  readonly id: string;
  readonly by: "next" | "retry";
  readonly at: number;
  /** The reply that the conversation got is not the one in the list. The client may have changed it. */
  readonly hasOtherReply: boolean;
}

/** A conversation that was asked with the list up to the message `at`. Without an id it is of another run. */
interface RewoundMatch {
  readonly id: string | undefined;
  readonly at: number;
  readonly changesReplies: boolean;
}

interface IdentifiedConversation {
  readonly id: string;
  readonly known: IndexedConversation;
}

/** Of a conversation whose newest list is followed by these: whether the reply is its own. */
const compareReply = ({ replyList }: IndexedConversation, listsBehind: readonly string[]): keyof typeof replyRank =>
  replyList === undefined ? "unknown" : listsBehind.includes(replyList) ? "own" : "other";

/** Whether the list goes on behind the newest one with a reply that the conversation did not get. */
function holdsChangedReply(
  { lists, replyList }: IndexedConversation,
  { prefixDigests, replies }: ListDigests,
): boolean {
  if (replyList === undefined) return false;
  const at = prefixDigests.indexOf(lists.at(-1) ?? "");
  return at !== -1 && replies.includes(true, at + 1) && !prefixDigests.includes(replyList);
}

const replyRank = { own: 2, unknown: 1, other: 0 } as const;

const isSameSystem = ({ system }: IndexedConversation, { scope }: ListRequest): boolean =>
  system === undefined || scope.system === undefined || system === scope.system;

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((rank, index) => rank !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/**
 * Whether the conversation went on with another reply behind the list up to a message. Many runs begin with the same words, so
 * that a list with another reply is of another run. A reply that is no longer known counts as another one.
 */
function wentElsewhere(known: IndexedConversation, { digests }: ListRequest, at: number): boolean {
  if (known.lists.at(-1) === digests.prefixDigests[at] || known.tail.length === 0) return false;
  const next = digests.messages.slice(at + 1).find((message) => message !== "");
  return next !== undefined && !known.tail.includes(next);
}

const toKnown = (
  id: string,
  { scope, tools, first, lists, tail, system }: IndexedConversation,
): ConversationRecord => ({
  id,
  scope,
  tools,
  ...(first === undefined ? {} : { first }),
  lists,
  tail,
  ...(system === undefined ? {} : { system }),
});

/** Short, because it is part of every key. */
export const scopeName = (scope: ConversationScope): string =>
  shorten(
    JSON.stringify([
      scope.user,
      scope.project ?? "",
      scope.provider,
      scope.session ?? "",
      scope.agent ?? "",
      scope.hasTools ? "tools" : "",
      // A client that names its sessions may get other tools within one.
      ...(scope.session === undefined ? scope.toolNames.toSorted() : []),
    ]),
  );

export const toolsName = ({ toolNames }: Pick<ConversationScope, "toolNames">): string =>
  shorten(JSON.stringify(toolNames.toSorted()));

export const systemName = (system: string | object): string => shorten(JSON.stringify(system));

const shorten = (text: string): string => hash("sha256", text, "hex").slice(0, nameChars);

/** 80 bits: no two scopes have the same name, even by intent of one of them. */
const nameChars = 20;
