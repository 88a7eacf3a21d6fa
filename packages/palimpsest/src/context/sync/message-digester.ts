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

/** Translates one message of a provider's format; one message may hold several roles. */
export type ParseMessage = (message: JsonObject) => readonly SyncMessage[];

/**
 * One block of a message, as it is recognised. Its digest covers what was said and no more: a string equals one text block,
 * cache marks and the provider's ids do not count, and neither do the borders between messages of the same role.
 */
export interface DigestedBlock {
  readonly role: SyncRole;
  readonly block: Block;
  /** Thinking right before it. It is kept, but a client that leaves it out has not edited anything. */
  readonly thinking: readonly Block[];
  readonly digest: string;
}

/** What is known about one message without the others. */
export interface DigestedMessage {
  readonly values: MessageValues;
  readonly items: readonly DigestedBlock[];
  /** Thinking after the last item. */
  readonly rest: readonly Block[];
}

/**
 * Reads messages one by one. A message that was read before, as the same object, is compared value by value and not hashed
 * again. Several readers of lists may share one, so that a message is read once for all of them.
 */
export class MessageDigester {
  readonly #hash: HashDep["hash"];
  readonly #parse: ParseMessage;
  readonly #digestedBySource = new WeakMap<object, DigestedMessage>();

  constructor({ hash }: HashDep, parse: ParseMessage) {
    this.#hash = hash;
    this.#parse = parse;
  }

  /** `last`: what an earlier message was read as. It is returned if this one has the same values. */
  read(source: object, last?: DigestedMessage): DigestedMessage {
    if (last !== undefined && hasValues(source, last.values)) return last;
    const digested = this.#digestedBySource.get(source);
    if (digested !== undefined && hasValues(source, digested.values)) return digested;
    const read = { values: collectValues(source), ...this.#readBlocks(source) };
    this.#digestedBySource.set(source, read);
    return read;
  }

  digest(role: SyncRole, block: Block): string {
    return this.#hash(`${role} ${blockText(block)}`).slice(0, digestChars);
  }

  #readBlocks(source: object): Omit<DigestedMessage, "values"> {
    const json = parseJson(JSON.stringify(source) ?? "null");
    const items: DigestedBlock[] = [];
    let thinking: Block[] = [];
    for (const { role, content } of isObject(json) ? this.#parse(json) : []) {
      for (const block of content) {
        if (isEmptyText(block)) continue;
        if (isThinking(block)) thinking.push(block);
        else {
          items.push({ role, block, thinking, digest: this.digest(role, block) });
          thinking = [];
        }
      }
    }
    return { items, rest: thinking };
  }
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
