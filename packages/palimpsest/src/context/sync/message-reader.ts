import type { Block } from "../../schema/block.ts";
import { isEmptyText } from "../../transcript/to-wire-block.ts";
import type { DigestedBlock, DigestedMessage, MessageDigester, SyncRole } from "./message-digester.ts";

/** One block of a list. */
export interface SyncItem extends DigestedBlock {
  /** Index in the list of the message that holds it. */
  readonly message: number;
  /** For a result: index of the item with its call; undefined if the list has no such call. */
  readonly call: number | undefined;
}

/** A message in its list: what the ones before it leave for it. */
interface ListedMessage {
  readonly read: DigestedMessage;
  readonly itemsBefore: number;
  readonly thinkingBefore: readonly Block[];
}

/**
 * Reads lists of messages into items. The last list is kept: a message that was at the same place of it is compared value by
 * value and not hashed again. So a list that grew costs one comparison and what is new, and a message that the caller
 * changed in place is noticed.
 */
export class MessageReader {
  readonly #digester: MessageDigester;
  readonly #findJoined: (digest: string) => readonly string[] | undefined;
  /** The last list and its items. */
  readonly #list: ListedMessage[] = [];
  readonly #items: SyncItem[] = [];
  /** The newest last: an id may be used twice. */
  readonly #callsById = new Map<string, { readonly at: number; readonly nth: number }[]>();
  #calls = 0;
  /** Thinking after the last item. */
  #thinking: readonly Block[] = [];

  /** `findJoined`: the texts that a text of the assistant, by its digest, is to be read as. */
  constructor(
    digester: MessageDigester,
    findJoined: (digest: string) => readonly string[] | undefined = () => undefined,
  ) {
    this.#digester = digester;
    this.#findJoined = findJoined;
  }

  /**
   * The items of a list, valid until the next list is read. `unchanged`: so many messages at its beginning are those of
   * the last list, and are not even compared. A number that can't be true is ignored.
   */
  items(messages: readonly object[], unchanged = 0): readonly SyncItem[] {
    const isPossible = Number.isInteger(unchanged) && unchanged >= 0;
    let at = isPossible && unchanged <= Math.min(messages.length, this.#list.length) ? unchanged : 0;
    for (const source of messages.slice(at)) {
      const listed = this.#list[at]?.read;
      const read = this.#digester.read(source, listed);
      if (read !== listed) {
        this.#keep(at);
        this.#add(read);
      }
      at += 1;
    }
    this.#keep(at);
    return this.#items;
  }

  /** The digest of a block of the transcript. `distance`: see `answerDigest`. */
  digest(role: SyncRole, block: Block, distance?: number): string {
    const digest = this.#digester.digest(role, block);
    return block.type === "tool_result" ? answerDigest(digest, distance) : digest;
  }

  /** Leaves only so many messages of the last list. */
  #keep(count: number): void {
    const next = this.#list[count];
    if (next === undefined) return;
    this.#list.length = count;
    for (const { block } of this.#items.splice(next.itemsBefore))
      if (block.type === "tool_use") this.#forgetCall(block.id);
    this.#thinking = next.thinkingBefore;
  }

  #add(read: DigestedMessage): void {
    const message = this.#list.length;
    this.#list.push({ read, itemsBefore: this.#items.length, thinkingBefore: this.#thinking });
    for (const item of read.items.flatMap((one) => this.#splitJoined(one))) {
      const { block } = item;
      const call = block.type === "tool_result" ? this.#callsById.get(block.tool_use_id)?.at(-1) : undefined;
      this.#noteCall(block, this.#items.length);
      this.#items.push({
        ...item,
        thinking: this.#thinking.length === 0 ? item.thinking : [...this.#thinking, ...item.thinking],
        digest: block.type === "tool_result" ? answerDigest(item.digest, call && this.#calls - call.nth) : item.digest,
        message,
        call: call?.at,
      });
      this.#thinking = [];
    }
    if (read.rest.length > 0) this.#thinking = [...this.#thinking, ...read.rest];
  }

  #noteCall(block: Block, at: number): void {
    if (block.type !== "tool_use") return;
    const call = { at, nth: this.#calls };
    const calls = this.#callsById.get(block.id);
    if (calls === undefined) this.#callsById.set(block.id, [call]);
    else calls.push(call);
    this.#calls += 1;
  }

  /** The newest with this id; an earlier one counts again. */
  #forgetCall(id: string): void {
    const calls = this.#callsById.get(id);
    calls?.pop();
    if (calls?.length === 0) this.#callsById.delete(id);
    this.#calls -= 1;
  }

  #splitJoined(item: DigestedBlock): readonly DigestedBlock[] {
    const { role, block, digest, thinking } = item;
    const texts = role === "assistant" && block.type === "text" ? this.#findJoined(digest) : undefined;
    if (texts === undefined) return [item];
    return texts
      .map((text): Block => ({ type: "text", text }))
      .filter((part) => !isEmptyText(part))
      .map((part, at) => ({
        role,
        block: part,
        thinking: at === 0 ? thinking : [],
        digest: this.#digester.digest(role, part),
      }));
  }
}

/** A result is recognised by the distance to its call, because ids change. Undefined: its call is not in the list. */
const answerDigest = (digest: string, distance: number | undefined): string => `${digest}-${distance ?? "x"}`;

export const digestWithoutDistance = (digest: string): string => digest.split("-", 1)[0] ?? digest;

export const isAnswerDigest = (digest: string): boolean => digest.includes("-");
