import { type MessageId, messageId, type ToolUseId, toolUseId } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";

/**
 * Ids that a conversation has seen. A server that gives an id twice, or none, would make two replies one, or hide a call
 * behind an earlier one: what comes again gets a name of its own.
 */
export class UsedIds {
  readonly #used: Set<string>;

  constructor(path: Iterable<Entry> = []) {
    this.#used = new Set(idsOf(path));
  }

  reply(id: MessageId): MessageId {
    return messageId(this.#fresh(id === "" ? "msg" : id));
  }

  call(id: ToolUseId): ToolUseId {
    return toolUseId(this.#fresh(id === "" ? "call" : id));
  }

  /** A fork's own. */
  copy(): UsedIds {
    const copied = new UsedIds();
    for (const id of this.#used) copied.#used.add(id);
    return copied;
  }

  #fresh(id: string): string {
    let fresh = id;
    for (let again = 2; this.#used.has(fresh); again += 1) fresh = `${id}_${again}`;
    this.#used.add(fresh);
    return fresh;
  }
}

function* idsOf(path: Iterable<Entry>): Generator<string> {
  for (const entry of path) {
    if (entry.kind !== "assistant") continue;
    if (entry.messageId !== undefined) yield entry.messageId;
    for (const block of entry.blocks) if (block.type === "tool_use") yield block.id;
  }
}
