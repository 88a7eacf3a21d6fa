import { isObject, type Json, type JsonObject } from "../schema/json.ts";
import { DraftLog, type EntryPlacement, textBlocks, thinkingBlock } from "./draft-log.ts";
import {
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  mediaBlock,
  toWireUsage,
  type Importer,
  type ImportDeps,
  type Translation,
} from "./importer.ts";
import { readLines } from "./read-lines.ts";

/** Copilot CLI: one event `{type, data, id, timestamp, parentId}` per line. `parentId` orders events, not messages. */
export const copilot: Importer = {
  format: "copilot",
  label: "Copilot CLI log",
  detect: (head) => head.some((value) => isEvent(value)),
  translate: (text, deps) => new EventLog(deps).translate(text),
};

const isEvent = (value: Json): boolean =>
  isObject(value) &&
  /^(?:session|user|assistant|tool|system|hook)\.[a-z_]+$/.test(textAt(value, "type")) &&
  isObject(value["data"]);

/** Events for the user interface and telemetry only. */
const silentEvents =
  /^(?:hook\.|permission\.|assistant\.(?:turn_|reasoning|intent|streaming|message_delta)|tool\.execution_(?:start|progress|partial)|session\.(?:start|resume|shutdown|model_change|mode_changed|permissions|info|idle|usage_info|title_changed|context_changed|compaction_start|plan_changed|workspace))/;

class EventLog {
  readonly #log: DraftLog;
  readonly #replyByAgent = new Map<string, string>();

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("copilot", deps);
  }

  translate(source: string): Translation {
    const { values, damaged } = readLines(source);
    this.#log.noteDamage(damaged);
    for (const { value } of values) if (isObject(value)) this.#addEvent(value);
    return this.#log.translation();
  }

  #addEvent(event: JsonObject): void {
    const data = objectAt(event, "data");
    const timestamp = textAt(event, "timestamp") || undefined;
    // A sub-agent's events name the call that started it.
    const placing = { timestamp, agent: textAt(data, "parentToolCallId") || undefined };
    const type = textAt(event, "type");
    switch (type) {
      case "session.start":
      case "session.resume":
        return this.#readStart(data);
      case "system.message":
        return this.#log.systemPrompt(textAt(data, "content"), placing);
      case "user.message":
        return this.#addUser(data, placing);
      case "system.notification":
        this.#log.user(textBlocks(textAt(data, "content")), { ...placing, meta: true });
        return;
      case "assistant.message":
        return this.#addReply(data, placing);
      case "assistant.usage":
        return this.#addUsage(data, placing);
      case "tool.execution_complete":
        return this.#addResult(data, placing);
      case "session.compaction_complete":
        return this.#addCompaction(data, placing);
      default:
        if (!silentEvents.test(type)) this.#log.note("record-left-out", `${type}: not supported`);
    }
  }

  #readStart(data: JsonObject): void {
    const context = objectAt(data, "context");
    const { circumstances } = this.#log;
    circumstances.sessionId ??= textAt(data, "sessionId");
    if (textAt(context, "cwd") !== "") circumstances.cwd = textAt(context, "cwd");
    if (textAt(context, "branch") !== "") circumstances.gitBranch = textAt(context, "branch");
    if (textAt(data, "copilotVersion") !== "") circumstances.version = textAt(data, "copilotVersion");
  }

  #addUser(data: JsonObject, placing: EntryPlacement): void {
    // `transformedContent` is what was sent: the user's text with reminders around it.
    const text = textBlocks(textAt(data, "transformedContent") || textAt(data, "content"));
    const files = objectsAt(data, "attachments").flatMap((file) => this.#attachmentBlocks(file));
    this.#log.user([...text, ...files], { ...placing, meta: textAt(data, "source") === "system" });
  }

  #attachmentBlocks(file: JsonObject): JsonObject[] {
    const block = mediaBlock(textAt(file, "mimeType"), textAt(file, "data"));
    if (block === undefined)
      this.#log.note("file-without-data", `an attachment of type ${textAt(file, "type") || "unknown"}`);
    return block === undefined ? [] : [block];
  }

  #addReply(data: JsonObject, placing: EntryPlacement): void {
    const id = textAt(data, "apiCallId") || textAt(data, "messageId") || this.#log.replyId(placing.timestamp ?? "");
    const reasoning = textAt(data, "reasoningText");
    const isThinking = reasoning !== "" || textAt(data, "reasoningOpaque") !== "";
    if (isThinking && reasoning === "") this.#log.note("thinking-unreadable", "reasoning was recorded encrypted");
    const calls = objectsAt(data, "toolRequests").map((request) =>
      this.#log.call({
        id: textAt(request, "toolCallId"),
        name: textAt(request, "name"),
        input: this.#log.input(request["arguments"]),
      }),
    );
    const content = [
      ...(isThinking ? [thinkingBlock(reasoning)] : []),
      ...textBlocks(textAt(data, "content")),
      ...calls,
    ];
    if (content.length === 0) return this.#log.note("record-left-out", "replies without text or a call");
    this.#log.reply({ id, model: textAt(data, "model"), content }, placing);
    this.#replyByAgent.set(placing.agent ?? "", id);
  }

  /** Only a few versions write this event; the messages themselves contain only output counts. */
  #addUsage(data: JsonObject, placing: EntryPlacement): void {
    const id = textAt(data, "apiCallId") || this.#replyByAgent.get(placing.agent ?? "");
    const cacheRead = numberAt(data, "cacheReadTokens");
    const cacheWrite = numberAt(data, "cacheWriteTokens");
    const input = numberAt(data, "inputTokens") - cacheRead - cacheWrite;
    const usage = toWireUsage({ input, cacheRead, cacheWrite, output: numberAt(data, "outputTokens") });
    if (id !== undefined && usage !== undefined) this.#log.usage(id, usage);
  }

  #addResult(data: JsonObject, placing: EntryPlacement): void {
    const result = objectAt(data, "result");
    const error = textAt(objectAt(data, "error"), "message");
    const text = textAt(result, "content") || error;
    const media = objectsAt(result, "contents").flatMap((part) => {
      const block = mediaBlock(textAt(part, "mimeType"), textAt(part, "data"));
      return block === undefined ? [] : [block];
    });
    const content = media.length === 0 ? text : [...textBlocks(text), ...media];
    this.#log.result({ id: textAt(data, "toolCallId"), content, isError: data["success"] === false }, placing);
  }

  #addCompaction(data: JsonObject, placing: EntryPlacement): void {
    const summary = textBlocks(textAt(data, "summaryContent"));
    if (data["success"] === false || summary.length === 0) return;
    this.#log.note("view-unknown", "what a compaction kept besides its summary was not recorded");
    this.#log.boundary({ summary, preTokens: numberAt(data, "preCompactionTokens") || undefined }, placing);
  }
}
