import type { MessageId, BlobId, ToolUseId } from "../schema/brand.ts";
import { editText } from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { field, isObject, type JsonObject, textField, type Json } from "../schema/json.ts";
import type { ReceiptClass } from "../schema/receipt.ts";
import { attachmentText } from "../transcript/attachment-text.ts";
import { userTypedText } from "../transcript/user-text.ts";
import type {
  AttachmentPart,
  BoundaryPart,
  EditPart,
  FormatMode,
  MessagePart,
  NotePart,
  Part,
  ReceiptTotals,
  SourceLine,
  SourceLog,
  CallBlock,
  DocumentBlock,
  MediaBlock,
  ResultBlock,
  ResultPart,
  ShownInstead,
  Sidechain,
  DocumentOptions,
} from "./export-document.ts";
import type { Block, ResultContent, ToolResultBlock } from "../schema/block.ts";

interface PartsOptions {
  readonly contents: Contents;
  readonly mode: FormatMode;
  readonly undone: SourceLog["undone"];
}

/** Turns the entries of one conversation into readable parts: the entries of a reply become one part, a boundary includes its summary. */
export function buildParts(lines: readonly SourceLine[], options: PartsOptions): Part[] {
  const parts: Part[] = [];
  let reply: MessageId | undefined;
  for (const [at, line] of lines.entries()) {
    const { entry } = line;
    if (options.mode === "plain" && entry.kind !== "user" && entry.kind !== "assistant") continue;
    const part = buildPart(line, options, nextSaid(lines, at));
    if (part === undefined) continue;
    const last = parts.at(-1);
    const continuesReply = entry.kind === "assistant" && entry.messageId !== undefined && entry.messageId === reply;
    if (continuesReply && part.kind === "message" && last?.kind === "message")
      parts[parts.length - 1] = { ...last, blocks: [...last.blocks, ...part.blocks] };
    else parts.push(part);
    reply = entry.kind === "assistant" ? entry.messageId : undefined;
  }
  return parts;
}

/** Claude Code writes attachments between a boundary and its summary. */
function nextSaid(lines: readonly SourceLine[], at: number): SourceLine | undefined {
  let next = at + 1;
  while (lines[next]?.entry.kind === "attachment") next += 1;
  return lines[next];
}

function buildPart(line: SourceLine, options: PartsOptions, next: SourceLine | undefined): Part | undefined {
  const { entry, raw } = line;
  switch (entry.kind) {
    case "user":
      // A summary is part of the boundary before it.
      if (entry.summary) return undefined;
      return messagePart(
        line,
        userTypedText({ ...entry, sidechain: false }) === undefined ? "engine" : "user",
        options,
      );
    case "assistant":
      if (!entry.synthetic) return messagePart(line, "assistant", options);
      return { kind: "note", at: entryTime(entry), text: entryText(entry) } satisfies NotePart;
    case "attachment": {
      const text = attachmentText(entry.attachment);
      const name = [
        textField(entry.attachment, "type") ?? "attachment",
        textField(entry.attachment, "filename") ?? textField(entry.attachment, "path"),
      ]
        .filter((word) => word !== undefined)
        .join(" ");
      return text === undefined
        ? undefined
        : ({ kind: "attachment", name, at: entryTime(entry), text } satisfies AttachmentPart);
    }
    case "edit":
      return editPart({ entry, raw, next }, options);
    case "other":
      return notePart(raw, entry);
  }
}

function messagePart(line: SourceLine, who: MessagePart["who"], options: PartsOptions): MessagePart | undefined {
  const { entry, raw } = line;
  if (entry.kind !== "user" && entry.kind !== "assistant") return undefined;
  const blocks = options.contents.toDocumentBlocks(entry.blocks);
  if (blocks.length === 0) return undefined;
  const message = field(raw, "message");
  const model = isObject(message) ? textField(message, "model") : undefined;
  return {
    kind: "message",
    who,
    id: entry.id ?? "",
    at: entryTime(entry),
    ...(model === undefined ? {} : { model }),
    blocks,
  };
}

function editPart(
  { entry, raw, next }: { readonly entry: EditEntry; readonly raw: JsonObject; readonly next: SourceLine | undefined },
  { undone }: PartsOptions,
): EditPart | BoundaryPart {
  const { id, edit } = entry;
  const receipt = receiptIn(raw);
  const base = {
    id,
    at: entryTime(entry),
    state: undone.has(id) ? "undone" : "in force",
    ...(receipt === undefined ? {} : { receipt }),
  } as const;
  if (edit.type !== "boundary") return { kind: "edit", name: edit.type, what: editText(edit), ...base };
  const { trigger, preTokens } = edit.metadata;
  const what = [trigger, preTokens === undefined ? undefined : `${preTokens} tokens before`];
  const summary = next?.entry.kind === "user" && next.entry.summary ? entryText(next.entry) : "";
  return { kind: "boundary", what: what.filter((word) => word !== undefined).join(", "), summary, ...base };
}

const classes: readonly ReceiptClass[] = ["kept", "stubbed", "summarised", "dropped", "added", "restored"];

