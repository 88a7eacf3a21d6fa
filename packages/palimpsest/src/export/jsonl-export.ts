import type { ResultContent } from "../schema/block.ts";
import { type EntryId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import { type Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "../schema/json.ts";
import type { FormatMode } from "./export-document.ts";

/** One line of the log to export. */
export interface JsonlLine {
  readonly entry: Entry;
  /** Already masked if masking is on. */
  readonly raw: JsonObject;
  /** The original line of the log; undefined if masking changed it. */
  readonly asLogged: string | undefined;
}

export interface JsonlOptions {
  readonly mode: FormatMode;
  /** The full content of an offloaded result, if its blob could be read. */
  readonly originalOf: (call: ToolUseId) => ResultContent | undefined;
  /** The exported size of the copy of another tool's log, if the session begins with one. */
  readonly copiedBytes?: number;
}

/**
 * Exports the ecosystem's format, line by line. A line that needs no change is written exactly as in the log. Offloaded
 * results are written in full, and their offloads lose the blob: an offload without one means that the entry holds the
 * full result. `plain`: messages only; the parent of each is the nearest exported message before it.
 */
export class JsonlExport {
  readonly #options: JsonlOptions;
  /** The parents of entries that were left out. */
  readonly #parentOf = new Map<EntryId, EntryId | null | undefined>();
  readonly #restored = new Set<ToolUseId>();

  constructor(options: JsonlOptions) {
    this.#options = options;
  }

  /** Undefined if the line is left out. */
  line({ entry, raw, asLogged }: JsonlLine): string | undefined {
    if (this.#options.mode === "plain" && !isMessage(entry)) {
      if (entry.id !== undefined) this.#parentOf.set(entry.id, entryParent(entry));
      return undefined;
    }
    const restored = this.#restore(entry, raw);
    const reparented = this.#options.mode === "plain" ? this.#reparent(entry, restored) : restored;
    const changed = withUuid(entry, reparented);
    return changed === raw && asLogged !== undefined ? asLogged : JSON.stringify(changed);
  }

  #restore(entry: Entry, raw: JsonObject): JsonObject {
    if (entry.kind === "edit" && entry.edit.type === "offload") return this.#withoutBlobs(raw);
    if (entry.kind === "edit" && entry.edit.type === "origin") return this.#resizeOrigin(raw, entry.edit.length);
    const message = field(raw, "message");
    const content = isObject(message) ? field(message, "content") : undefined;
    if (entry.kind !== "user" || !isObject(message) || !isArray(content)) return raw;
    const blocks = content.map((block) => this.#restoreResult(block));
    return blocks.some((block, at) => block !== content[at])
      ? { ...raw, message: { ...message, content: blocks } }
      : raw;
  }

  #restoreResult(block: Json): Json {
    if (!isObject(block) || textField(block, "type") !== "tool_result") return block;
    const call = toolUseId(textField(block, "tool_use_id") ?? "");
    const original = this.#options.originalOf(call);
    if (original === undefined) return block;
    this.#restored.add(call);
    return { ...block, content: original };
  }

  #withoutBlobs(raw: JsonObject): JsonObject {
    const results = field(raw, "results");
    if (!isArray(results)) return raw;
    return {
      ...raw,
      results: results.map((result) => {
        if (!isObject(result) || !this.#restored.has(toolUseId(textField(result, "toolUse") ?? ""))) return result;
        const { blob: _blob, media: _media, ...rest } = result;
        return rest;
      }),
    };
  }

  /** The length tells readers where the copy ends; `path` and `sha256` still identify the copied file. */
  #resizeOrigin(raw: JsonObject, length: number): JsonObject {
    const { copiedBytes = length } = this.#options;
    return copiedBytes === length ? raw : { ...raw, length: copiedBytes };
  }

  #reparent(entry: Entry, raw: JsonObject): JsonObject {
    let parent = entryParent(entry);
    const seen = new Set<EntryId>();
    while (typeof parent === "string" && this.#parentOf.has(parent) && !seen.has(parent)) {
      seen.add(parent);
      parent = this.#parentOf.get(parent);
    }
    if (parent === field(raw, "parentUuid")) return raw;
    const { parentUuid: _, ...rest } = raw;
    // An entry without `parentUuid` continues at the entry before it.
    return parent === undefined ? rest : { parentUuid: parent, ...rest };
  }
}

/** A message without a uuid gets its id from its position in the log, which may differ in the export, while edits may refer to the id. */
const withUuid = (entry: Entry, raw: JsonObject): JsonObject =>
  entry.id === undefined || textField(raw, "uuid") !== undefined ? raw : { ...raw, uuid: entry.id };

const entryParent = ({ parent, logicalParent }: Entry): EntryId | null | undefined => parent ?? logicalParent ?? parent;

/** Excludes summaries, which only replace messages, and placeholders of a client. */
function isMessage(entry: Entry): boolean {
  if (entry.kind === "user") return !entry.summary;
  return entry.kind === "assistant" && !entry.synthetic;
}
