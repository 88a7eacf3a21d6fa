import type { HashDep } from "../../cache/break-detector.ts";
import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { isArray, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { digestChars } from "./limits.ts";

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
  /** Every primitive value in it, in order. */
  readonly leaves: readonly unknown[];
  readonly items: readonly ReadItem[];
  /** Thinking after the last item. */
  readonly rest: readonly Block[];
}

type ReadItem = Pick<SyncItem, "role" | "block" | "thinking" | "digest">;

/** Translates one message of a provider's format; one message may hold several roles. */
export type ParseMessage = (message: JsonObject) => readonly SyncMessage[];

/**
 * Reads lists of messages into items. A message object that was read before is compared value by value and not hashed
 * again, so a list that grew costs what is new, and a message that the caller changed in place is noticed. A list that
 * was parsed anew is hashed whole: some ten milliseconds for 200,000 tokens.
 */
export class MessageReader {
  readonly #hash: HashDep["hash"];
  readonly #parse: ParseMessage;
  readonly #read = new WeakMap<object, ReadMessage>();

  constructor({ hash }: HashDep, parse: ParseMessage) {
    this.#hash = hash;
    this.#parse = parse;
  }

  items(messages: readonly object[]): readonly SyncItem[] {
    const items: SyncItem[] = [];
    const callById = new Map<string, { readonly at: number; readonly nth: number }>();
    let calls = 0;
    let thinking: readonly Block[] = [];
    for (const [message, source] of messages.entries()) {
      const read = this.#readMessage(source);
      for (const item of read.items) {
        const { block } = item;
        const call = block.type === "tool_result" ? callById.get(block.tool_use_id) : undefined;
        if (block.type === "tool_use") callById.set(block.id, { at: items.length, nth: calls++ });
        items.push({
          ...item,
          thinking: thinking.length === 0 ? item.thinking : [...thinking, ...item.thinking],
          digest: block.type === "tool_result" ? answerDigest(item.digest, call && calls - call.nth) : item.digest,
          message,
          call: call?.at,
        });
        thinking = [];
      }
      thinking = read.rest.length === 0 ? thinking : [...thinking, ...read.rest];
    }
    return items;
  }

  /** The digest of a block of the transcript. `distance`: see `answerDigest`. */
  digest(role: SyncRole, block: Block, distance?: number): string {
    const digest = digestBlock({ hash: this.#hash }, { role, block });
    return block.type === "tool_result" ? answerDigest(digest, distance) : digest;
  }

  #readMessage(source: object): ReadMessage {
    const leaves: unknown[] = [];
    collectLeaves(source, leaves);
    const known = this.#read.get(source);
    if (known !== undefined && hasSameLeaves(known.leaves, leaves)) return known;
    const read = { leaves, ...this.#readParts(source) };
    this.#read.set(source, read);
    return read;
  }

  #readParts(source: object): Omit<ReadMessage, "leaves"> {
    const json = parseJson(JSON.stringify(source) ?? "null");
    const items: ReadItem[] = [];
    let thinking: Block[] = [];
    for (const { role, content } of isObject(json) ? this.#parse(json) : []) {
      for (const block of content) {
        if (isEmptyText(block)) continue;
        if (isThinking(block)) thinking.push(block);
        else {
          items.push({ role, block, thinking, digest: digestBlock({ hash: this.#hash }, { role, block }) });
          thinking = [];
        }
      }
    }
    return { items, rest: thinking };
  }
}

/** Strings are compared by reference first, so an unchanged message costs its number of values, not its bytes. */
const hasSameLeaves = (left: readonly unknown[], right: readonly unknown[]): boolean =>
  left.length === right.length && left.every((leaf, at) => leaf === right[at]);

const nested = Symbol("nested");
function collectLeaves(value: unknown, leaves: unknown[]): void {
  if (typeof value !== "object" || value === null) {
    leaves.push(value);
    return;
  }
  leaves.push(nested);
  for (const [key, inner] of Object.entries(value)) {
    leaves.push(key);
    collectLeaves(inner, leaves);
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
      return `unknown ${canonicalJson(block.was)}`;
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
