import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { DraftLog, textBlocks, thinkingBlock } from "./draft-log.ts";
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
import { readDocument, readLines } from "./read-lines.ts";

/**
 * Gemini CLI: `{sessionId, projectHash, messages}` as one document, or (newer) the same head on the first line and then one
 * message per line; a message with a known id replaces the earlier one. A message contains its calls with their results.
 */
export const gemini: Importer = {
  format: "gemini",
  label: "Gemini CLI log",
  detect: (head) => head.some((value) => isHead(value)),
  translate: (text, deps) => new GeminiLog(deps).translate(text),
};

const isHead = (value: Json): boolean =>
  isObject(value) &&
  textAt(value, "sessionId") !== "" &&
  (textAt(value, "projectHash") !== "" || (textAt(value, "startTime") !== "" && isArray(value["messages"])));

class GeminiLog {
  readonly #log: DraftLog;
  #replies = 0;

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("gemini", deps);
  }

  translate(source: string): Translation {
    const lines = readLines(source);
    const byLine = lines.values.length > 1 && isObject(lines.values[0]?.value ?? null);
    const { head, messages } = byLine ? this.#readByLine(lines) : this.#readDocument(source);
    this.#log.circumstances.sessionId = textAt(head, "sessionId");
    for (const message of messages) this.#addMessage(message);
    return this.#log.translation();
  }

  #readDocument(source: string): { head: Json | undefined; messages: readonly JsonObject[] } {
    const { value, state } = readDocument(source);
    if (state === "torn") this.#log.noteTorn();
    return { head: value, messages: objectsAt(value, "messages") };
  }

  #readByLine({ values, damaged }: ReturnType<typeof readLines>): {
    head: Json | undefined;
    messages: readonly JsonObject[];
  } {
    this.#log.noteDamage(damaged);
    const byId = new Map<string, JsonObject>();
    for (const { value } of values) {
      if (!isObject(value)) continue;
      const rewindTo = textAt(value, "$rewindTo");
      if (rewindTo !== "") this.#rewind(byId, rewindTo);
      for (const message of isMessage(value)
        ? [value]
        : [...objectsAt(value, "messages"), ...objectsAt(value["$set"], "messages")])
        byId.set(textAt(message, "id"), message);
    }
    return { head: values[0]?.value, messages: [...byId.values()] };
  }

  #rewind(byId: Map<string, JsonObject>, to: string): void {
    const ids = [...byId.keys()];
    const at = ids.indexOf(to);
    if (at === -1) return this.#log.note("record-left-out", "a rewind to a message that is not in the log");
    for (const id of ids.slice(at)) {
      byId.delete(id);
      this.#log.note("other-conversation", "messages that the user rewound");
    }
  }

  #addMessage(message: JsonObject): void {
    const timestamp = textAt(message, "timestamp") || undefined;
    const type = textAt(message, "type");
    if (type === "user") this.#log.user(readContent(message["content"]), { timestamp });
    else if (type === "gemini") this.#addReply(message, timestamp);
    else this.#log.note("record-left-out", `${type}: shown to the user only`);
  }

  #addReply(message: JsonObject, timestamp: string | undefined): void {
    this.#replies += 1;
    const toolCalls = objectsAt(message, "toolCalls");
    const thoughts = objectsAt(message, "thoughts").map((thought) =>
      thinkingBlock(`**${textAt(thought, "subject")}**\n${textAt(thought, "description")}`),
    );
    const calls = toolCalls.map((call) =>
      this.#log.call({ id: textAt(call, "id"), name: textAt(call, "name"), input: objectAt(call, "args") }),
    );
    const content = [...thoughts, ...readContent(message["content"]), ...calls];
    if (content.length === 0) return this.#log.note("record-left-out", "replies without text or a call");
    const id = this.#log.replyId(textAt(message, "id") || String(this.#replies));
    this.#log.reply(
      { id, model: textAt(message, "model"), content, usage: readUsage(objectAt(message, "tokens")) },
      { timestamp },
    );
    for (const call of toolCalls) this.#addResult(call, textAt(call, "timestamp") || timestamp);
  }

  #addResult(call: JsonObject, timestamp: string | undefined): void {
    const parts = isArray(call["result"]) ? objectsAt(call, "result") : [];
    const display = textAt(call, "resultDisplay");
    if (parts.length === 0 && display === "" && textAt(call, "status") === "") return;
    const blocks = parts.flatMap(readPart);
    const isError = /^(?:error|cancelled)$/.test(textAt(call, "status"));
    const text = blocks.filter((block) => block["type"] === "text").map((block) => textAt(block, "text"));
    const content = blocks.length > text.length ? blocks : text.join("\n") || display;
    this.#log.result({ id: textAt(call, "id"), content, isError }, { timestamp });
  }
}

const isMessage = (value: JsonObject): boolean => textAt(value, "type") !== "" && textAt(value, "id") !== "";

const readContent = (content: Json | undefined): JsonObject[] =>
  typeof content === "string" ? textBlocks(content) : isArray(content) ? content.flatMap(readPart) : [];

/** A part in Gemini's API: text, inline data, or the response of a function. */
function readPart(part: Json): JsonObject[] {
  if (typeof part === "string") return textBlocks(part);
  if (!isObject(part)) return [];
  const data = objectAt(part, "inlineData");
  const media = mediaBlock(textAt(data, "mimeType"), textAt(data, "data"));
  if (media !== undefined) return [media];
  const functionResponse = objectAt(part, "functionResponse");
  if (!isObject(functionResponse["response"])) return textBlocks(textAt(part, "text"));
  const { response } = functionResponse;
  const text = textAt(response, "output") || textAt(response, "error");
  const isPlainText =
    Object.keys(response).length === 1 &&
    (typeof response["output"] === "string" || typeof response["error"] === "string");
  return [
    ...textBlocks(isPlainText ? text : JSON.stringify(response)),
    ...objectsAt(functionResponse, "parts").flatMap(readPart),
  ];
}

/** Gemini's `input` includes cached tokens, and its `output` excludes thoughts. */
function readUsage(tokens: JsonObject): JsonObject | undefined {
  const cacheRead = numberAt(tokens, "cached");
  return toWireUsage({
    input: numberAt(tokens, "input") + numberAt(tokens, "tool") - cacheRead,
    cacheRead,
    cacheWrite: 0,
    output: numberAt(tokens, "output") + numberAt(tokens, "thoughts"),
  });
}