function receiptIn(raw: JsonObject): ReceiptTotals | undefined {
  const receipt = field(raw, "receipt");
  if (!isObject(receipt)) return undefined;
  const entries = field(receipt, "entries");
  const price = field(receipt, "price");
  const cause = textField(receipt, "cause");
  const tokensBefore = numberIn(receipt, "tokensBefore");
  const tokensAfter = numberIn(receipt, "tokensAfter");
  const breakEvenRounds = isObject(price) ? numberIn(price, "breakEvenRounds") : undefined;
  return {
    ...(cause === undefined ? {} : { cause }),
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(tokensAfter === undefined ? {} : { tokensAfter }),
    ...(breakEvenRounds === undefined ? {} : { breakEvenRounds }),
    entries: classes.flatMap((name) => {
      const amount = isObject(entries) ? numberIn(entries, name) : undefined;
      return amount === undefined ? [] : [[name, amount] as const];
    }),
  };
}

/** A line of the system that the user saw; progress, snapshots and the like are only counted in the header. */
function notePart(raw: JsonObject, entry: Entry): NotePart | undefined {
  const content = textField(raw, "content");
  if (textField(raw, "type") !== "system" || content === undefined || content.trim() === "") return undefined;
  return { kind: "note", at: entryTime(entry), text: content };
}

const entryTime = (entry: Entry): string => entry.timestamp ?? "";

function entryText(entry: Entry): string {
  if (entry.kind !== "user" && entry.kind !== "assistant") return "";
  return entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** Converts blocks. Knows all calls, results and edits, so that a result is rendered once, with its call, and with the texts that edits put in its place. */
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

  toDocumentBlocks(blocks: readonly Block[]): DocumentBlock[] {
    return blocks.flatMap((block) => this.#toDocumentBlock(block) ?? []);
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

  #toDocumentBlock(block: Block): DocumentBlock | undefined {
    switch (block.type) {
      case "text":
        return block.text.trim() === "" ? undefined : { kind: "text", text: block.text };
      case "thinking":
        if (this.#options.mode === "plain" || block.thinking.trim() === "") return undefined;
        return { kind: "thinking", text: block.thinking };
      case "redacted_thinking":
        return this.#options.mode === "plain" ? undefined : { kind: "thinking", text: "(encrypted by the provider)" };
      case "tool_use":
        return this.#toCall(block);
      case "tool_result":
        return this.#isRenderedWithCall(block) ? undefined : this.#toResult(block);
      case "image":
      case "document":
        return this.#toMedia(block.type, { ...block });
      case "unknown":
        return { kind: "other", name: blockName(block.was), text: pretty(block.was) };
      default:
        return { kind: "other", name: block.type, text: pretty(block) };
    }
  }

  #toCall({ id, name, input }: Extract<Block, { type: "tool_use" }>): CallBlock {
    const result = this.#results.get(id);
    return {
      kind: "call",
      id,
      name,
      input: inputText(input),
      result: result === undefined ? this.#interruptedResult(id) : this.#toResult(result),
      sidechains: this.#sidechainsOf(id),
    };
  }

  /** For an interrupted call, which has only the answer that a repair added. */
  #interruptedResult(id: ToolUseId): ResultBlock | undefined {
    const shown = this.#shown.get(id);
    return shown === undefined ? undefined : { kind: "result", id, isError: true, content: [], shown };
  }

  #isRenderedWithCall(block: ToolResultBlock): boolean {
    return this.#calls.has(block.tool_use_id) && this.#results.get(block.tool_use_id) === block;
  }

  #toResult(block: ToolResultBlock): ResultBlock {
    const id = block.tool_use_id;
    const blob = this.#blobs.get(id);
    const original = blob === undefined ? undefined : this.#originals.get(blob);
    return {
      kind: "result",
      id,
      isError: block.is_error === true,
      content: this.#toResultParts(original ?? block.content),
      shown: this.#options.mode === "plain" ? [] : (this.#shown.get(id) ?? []),
      ...(blob === undefined || original !== undefined ? {} : { missingBlob: blob }),
    };
  }

  #toResultParts(content: ResultContent | undefined): ResultPart[] {
    if (content === undefined) return [];
    if (typeof content === "string") return [{ kind: "text", text: content }];
    return content.map((part) => {
      const type = textField(part, "type");
      if (type === "image" || type === "document") return this.#toMedia(type, part);
      return { kind: "text", text: (type === "text" ? textField(part, "text") : undefined) ?? pretty(part) };
    });
  }

  #toMedia(name: "image" | "document", block: JsonObject): MediaBlock {
    const source = mediaSource(block);
    const mediaType = textField(source, "media_type") ?? "unknown type";
    const base64 = textField(source, "type") === "base64" ? textField(source, "data") : undefined;
    // Neither fetched nor embedded: reading an export must not cause network requests.
    if (base64 === undefined) return { kind: "media", name, mediaType: textField(source, "url") ?? mediaType };
    const href = this.#options.place({ mediaType, base64 });
    const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
    return { kind: "media", name, mediaType, bytes, ...(href === undefined ? {} : { href }) };
  }
}

function mediaSource(block: JsonObject): JsonObject {
  const source = field(block, "source");
  return isObject(source) ? source : {};
}

const blockName = (value: Json): string => (isObject(value) ? (textField(value, "type") ?? "block") : "block");

/** A call's input with a line or a paragraph for each field: strings as they are, other values as JSON. */
function inputText(input: JsonObject): string {
  const fields = Object.entries(input).map(([key, value]) => {
    const text = typeof value === "string" ? value : pretty(value);
    return text.includes("\n") ? `${key}:\n${text}` : `${key}: ${text}`;
  });
  return fields.join("\n");
}

const pretty = (value: object | Json): string => JSON.stringify(value, undefined, 2);

export const numberIn = (object: JsonObject, key: string): number | undefined => {
  const value = field(object, key);
  return typeof value === "number" ? value : undefined;
};
