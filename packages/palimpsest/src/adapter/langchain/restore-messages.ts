import { AIMessage, type BaseMessage, HumanMessage, isAIMessage, ToolMessage } from "@langchain/core/messages";
import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { isArray, isObject, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import type { EncodedMessage } from "./encode-message.ts";

/**
 * The context's messages as LangChain's. A message that the context shows as it was is the caller's own object again, with
 * its id, metadata and thinking; only what the context changed is written anew.
 */
export function restoreMessages(sent: readonly object[], given: readonly EncodedMessage[]): BaseMessage[] {
  const originals = new Originals(given);
  return sent.flatMap((message) => {
    const json = parseJson(JSON.stringify(message));
    const { role, content } = isObject(json) ? json : { role: "user", content: [] };
    const blocks = (isArray(content) ? content : []).map(parseBlock);
    return [...originals.restore(blocks, role === "assistant" ? "assistant" : "user")];
  });
}

/** Found by what they say. The context keeps their order, so each is used once. */
class Originals {
  readonly #byFirst = new Map<string, EncodedMessage[]>();
  readonly #resultByCall = new Map<string, EncodedMessage>();
  /** The framework's ids by those of the context, which may differ. */
  readonly #callIds = new Map<string, string>();

  constructor(given: readonly EncodedMessage[]) {
    for (const encoded of given) {
      const first = encoded.content.find((block) => !isThinking(block));
      if (first === undefined) continue;
      if (first.type === "tool_result") this.#resultByCall.set(first.tool_use_id, encoded);
      else this.#byFirst.set(blockKey(first), [...(this.#byFirst.get(blockKey(first)) ?? []), encoded]);
    }
  }

  *restore(blocks: readonly Block[], role: "user" | "assistant"): Generator<BaseMessage> {
    let thinking: Block[] = [];
    let fresh: Block[] = [];
    for (let at = 0; at < blocks.length; at += 1) {
      const block = blocks[at];
      if (block === undefined) continue;
      if (isThinking(block)) {
        thinking.push(block);
        continue;
      }
      if (block.type === "tool_result") {
        yield this.#restoreResult(block);
        continue;
      }
      const found = this.#take(blocks.slice(at));
      if (found === undefined) fresh.push(...thinking, block);
      else {
        if (fresh.length > 0) yield newMessage(fresh, role);
        fresh = [];
        yield withThinking(found.encoded.message, thinking.length > 0 ? "kept" : "left-out");
        at += found.length - 1;
      }
      thinking = [];
    }
    if (fresh.length > 0) yield newMessage(fresh, role);
  }

  /** The original that these blocks begin with, and how many of them it is. */
  #take(blocks: readonly Block[]): { readonly encoded: EncodedMessage; readonly length: number } | undefined {
    const [first] = blocks;
    const candidates = first === undefined ? [] : (this.#byFirst.get(blockKey(first)) ?? []);
    for (const encoded of candidates) {
      const own = encoded.content.filter((block) => !isThinking(block));
      const length = findLength(own, blocks);
      if (length === undefined) continue;
      candidates.splice(candidates.indexOf(encoded), 1);
      const calls = blocks.slice(0, length).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
      const ownCalls = own.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
      for (const [nth, id] of calls.entries()) this.#callIds.set(id, ownCalls[nth] ?? id);
      return { encoded, length };
    }
    return undefined;
  }

  /** A result that the context cleared keeps everything but its content. */
  #restoreResult({ tool_use_id: toolUse, content, is_error: isError }: ToolResultBlock): BaseMessage {
    const id = this.#callIds.get(toolUse) ?? toolUse;
    const original = this.#resultByCall.get(id);
    const shown = typeof content === "string" ? content : listTexts(content ?? []);
    const [block] = original?.content ?? [];
    const isSame = block?.type === "tool_result" && (block.content === shown || block.content === "");
    if (original !== undefined && isSame) return original.message;
    const { name, id: messageId } = original?.message ?? {};
    return new ToolMessage({
      content: shown,
      tool_call_id: id,
      status: isError === true ? "error" : "success",
      ...(name === undefined ? {} : { name }),
      ...(messageId === undefined ? {} : { id: messageId }),
    });
  }
}

const listTexts = (parts: readonly JsonObject[]): string =>
  parts.map((part) => textField(part, "text") ?? JSON.stringify(part)).join("\n");

/** Thinking may stand between the blocks. */
function findLength(own: readonly Block[], blocks: readonly Block[]): number | undefined {
  let matched = 0;
  for (const [at, block] of blocks.entries()) {
    if (isThinking(block)) continue;
    const wanted = own[matched];
    if (wanted === undefined || blockKey(wanted) !== blockKey(block)) return undefined;
    matched += 1;
    if (matched === own.length) return at + 1;
  }
  return undefined;
}

function blockKey(block: Block): string {
  if (block.type === "text") return `text ${block.text}`;
  return block.type === "tool_use" ? `call ${block.name} ${canonicalJson(block.input)}` : JSON.stringify(block);
}

/** Thinking that may no longer be sent is left out of a copy: the caller's message stays as it is. */
function withThinking(message: BaseMessage, thinking: "kept" | "left-out"): BaseMessage {
  const { content } = message;
  if (thinking === "kept" || !isAIMessage(message) || typeof content === "string") return message;
  const others = content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking");
  if (others.length === content.length) return message;
  const { id, name, tool_calls: calls, response_metadata: metadata } = message;
  return new AIMessage({
    content: others,
    response_metadata: metadata,
    ...(calls === undefined ? {} : { tool_calls: calls }),
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
  });
}

/** For what the context wrote itself: summaries, stubs, reminders. */
function newMessage(blocks: readonly Block[], role: "user" | "assistant"): BaseMessage {
  const texts = blocks.flatMap((block) => (block.type === "text" ? [{ type: "text" as const, text: block.text }] : []));
  if (role === "user") return new HumanMessage({ content: texts });
  const calls = blocks.flatMap((block) =>
    block.type === "tool_use" ? [{ id: block.id, name: block.name, args: { ...block.input } }] : [],
  );
  return new AIMessage({ content: texts, tool_calls: calls });
}
