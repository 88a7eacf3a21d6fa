import { isArray, isObject, type Json, type JsonObject, listField } from "../schema/json.ts";
import { DraftLog, type EntryPlacement, textBlock, textBlocks, thinkingBlock } from "./draft-log.ts";
import {
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  mediaBlockFromUrl,
  toWireUsage,
  type Importer,
  type ImportDeps,
  type Translation,
} from "./importer.ts";
import { readLines } from "./read-lines.ts";
import { codexKeptCharsMax } from "./limits.ts";

/**
 * Codex rollouts: one `{timestamp, type, payload}` per line. Only `response_item` and `compacted` reached the model; events
 * repeat them for the screen. Early versions wrote the items without an envelope.
 *
 * The items of one reply have no common id. A reply ends at the token count after it or, if the rollout has no counts, at
 * the first item that follows a result.
 */
export const codex: Importer = {
  format: "codex",
  label: "Codex rollout",
  detect: (head) => head.some((value) => isEnvelope(value) || isBareItem(value)),
  translate: (text, deps) => new Rollout(deps).translate(text),
};

const envelopeTypes: ReadonlySet<string> = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
]);

const isEnvelope = (value: Json): boolean =>
  isObject(value) && envelopeTypes.has(textAt(value, "type")) && isObject(value["payload"]);

const isBareItem = (value: Json): boolean =>
  isObject(value) &&
  (textAt(value, "record_type") === "state" ||
    (textAt(value, "type").startsWith("function_call") && textAt(value, "call_id") !== "") ||
    (textAt(value, "type") === "message" &&
      /^(?:in|out)put_text$/.test(textAt(listField(value, "content")[0], "type"))));

const itemTypes: ReadonlySet<string> = new Set([
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
]);

/** Items that were not sent to the model. */
const silentItems: ReadonlySet<string> = new Set(["ghost_snapshot", "compaction_trigger"]);

