import type { HashDep } from "../../cache/break-detector.ts";
import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { isArray, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { digestChars } from "./limits.ts";
import { collectValues, hasValues, type MessageValues } from "./message-values.ts";

export type SyncRole = "user" | "assistant" | "system";

/** A message of a list, in the blocks of the Messages API. Each provider's format is translated into it. */
export interface SyncMessage {
  readonly role: SyncRole;
  readonly content: readonly Block[];
}

/**
 * One block of a list, as it is recognised. Its digest covers what was said and no more: a string equals one text block,
 * cache marks and the provider's ids do not count, and neither do the borders between messages of the same role.
 */
export interface SyncItem {
  readonly role: SyncRole;
  readonly block: Block;
  /** Thinking right before it. It is kept, but a client that leaves it out has not edited anything. */
  readonly thinking: readonly Block[];
  readonly digest: string;
  /** Index in the list of the message that holds it. */
  readonly message: number;
  /** For a result: index of the item with its call; undefined if the list has no such call. */
  readonly call: number | undefined;
}

/** What is known about one message without the others. */
interface ReadMessage {
  readonly values: MessageValues;
  readonly items: readonly ReadItem[];
  /** Thinking after the last item. */
  readonly rest: readonly Block[];
}

type ReadItem = Pick<SyncItem, "role" | "block" | "thinking" | "digest">;

/** A message in its list: what the ones before it leave for it. */
interface ListedMessage {
  readonly read: ReadMessage;
  readonly itemsBefore: number;
  readonly thinkingBefore: readonly Block[];
}

/** Translates one message of a provider's format; one message may hold several roles. */
export type ParseMessage = (message: JsonObject) => readonly SyncMessage[];

/**
 * Reads lists of messages into items. The last list is kept: a message that was read before, as the same object or at
 * the same place of the last list, is compared value by value and not hashed again. So a list that grew costs one
 * comparison and what is new, and a message that the caller changed in place is noticed.
 */
export class MessageReader {
  readonly #hash: HashDep["hash"];
  readonly #parse: ParseMessage;
  readonly #findJoined: (digest: string) => readonly string[] | undefined;
  readonly #readBySource = new WeakMap<object, ReadMessage>();
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
    { hash }: HashDep,
    parse: ParseMessage,
    findJoined: (digest: string) => readonly string[] | undefined = () => undefined,
  ) {
    this.#hash = hash;
    this.#parse = parse;
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
      const read = this.#readMessage(source, listed);
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
    const digest = digestBlock({ hash: this.#hash }, { role, block });
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

  #add(read: ReadMessage): void {
    const message = this.#list.length;
    this.#list.push({ read, itemsBefore: this.#items.length, thinkingBefore: this.#thinking });
    for (const item of read.items) {
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

  /** `listed`: what was at its place in the last list. */
  #readMessage(source: object, listed: ReadMessage | undefined): ReadMessage {
    if (listed !== undefined && hasValues(source, listed.values)) return listed;
    const known = this.#readBySource.get(source);
    if (known !== undefined && hasValues(source, known.values)) return known;
    const read = { values: collectValues(source), ...this.#readParts(source) };
    this.#readBySource.set(source, read);
    return read;
  }

  #readParts(source: object): Omit<ReadMessage, "values"> {
    const json = parseJson(JSON.stringify(source) ?? "null");
    const items: ReadItem[] = [];
    let thinking: Block[] = [];
    for (const { role, content } of isObject(json) ? this.#parse(json) : []) {
      for (const block of content) {
        if (isEmptyText(block)) continue;
        if (isThinking(block)) thinking.push(block);
        else
          for (const item of this.#readBlock(role, block)) {
            items.push({ ...item, thinking });
            thinking = [];
          }
      }
    }
    return { items, rest: thinking };
  }

  #readBlock(role: SyncRole, block: Block): readonly Omit<ReadItem, "thinking">[] {
    const digest = digestBlock({ hash: this.#hash }, { role, block });
    const joined = role === "assistant" && block.type === "text" ? this.#findJoined(digest) : undefined;
    if (joined === undefined) return [{ role, block, digest }];
    return joined
      .map((text): Block => ({ type: "text", text }))
      .filter((part) => !isEmptyText(part))
      .map((part) => ({ role, block: part, digest: digestBlock({ hash: this.#hash }, { role, block: part }) }));
  }
}

/** A result is recognised by the distance to its call, because ids change. Undefined: its call is not in the list. */
const answerDigest = (digest: string, distance: number | undefined): string => `${digest}-${distance ?? "x"}`;

export const digestWithoutDistance = (digest: string): string => digest.split("-", 1)[0] ?? digest;

export const isAnswerDigest = (digest: string): boolean => digest.includes("-");

function digestBlock({ hash }: HashDep, { role, block }: { readonly role: SyncRole; readonly block: Block }): string {
  return hash(`${role} ${blockText(block)}`).slice(0, digestChars);
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return `text ${block.text}`;
    case "tool_use":
      return `call ${block.name} ${canonicalJson(block.input)}`;
    case "tool_result":
      return `result ${block.is_error === true ? "failed " : ""}${resultText(block)}`;
    case "unknown":
      return `unknown ${canonicalJson(withoutMarks(withoutIds(block.was)))}`;
    default:
      return canonicalJson(withoutMarks({ ...block }));
  }
}

function resultText({ content = [] }: ToolResultBlock): string {
  const parts: readonly Json[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return parts
    .flatMap((part) => {
      const text = isObject(part) && part["type"] === "text" ? textField(part, "text") : undefined;
      if (text !== undefined) return text.trim() === "" ? [] : [`text ${text}`];
      return [canonicalJson(withoutMarks(part))];
    })
    .join("\n");
}

/** A client may leave out the provider's id of an item, and its status. What is equal besides is the same item. */
function withoutIds(value: Json): Json {
  if (!isObject(value)) return value;
  const { id: _id, status: _status, ...others } = value;
  return others;
}

function withoutMarks(value: Json): Json {
  if (isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([key, inner]) => key !== "cache_control" && inner !== null);
  return Object.fromEntries(fields.map(([key, inner]) => [key, withoutMarks(inner)]));
}

/** The blocks of a content that is a string or a list. */
export const contentBlocks = (content: Json | undefined): readonly Block[] => {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isArray(content) ? content.map(parseBlock) : [];
};
