import { hash } from "node:crypto";
import { listsMax } from "./limits.ts";
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
  /** The newest lists that it was asked with, or that a reply completed; the newest last. */
  readonly lists: readonly string[];
  /** Messages at the end of its newest list. */
  readonly tail: readonly string[];
}

/** How the conversation of a list was found. */
export type Recognition =
  | { readonly kind: "found"; readonly id: string; readonly by: "list" | "session" | "tail" }
  | { readonly kind: "new" };

/**
 * Finds the conversation that a list of messages belongs to. In this order:
 *
 *   list      a list of the conversation is the beginning of this one; the longest wins
 *   session   the client names its session, and the conversation has the same tools: the client compacted or cleared it.
 *             Not without tools: titles and summaries of one session have nothing to do with each other
 *   tail      otherwise: the list holds the conversation's last messages, in a row: the client compacted it
 */
export class ConversationIndex {
  readonly #known = new Map<string, { scope: string; tools: string; lists: string[]; tail: string[] }>();
  readonly #idByList = new Map<string, string>();
  readonly #tails = new TailIndex();
  readonly #idBySession = new Map<string, string>();

  get size(): number {
    return this.#known.size;
  }

  find(scope: ConversationScope, { lists, messages }: ListDigests): Recognition {
    const name = scopeName(scope);
    for (const list of lists.toReversed()) {
      const id = list === "" ? undefined : this.#idByList.get(`${name} ${list}`);
      if (id !== undefined) return { kind: "found", id, by: "list" };
    }
    if (scope.session !== undefined && scope.hasTools) {
      const id = this.#idBySession.get(`${name} ${toolsName(scope)}`);
      return id === undefined ? { kind: "new" } : { kind: "found", id, by: "session" };
    }
    const id = this.#tails.find({ scope: name, messages });
    return id === undefined ? { kind: "new" } : { kind: "found", id, by: "tail" };
  }

  /** Adds a conversation, or replaces what is known of it. */
  put({ id, scope, tools, lists, tail }: KnownConversation): void {
    this.remove(id);
    this.#known.set(id, { scope, tools, lists: [], tail: [] });
    this.#idBySession.set(`${scope} ${tools}`, id);
    for (const list of lists) this.addList(id, list);
    this.setTail(id, tail);
  }

  /** A list of the conversation. Only the newest ones are kept. */
  addList(id: string, list: string): void {
    const known = this.#known.get(id);
    if (known === undefined || list === "" || known.lists.at(-1) === list) return;
    known.lists.push(list);
    this.#idByList.set(`${known.scope} ${list}`, id);
    const dropped = known.lists.length > listsMax ? known.lists.shift() : undefined;
    if (dropped !== undefined) this.#unset(this.#idByList, `${known.scope} ${dropped}`, id);
    this.#idBySession.set(`${known.scope} ${known.tools}`, id);
  }

  setTail(id: string, messages: readonly string[]): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    known.tail = this.#tails.set(id, { scope: known.scope, messages });
  }

  get(id: string): KnownConversation | undefined {
    const known = this.#known.get(id);
    return known === undefined ? undefined : { id, ...known };
  }

  remove(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    for (const list of known.lists) this.#unset(this.#idByList, `${known.scope} ${list}`, id);
    this.#tails.remove(id);
    this.#unset(this.#idBySession, `${known.scope} ${known.tools}`, id);
    this.#known.delete(id);
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<KnownConversation> {
    for (const [id, known] of this.#known) yield { id, ...known };
  }

  /** Unless another conversation has taken the place since. */
  #unset(map: Map<string, string>, key: string, id: string): void {
    if (map.get(key) === id) map.delete(key);
  }
}

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