class Rollout {
  readonly #log: DraftLog;
  #model: string | undefined;
  #hasCounts = false;
  #replies = 0;
  /** The id of the current reply, and whether a result followed it. */
  #reply: string | undefined;
  #isAnswered = false;
  #totalTokens = 0;
  #contextTokens = 0;
  #typed: { readonly entry: string; readonly chars: number }[] = [];

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("codex", deps);
  }

  translate(source: string): Translation {
    const { values, damaged } = readLines(source);
    this.#log.noteDamage(damaged);
    this.#hasCounts = values.some(
      ({ value }) =>
        textAt(objectAt(value, "payload"), "type") === "token_count" && hasCounts(objectAt(value, "payload")),
    );
    for (const { value } of values) if (isObject(value)) this.#addRecord(value);
    return this.#log.translation();
  }

  #addRecord(record: JsonObject): void {
    const timestamp = textAt(record, "timestamp") || undefined;
    if (!isEnvelope(record)) {
      if (itemTypes.has(textAt(record, "type"))) this.#addItem(record, { timestamp });
      else if (textAt(record, "id") !== "" && !this.#log.circumstances.sessionId) this.#readHead(record, { timestamp });
      return;
    }
    const payload = objectAt(record, "payload");
    switch (textAt(record, "type")) {
      case "session_meta":
        return this.#readHead(payload, { timestamp });
      case "turn_context":
        this.#model = textAt(payload, "model") || this.#model;
        if (textAt(payload, "cwd") !== "") this.#log.circumstances.cwd = textAt(payload, "cwd");
        return;
      case "response_item":
        return this.#addItem(payload, { timestamp });
      case "compacted":
        return this.#addCompaction(payload, { timestamp });
      default:
        return this.#addEvent(payload);
    }
  }

  #readHead(meta: JsonObject, placing: EntryPlacement): void {
    const { circumstances } = this.#log;
    // A fork's rollout begins with its own head, followed by the head of the session that it was forked from.
    if (circumstances.sessionId !== undefined) return;
    circumstances.sessionId = textAt(meta, "id");
    const git = textAt(objectAt(meta, "git"), "branch");
    if (git !== "") circumstances.gitBranch = git;
    if (textAt(meta, "cwd") !== "") circumstances.cwd = textAt(meta, "cwd");
    if (textAt(meta, "cli_version") !== "") circumstances.version = textAt(meta, "cli_version");
    this.#log.systemPrompt(
      textAt(objectAt(meta, "base_instructions"), "text") || textAt(meta, "instructions"),
      placing,
    );
  }

  #addEvent(event: JsonObject): void {
    switch (textAt(event, "type")) {
      case "token_count":
        return this.#addTokenCount(event);
      case "task_started":
      case "turn_started":
      case "turn_aborted":
      case "task_complete":
        this.#reply = undefined;
    }
  }

  /** Codex repeats the count without a change when limits are updated: only a new total ends a reply. */
  #addTokenCount(event: JsonObject): void {
    if (!hasCounts(event)) return;
    const info = objectAt(event, "info");
    const total = numberAt(objectAt(info, "total_token_usage"), "total_tokens");
    if (total === this.#totalTokens) return;
    this.#totalTokens = total;
    const last = objectAt(info, "last_token_usage");
    const cacheRead = numberAt(last, "cached_input_tokens");
    const input = numberAt(last, "input_tokens") - cacheRead;
    const usage = toWireUsage({ input, cacheRead, cacheWrite: 0, output: numberAt(last, "output_tokens") });
    if (usage === undefined) return;
    this.#contextTokens = numberAt(last, "total_tokens");
    // The window that the server declared is kept with the count, so that it need not be guessed.
    const window = numberAt(info, "model_context_window");
    const withWindow = window > 0 ? { ...usage, context_window: window } : usage;
    if (this.#reply !== undefined) this.#log.usage(this.#reply, withWindow);
    this.#reply = undefined;
  }

  #addItem(item: JsonObject, placing: EntryPlacement): void {
    const type = textAt(item, "type");
    switch (type) {
      case "message":
        return this.#addMessage(item, placing);
      case "reasoning":
        return this.#addToReply([this.#readThinking(item)], placing);
      case "function_call":
      case "custom_tool_call":
      case "local_shell_call":
        return this.#addToReply([this.#log.call(this.#readCall(type, item))], placing);
      case "function_call_output":
      case "custom_tool_call_output":
        this.#log.result({ id: textAt(item, "call_id"), ...readResult(item["output"]) }, placing);
        this.#isAnswered = true;
        return;
      default:
        if (!silentItems.has(type) && type !== "") this.#log.note("record-left-out", `${type}: not supported`);
    }
  }

  #readCall(type: string, item: JsonObject): { id: string; name: string; input: JsonObject } {
    const id = textAt(item, "call_id") || textAt(item, "id");
    if (type === "local_shell_call") return { id, name: "local_shell", input: objectAt(item, "action") };
    const name = textAt(item, "name");
    if (type === "custom_tool_call") return { id, name, input: { input: textAt(item, "input") } };
    return { id, name, input: this.#log.input(item["arguments"]) };
  }

  #readThinking(item: JsonObject): JsonObject {
    const parts = [...objectsAt(item, "summary"), ...objectsAt(item, "content")];
    const thought = parts.map((part) => textAt(part, "text")).join("\n\n");
    if (thought === "") this.#log.note("thinking-unreadable", "reasoning was recorded encrypted or not at all");
    return thinkingBlock(thought);
  }

  #addMessage(item: JsonObject, placing: EntryPlacement): void {
    const content = readContent(item["content"]);
    const role = textAt(item, "role");
    if (role === "assistant") return this.#addToReply(content, placing);
    this.#reply = undefined;
    if (role !== "user") this.#log.note("instructions-as-user", `${role} messages became user messages`);
    const meta = role !== "user" || content.every((block) => isContext(textAt(block, "text")));
    const entry = this.#log.user(content, { ...placing, meta });
    if (entry !== undefined && !meta) this.#typed.push({ entry, chars: countChars(content) });
  }

  #addToReply(content: readonly JsonObject[], placing: EntryPlacement): void {
    if (content.length === 0) return;
    if (this.#reply === undefined || (this.#isAnswered && !this.#hasCounts)) {
      this.#replies += 1;
      this.#reply = this.#log.replyId(String(this.#replies));
    }
    this.#isAnswered = false;
    this.#log.reply({ id: this.#reply, model: this.#model, content }, placing);
  }

  #addCompaction(payload: JsonObject, placing: EntryPlacement): void {
    this.#reply = undefined;
    const preTokens = this.#contextTokens || undefined;
    const summary = textBlocks(textAt(payload, "message"));
    if (!isArray(payload["replacement_history"])) {
      // Codex keeps the user's newest messages verbatim up to a limit; these versions did not record which.
      this.#log.note(
        "view-unknown",
        "what was kept besides the summary was not recorded: the user's newest messages are assumed",
      );
      this.#log.boundary({ summary, preTokens, kept: newestTyped(this.#typed) }, placing);
      return;
    }
    const history = objectsAt(payload, "replacement_history");
    if (history.some((item) => textAt(item, "type") === "compaction" && textAt(item, "text") === ""))
      this.#log.note("summary-unreadable", "the summary is encrypted: the user's messages take its place");
    const firstReply = history.findIndex((item) => textAt(item, "role") === "assistant" || "call_id" in item);
    const front = firstReply === -1 ? history : history.slice(0, firstReply);
    this.#typed = [];
    const shown = [...front.flatMap((item) => readContent(item["content"])), ...summary];
    this.#log.boundary({ summary: shown.length === 0 ? [textBlock("(unreadable)")] : shown, preTokens }, placing);
    for (const item of history.slice(front.length)) this.#addItem(item, placing);
  }
}

const hasCounts = (event: JsonObject): boolean => isObject(event["info"]);

/** Texts that Codex adds as user messages before the first prompt. */
const isContext = (text: string): boolean =>
  /^\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|subagent_notification|skill)|# AGENTS\.md instructions)/.test(
    text,
  );

const countChars = (content: readonly JsonObject[]): number =>
  content.reduce((sum, block) => sum + textAt(block, "text").length, 0);

function newestTyped(typed: readonly { readonly entry: string; readonly chars: number }[]): string[] {
  let left = codexKeptCharsMax;
  const kept: string[] = [];
  for (const { entry, chars } of typed.toReversed()) {
    left -= chars;
    if (left < 0) break;
    kept.unshift(entry);
  }
  return kept;
}

function readContent(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return textBlocks(content);
  if (!isArray(content)) return [];
  return content.flatMap((part) => {
    const image = readImage(part);
    return image === undefined ? textBlocks(textAt(part, "text")) : [image];
  });
}

const readImage = (part: Json): JsonObject | undefined =>
  textAt(part, "type") === "input_image" ? mediaBlockFromUrl(textAt(part, "image_url")) : undefined;

/** The output is text, or parts, or (in earlier versions) an object with content and success. */
function readResult(output: Json | undefined): { content: string | JsonObject[]; isError?: boolean } {
  if (typeof output === "string") return { content: output };
  if (isArray(output)) return { content: readContent(output) };
  if (!isObject(output)) return { content: "" };
  return { ...readResult(output["content"]), isError: output["success"] === false };
}
