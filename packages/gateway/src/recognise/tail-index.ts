import { sharedTailMax, tailMessagesMax, tailRowMin, tailSearchMax } from "./limits.ts";

/**
 * Finds conversations by how their newest lists end. A client that compacts a list, or leaves out its beginning, keeps its
 * last messages in a row and continues after them. One message alone proves nothing: examples, short answers and fixed
 * instructions are in many conversations.
 */
export class TailIndex {
  /** By scope and last messages. The most recently used conversation comes last. */
  readonly #idsByEnd = new Map<string, Set<string>>();
  readonly #tailById = new Map<string, { readonly key: string; readonly messages: readonly string[] }>();

  /** Replaces the conversation's last messages. Returns those that are kept. */
  set(id: string, { scope, messages }: ScopedMessages): string[] {
    this.remove(id);
    const tail = messages.slice(-tailMessagesMax).filter((message) => message !== "");
    const key = endKey(scope, tail);
    if (key === undefined) return tail;
    this.#tailById.set(id, { key, messages: tail });
    const ids = this.#idsByEnd.get(key) ?? new Set();
    this.#idsByEnd.set(key, ids.add(id));
    const [oldest] = ids;
    if (ids.size > sharedTailMax && oldest !== undefined) this.remove(oldest);
    return tail;
  }

  remove(id: string): void {
    const { key = "" } = this.#tailById.get(id) ?? {};
    this.#tailById.delete(id);
    const ids = this.#idsByEnd.get(key);
    if (ids?.delete(id) === true && ids.size === 0) this.#idsByEnd.delete(key);
  }

  /** The conversation whose end is in the list, before its newest message; that of which most is there. */
  find({ scope, messages }: ScopedMessages): string | undefined {
    const said = messages.slice(-tailSearchMax, -1).filter((message) => message !== "");
    let found: { readonly id: string; readonly row: number } | undefined;
    for (let length = said.length; length >= tailRowMin; length -= 1) {
      const before = said.slice(0, length);
      for (const id of this.#idsByEnd.get(endKey(scope, before) ?? "") ?? []) {
        const row = countCommonEnd(before, this.#tailById.get(id)?.messages ?? []);
        if (found === undefined || row >= found.row) found = { id, row };
      }
    }
    return found?.id;
  }
}

interface ScopedMessages {
  readonly scope: string;
  /** Digests; empty ones say nothing. */
  readonly messages: readonly string[];
}

const endKey = (scope: string, messages: readonly string[]): string | undefined =>
  messages.length < tailRowMin ? undefined : [scope, ...messages.slice(-tailRowMin)].join(" ");

function countCommonEnd(one: readonly string[], other: readonly string[]): number {
  let count = 0;
  while (count < Math.min(one.length, other.length) && one.at(-count - 1) === other.at(-count - 1)) count += 1;
  return count;
}
