import type { Block, ResultContent, ToolResultBlock } from "../schema/block.ts";
import type { BlobId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { field, isObject, type Json, type JsonObject, text } from "../schema/json.ts";
import type {
  CallBlock,
  DocumentBlock,
  MediaBlock,
  ResultBlock,
  ResultPart,
  ShownInstead,
  Sidechain,
} from "./document.ts";
import type { DocumentOptions, SourceLog } from "./source-log.ts";

/** Results by their call, and what edits made of them. Those of a call that is told are told with it, once. */
export class Contents {
  readonly #options: DocumentOptions;
  readonly #results = new Map<ToolUseId, ToolResultBlock>();
  readonly #calls = new Set<ToolUseId>();
  readonly #shown = new Map<ToolUseId, ShownInstead[]>();
  readonly #blobs = new Map<ToolUseId, BlobId>();
  readonly #originals: SourceLog["originals"];
  readonly #sidechainsOf: (call: ToolUseId) => readonly Sidechain[];

  constructor(
    log: Pick<SourceLog, "originals" | "undone">,
    options: DocumentOptions & {
      readonly entries: readonly Entry[];
      readonly sidechainsOf: (call: ToolUseId) => readonly Sidechain[];
    },
  ) {
    this.#options = options;
    this.#originals = log.originals;
    this.#sidechainsOf = options.sidechainsOf;
    for (const entry of options.entries) this.#index(entry, log.undone);
  }

  blocksOf(blocks: readonly Block[]): DocumentBlock[] {
    return blocks.flatMap((block) => this.#blockOf(block) ?? []);
  }

  #index(entry: Entry, undone: SourceLog["undone"]): void {
    if (entry.kind === "user" || entry.kind === "assistant") {
      for (const block of entry.blocks) {
        if (block.type === "tool_use") this.#calls.add(block.id);
        if (block.type === "tool_result" && !this.#results.has(block.tool_use_id))
          this.#results.set(block.tool_use_id, block);
      }
      return;
    }
    if (entry.kind !== "edit") return;
    const { edit } = entry;
    if (edit.type !== "offload" && edit.type !== "clear" && edit.type !== "repair") return;
    const state = undone.has(entry.id) ? "undone" : "in force";
    for (const { toolUse, blob, shown } of edit.results) {
      this.#shown.set(toolUse, [...(this.#shown.get(toolUse) ?? []), { by: edit.type, state, text: shown }]);
      if (edit.type === "offload" && blob !== undefined) this.#blobs.set(toolUse, blob);
    }
  }

  #blockOf(block: Block): DocumentBlock | undefined {
    switch (block.type) {
      case "text":
        return block.text.trim() === "" ? undefined : { kind: "text", text: block.text };
      case "thinking":
        if (this.#options.mode === "plain" || block.thinking.trim() === "") return undefined;
        return { kind: "thinking", text: block.thinking };
      case "redacted_thinking":
        return this.#options.mode === "plain" ? undefined : { kind: "thinking", text: "(encrypted by the provider)" };
      case "tool_use":
        return this.#callOf(block);
      case "tool_result":
        return this.#isToldWithCall(block) ? undefined : this.#resultOf(block);
      case "image":
      case "document":
        return this.#mediaOf(block.type, { ...block });
      case "unknown":
        return { kind: "other", name: nameOf(block.was), text: pretty(block.was) };
      default:
        return { kind: "other", name: block.type, text: pretty(block) };
    }
  }

  #callOf({ id, name, input }: Extract<Block, { type: "tool_use" }>): CallBlock {
    const result = this.#results.get(id);
    return {
      kind: "call",
      id,
      name,
      input: inputText(input),
      result: result === undefined ? this.#frozenOnly(id) : this.#resultOf(result),
      sidechains: this.#sidechainsOf(id),
    };
  }

  /** A call that was interrupted: only the answer that a repair froze. */
  #frozenOnly(id: ToolUseId): ResultBlock | undefined {
    const shown = this.#shown.get(id);
    return shown === undefined ? undefined : { kind: "result", id, isError: true, content: [], shown };
  }

  #isToldWithCall(block: ToolResultBlock): boolean {
    return this.#calls.has(block.tool_use_id) && this.#results.get(block.tool_use_id) === block;
  }

  #resultOf(block: ToolResultBlock): ResultBlock {
    const id = block.tool_use_id;
    const blob = this.#blobs.get(id);
    const original = blob === undefined ? undefined : this.#originals.get(blob);
    return {
      kind: "result",
      id,
      isError: block.is_error === true,
      content: this.#partsOf(original ?? block.content),
      shown: this.#options.mode === "plain" ? [] : (this.#shown.get(id) ?? []),
      ...(blob === undefined || original !== undefined ? {} : { missingBlob: blob }),
    };
  }

  #partsOf(content: ResultContent | undefined): ResultPart[] {
    if (content === undefined) return [];
    if (typeof content === "string") return [{ kind: "text", text: content }];
    return content.map((part) => {
      const type = text(part, "type");
      if (type === "image" || type === "document") return this.#mediaOf(type, part);
      return { kind: "text", text: (type === "text" ? text(part, "text") : undefined) ?? pretty(part) };
    });
  }

  #mediaOf(name: "image" | "document", block: JsonObject): MediaBlock {
    const source = sourceOf(block);
    const mediaType = text(source, "media_type") ?? "unknown type";
    const base64 = text(source, "type") === "base64" ? text(source, "data") : undefined;
    // Not fetched and not embedded: reading an export must not call anybody.
    if (base64 === undefined) return { kind: "media", name, mediaType: text(source, "url") ?? mediaType };
    const href = this.#options.place({ mediaType, base64 });
    const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
    return { kind: "media", name, mediaType, bytes, ...(href === undefined ? {} : { href }) };
  }
}

function sourceOf(block: JsonObject): JsonObject {
  const source = field(block, "source");
  return isObject(source) ? source : {};
}

const nameOf = (value: Json): string => (isObject(value) ? (text(value, "type") ?? "block") : "block");

/** A call's input, a line or a paragraph for each of its fields: texts as they are, anything else as JSON. */
function inputText(input: JsonObject): string {
  const fields = Object.entries(input).map(([key, value]) => {
    const words = typeof value === "string" ? value : pretty(value);
    return words.includes("\n") ? `${key}:\n${words}` : `${key}: ${words}`;
  });
  return fields.join("\n");
}

const pretty = (value: object | Json): string => JSON.stringify(value, undefined, 2);

export const numberIn = (object: JsonObject, key: string): number | undefined => {
  const value = field(object, key);
  return typeof value === "number" ? value : undefined;
};
