import type { ResultContent } from "../schema/block.ts";
import { type EntryId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import { type Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "../schema/json.ts";
import type { FormatMode } from "./export-document.ts";

/** One line of the log on its way out. */
export interface JsonlLine {
  readonly entry: Entry;
  /** Masked already, where that was asked. */
  readonly raw: JsonObject;
  /** The line as the log holds it; undefined where masking changed it. */
  readonly asLogged: string | undefined;
}

export interface JsonlOptions {
  readonly mode: FormatMode;
  /** The whole of an offloaded result, where its blob could be read. */
  readonly originalOf: (call: ToolUseId) => ResultContent | undefined;
  /** Bytes that the copy of another tool's log takes here, where the session begins with one. */
  readonly copiedBytes?: number;
}

/**
 * The ecosystem's form, line by line. A line that needs no change is written as it stands in the log. Offloaded results
 * are written in full, and their offloads then name no blob, which is how an offload says that the entry holds the whole.
 * `plain`: messages only; each hangs on the nearest message before it.
 */
export class JsonlExport {
  readonly #options: JsonlOptions;
  /** What entries that were left out hung on. */
  readonly #parentOf = new Map<EntryId, EntryId | null | undefined>();
  readonly #whole = new Set<ToolUseId>();

  constructor(options: JsonlOptions) {
    this.#options = options;
  }

  /** Undefined where the line is left out. */
  line({ entry, raw, asLogged }: JsonlLine): string | undefined {
    if (this.#options.mode === "plain" && !isMessage(entry)) {
      if (entry.id !== undefined) this.#parentOf.set(entry.id, entryParent(entry));
      return undefined;
    }
    const whole = this.#inFull(entry, raw);
    const placed = this.#options.mode === "plain" ? this.#placed(entry, whole) : whole;
    const changed = withUuid(entry, placed);
    return changed === raw && asLogged !== undefined ? asLogged : JSON.stringify(changed);
  }

  #inFull(entry: Entry, raw: JsonObject): JsonObject {
    if (entry.kind === "edit" && entry.edit.type === "offload") return this.#withoutBlobs(raw);
    if (entry.kind === "edit" && entry.edit.type === "origin") return this.#resized(raw, entry.edit.length);
    const message = field(raw, "message");
    const content = isObject(message) ? field(message, "content") : undefined;
    if (entry.kind !== "user" || !isObject(message) || !isArray(content)) return raw;
    const blocks = content.map((block) => this.#wholeResult(block));
    return blocks.some((block, at) => block !== content[at])
      ? { ...raw, message: { ...message, content: blocks } }
      : raw;
  }

  #wholeResult(block: Json): Json {
    if (!isObject(block) || textField(block, "type") !== "tool_result") return block;
    const call = toolUseId(textField(block, "tool_use_id") ?? "");
    const original = this.#options.originalOf(call);
    if (original === undefined) return block;
    this.#whole.add(call);
    return { ...block, content: original };
  }

  #withoutBlobs(raw: JsonObject): JsonObject {
    const results = field(raw, "results");
    if (!isArray(results)) return raw;
    return {
      ...raw,
      results: results.map((one) => {
        if (!isObject(one) || !this.#whole.has(toolUseId(textField(one, "toolUse") ?? ""))) return one;
        const { blob: _blob, media: _media, ...rest } = one;
        return rest;
      }),
    };
  }

  /** Readers tell by it how far the copy goes; `path` and `sha256` still name what was copied. */
  #resized(raw: JsonObject, length: number): JsonObject {
    const { copiedBytes = length } = this.#options;
    return copiedBytes === length ? raw : { ...raw, length: copiedBytes };
  }

  #placed(entry: Entry, raw: JsonObject): JsonObject {
    let parent = entryParent(entry);
    const seen = new Set<EntryId>();
    while (typeof parent === "string" && this.#parentOf.has(parent) && !seen.has(parent)) {
      seen.add(parent);
      parent = this.#parentOf.get(parent);
    }
    if (parent === field(raw, "parentUuid")) return raw;
    const { parentUuid: _, ...rest } = raw;
    // Who names no parent goes on at the entry before.
    return parent === undefined ? rest : { parentUuid: parent, ...rest };
  }
}

/** A message without a uuid was known by its place in the log; here it may have another, and edits may name it. */
const withUuid = (entry: Entry, raw: JsonObject): JsonObject =>
  entry.id === undefined || textField(raw, "uuid") !== undefined ? raw : { ...raw, uuid: entry.id };

const entryParent = ({ parent, logicalParent }: Entry): EntryId | null | undefined => parent ?? logicalParent ?? parent;

/** What was said: no summaries, which stand for it, and no placeholders of a client. */
function isMessage(entry: Entry): boolean {
  if (entry.kind === "user") return !entry.summary;
  return entry.kind === "assistant" && !entry.synthetic;
}
