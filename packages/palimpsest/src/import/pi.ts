import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { DraftLog, resultContent, type EntryPlacement, textBlock, textBlocks, thinkingBlock } from "./draft-log.ts";
import {
  isoAt,
  numberAt,
  objectAt,
  textAt,
  mediaBlock,
  toWireUsage,
  type Importer,
  type ImportDeps,
  type Translation,
} from "./importer.ts";
import { readLines } from "./read-lines.ts";

/**
 * pi sessions: a head, then one record per line. From version 2 on, records have `id` and `parentId`, and the session is a
 * tree like ours. Before that, each record continues at the one above it, and a compaction refers to what it keeps by index.
 */
export const pi: Importer = {
  format: "pi",
  label: "pi session",
  detect: (head) => head.some((value) => isHead(value) || isMessage(value)),
  translate: (text, deps) => new PiSession(deps).translate(text),
};

const isHead = (value: Json): boolean =>
  isObject(value) && value["type"] === "session" && textAt(value, "id") !== "" && textAt(value, "cwd") !== "";

const isMessage = (value: Json): boolean =>
  isObject(value) &&
  value["type"] === "message" &&
  /^(?:user|assistant|toolResult|bashExecution)$/.test(textAt(objectAt(value, "message"), "role"));

class PiSession {
  readonly #log: DraftLog;
  /** By record id: the entry that the record became, or the entry before it if it became none. */
  readonly #entryById = new Map<string, string | null>();
  /** By index of the record, counting the head. */
  readonly #entryByIndex: (string | undefined)[] = [];
  #replies = 0;

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("pi", deps);
  }

  translate(source: string): Translation {
    const { values, damaged } = readLines(source);
    this.#log.noteDamage(damaged);
    for (const { value } of values) if (isObject(value)) this.#addRecord(value);
    return this.#log.translation();
  }

  #addRecord(record: JsonObject): void {
    const before = this.#log.last;
    const parentId = textAt(record, "parentId");
    const parentEntry = parentId === "" ? undefined : this.#entryById.get(parentId);
    const isRoot = record["parentId"] === null;
    const parent = isRoot ? null : parentEntry;
    const timestamp = textAt(record, "timestamp") || isoAt(objectAt(record, "message"), "timestamp");
    this.#translate(record, { timestamp, parent });
    const last = this.#log.last;
    const entry = last === before ? undefined : last;
    this.#entryByIndex.push(entry);
    const id = textAt(record, "id");
    if (id !== "" && record["type"] !== "session") this.#entryById.set(id, entry ?? parent ?? before ?? null);
  }

  #translate(record: JsonObject, placing: EntryPlacement): void {
    const type = textAt(record, "type");
    switch (type) {
      case "session":
        this.#log.circumstances.sessionId = textAt(record, "id");
        this.#log.circumstances.cwd = textAt(record, "cwd");
        return;
      case "message":
        return this.#addMessage(objectAt(record, "message"), placing);
      case "compaction":
        return this.#addCompaction(record, placing);
      case "branch_summary":
        this.#log.user(textBlocks(textAt(record, "summary")), { ...placing, meta: true });
        return;
      case "custom_message":
        this.#log.user(readContent(record["content"]), { ...placing, meta: true });
        return;
      case "session_info":
        if (textAt(record, "name") !== "")
          this.#log.add({ type: "custom-title", customTitle: textAt(record, "name") }, placing);
        return;
      case "thinking_level_change":
      case "model_change":
      case "label":
        return;
      default:
        this.#log.note("record-left-out", `${type}: not sent to the model`);
    }
  }

  #addMessage(message: JsonObject, placing: EntryPlacement): void {
    const role = textAt(message, "role");
    switch (role) {
      case "user":
        this.#log.user(readContent(message["content"]), placing);
        return;
      case "assistant":
        return this.#addReply(message, placing);
      case "toolResult":
        this.#log.result(
          {
            id: textAt(message, "toolCallId"),
            content: resultContent(readContent(message["content"])),
            isError: message["isError"] === true,
          },
          placing,
        );
        return;
      case "bashExecution":
        if (message["excludeFromContext"] === true)
          return this.#log.note("record-left-out", "a command that was not sent to the model");
        this.#log.user([textBlock(commandText(message))], placing);
        return;
      default:
        this.#log.user(readContent(message["content"]), { ...placing, meta: true });
        this.#log.note("instructions-as-user", `${role} messages became user messages`);
    }
  }

  #addReply(message: JsonObject, placing: EntryPlacement): void {
    this.#replies += 1;
    const usage = objectAt(message, "usage");
    const blocks = isArray(message["content"]) ? message["content"] : [];
    const content = blocks.flatMap((block) => (isObject(block) ? this.#block(block) : []));
    const failed = textAt(message, "stopReason") === "error";
    if (failed) this.#log.note("error-reply", "failed replies are shown to the user and never sent");
    if (content.length === 0 && !failed)
      return this.#log.note("record-left-out", "replies that were aborted before any text");
    this.#log.reply(
      {
        id: textAt(message, "responseId") || this.#log.replyId(String(this.#replies)),
        model: textAt(message, "model"),
        content: content.length === 0 ? textBlocks(textAt(message, "errorMessage")) : content,
        usage: toWireUsage({
          input: numberAt(usage, "input"),
          cacheRead: numberAt(usage, "cacheRead"),
          cacheWrite: numberAt(usage, "cacheWrite"),
          output: numberAt(usage, "output"),
        }),
        failed,
      },
      placing,
    );
  }

  #block(block: JsonObject): JsonObject[] {
    switch (textAt(block, "type")) {
      case "text":
        return textBlocks(textAt(block, "text"));
      case "thinking":
        return [thinkingBlock(textAt(block, "thinking"), textAt(block, "thinkingSignature"))];
      case "toolCall":
        return [
          this.#log.call({
            id: textAt(block, "id"),
            name: textAt(block, "name"),
            input: this.#log.input(block["arguments"]),
          }),
        ];
      default:
        return [];
    }
  }

  #addCompaction(record: JsonObject, placing: EntryPlacement): void {
    const index = record["firstKeptEntryIndex"];
    const keptFrom =
      typeof index === "number"
        ? this.#entryByIndex.slice(index).find((entry) => entry !== undefined)
        : (this.#entryById.get(textAt(record, "firstKeptEntryId")) ?? undefined);
    if (keptFrom === undefined) this.#log.note("view-unknown", "the entries that a compaction kept could not be found");
    this.#log.boundary(
      {
        summary: textBlocks(textAt(record, "summary")),
        preTokens: numberAt(record, "tokensBefore") || undefined,
        keptFrom,
      },
      placing,
    );
  }
}

function readContent(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return textBlocks(content);
  if (!isArray(content)) return [];
  return content.flatMap((part) => {
    if (textAt(part, "type") !== "image") return textBlocks(textAt(part, "text"));
    const image = mediaBlock(textAt(part, "mimeType"), textAt(part, "data"));
    return image === undefined ? [] : [image];
  });
}

/** A command that the user ran, in the words that pi sends to the model. */
function commandText(message: JsonObject): string {
  const output = textAt(message, "output");
  const exit = numberAt(message, "exitCode");
  const end =
    message["cancelled"] === true
      ? "\n\n(command cancelled)"
      : exit === 0
        ? ""
        : `\n\nCommand exited with code ${exit}`;
  return `Ran \`${textAt(message, "command")}\`\n${output === "" ? "(no output)" : `\`\`\`\n${output}\n\`\`\``}${end}`;
}
