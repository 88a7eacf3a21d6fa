import { hash } from "node:crypto";
import { listsMax, retryMsMax, sharedListMax } from "./limits.ts";
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
}

/** What is remembered of a conversation, in memory and on disk. */
export interface KnownConversation {
  readonly id: string;
  readonly scope: string;
  /** The names of its tools. */
  readonly tools: string;
  /** The newest lists that it was asked with; the newest last. */
  readonly lists: readonly string[];
  /** Messages at the end of its newest list. */
  readonly tail: readonly string[];
}

/** How the conversation of a list was found. */
export type Recognition =
  | { readonly kind: "found"; readonly id: string; readonly by: "list" | "session" | "tail" }
  | { readonly kind: "new" };

interface IndexedConversation {
  readonly scope: string;
  readonly tools: string;
  lists: string[];
  tail: string[];
  /** When the client got the whole reply to the newest list; undefined if it has none, or if that is not known. */
  repliedAt: number | undefined;
  /** Grows with each list: the conversation with the largest was asked last. */
  askedAt: number;
}

/**
 * Finds the conversation that a list of messages belongs to. In this order:
 *
 *   next      the list is what the conversation waits for: its newest list and one reply more; or a retry, which is the same list
 *             again, or with more of the user, if the client has no whole reply to it, or has had it for a moment only. The
 *             conversation that was asked last wins
 *   list      a list of the conversation is the beginning of this one, the longest wins: a rewind. But a whole list that holds
 *             no reply, without a name of a session, begins a conversation: the client starts over with words that it used before
 *   session   the client names its session, and the conversation has the same tools: the client compacted or cleared it.
 *             Not without tools: titles and summaries of one session have nothing to do with each other
 *   tail      otherwise: the list holds the conversation's last messages, in a row: the client compacted it
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

  find(scope: ConversationScope, digests: ListDigests, now: number): Recognition {
    const { messages } = digests;
    const name = scopeName(scope);
    const { next, rewound } = this.#findList(name, digests, now);
    const isStart = scope.session === undefined && !digests.replies.includes(true);
    if (next === undefined && rewound?.isWhole === true && isStart) return { kind: "new" };
    const byList = next ?? rewound?.id;
    if (byList !== undefined) return { kind: "found", id: byList, by: "list" };
    if (scope.session !== undefined && scope.hasTools) {
      const id = this.#idBySession.get(`${name} ${toolsName(scope)}`);
      return id === undefined ? { kind: "new" } : { kind: "found", id, by: "session" };
    }
    const id = this.#tails.find({ scope: name, messages });
    return id === undefined ? { kind: "new" } : { kind: "found", id, by: "tail" };
  }

  /** `next`: the conversation that waits for this list. `rewound`: the one with the longest list that is its beginning. */
  #findList(scope: string, { lists, replies }: ListDigests, now: number): FoundLists {
    let next: string | undefined;
    let rewound: FoundLists["rewound"];
    /** Replies behind the list that is looked for. */
    let repliesBehind = 0;
    for (let at = lists.length - 1; at >= 0 && (repliesBehind < 2 || rewound === undefined); at -= 1) {
      const list = lists[at] ?? "";
      const ids = list === "" ? undefined : this.#idsByList.get(`${scope} ${list}`)?.split(" ");
      if (ids?.[0] !== undefined) rewound ??= { id: ids[0], isWhole: list === lists.at(-1) };
      for (const id of ids ?? [])
        if (this.#isNext(id, { list, repliesBehind, now }) && this.#askedAt(id) > this.#askedAt(next)) next = id;
      if (replies[at] === true && replies[at - 1] !== true) repliesBehind += 1;
    }
    return { next, rewound };
  }

  #isNext(
    id: string,
    { list, repliesBehind, now }: { readonly list: string; readonly repliesBehind: number; readonly now: number },
  ): boolean {
    const known = this.#known.get(id);
    if (known === undefined || known.lists.at(-1) !== list || repliesBehind > 1) return false;
    return repliesBehind === 1 || known.repliedAt === undefined || now - known.repliedAt <= retryMsMax;
  }

  #askedAt(id: string | undefined): number {
    return id === undefined ? -1 : (this.#known.get(id)?.askedAt ?? -1);
  }

  /** Adds a conversation, or replaces what is known of it. */
  put({ id, scope, tools, lists, tail }: KnownConversation): void {
    this.remove(id);
    this.#known.set(id, { scope, tools, lists: [], tail: [], repliedAt: undefined, askedAt: 0 });
    this.#idBySession.set(`${scope} ${tools}`, id);
    for (const list of lists) this.addList(id, list);
    this.setTail(id, tail);
  }

  /** A list of the conversation. Only the newest ones are kept. */
  addList(id: string, list: string): void {
    const known = this.#known.get(id);
    if (known === undefined || list === "") return;
    known.repliedAt = undefined;
    known.askedAt = this.#asked += 1;
    if (known.lists.at(-1) === list) return;
    known.lists.push(list);
    this.#share(`${known.scope} ${list}`, id);
    const dropped = known.lists.length > listsMax ? known.lists.shift() : undefined;
    if (dropped !== undefined && !known.lists.includes(dropped)) this.#unshare(`${known.scope} ${dropped}`, id);
    this.#idBySession.set(`${known.scope} ${known.tools}`, id);
  }

  /** The client has the whole reply to a list. Only the newest list counts. */
  setReplied(id: string, { list, at }: { readonly list: string; readonly at: number }): void {
    const known = this.#known.get(id);
    if (known?.lists.at(-1) === list) known.repliedAt = at;
  }

  setTail(id: string, messages: readonly string[]): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    known.tail = this.#tails.set(id, { scope: known.scope, messages });
  }

  get(id: string): KnownConversation | undefined {
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
  *[Symbol.iterator](): Generator<KnownConversation> {
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

interface FoundLists {
  readonly next: string | undefined;
  readonly rewound: { readonly id: string; readonly isWhole: boolean } | undefined;
}

const toKnown = (id: string, { scope, tools, lists, tail }: IndexedConversation): KnownConversation => ({
  id,
  scope,
  tools,
  lists,
  tail,
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

const shorten = (text: string): string => hash("sha256", text, "hex").slice(0, nameChars);

/** 80 bits: no two scopes have the same name, even by intent of one of them. */
const nameChars = 20;
