import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { DraftLog, textBlocks, thinkingBlock } from "./draft-log.ts";
import { numberAt, objectAt, objectsAt, textAt, mediaBlock, toWireUsage } from "./fields.ts";
import type { Importer, ImportDeps, Translation } from "./importer.ts";
import { readDocument, readLines } from "./read-lines.ts";

/**
 * Gemini CLI: `{sessionId, projectHash, messages}` as one document, or (newer) the same head on the first line and one
 * message a line, where a message that is written again replaces the earlier one. A message holds its calls with results.
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
    const { head, messages } = byLine ? this.#byLine(lines) : this.#document(source);
    this.#log.circumstances.sessionId = textAt(head, "sessionId");
    for (const message of messages) this.#message(message);
    return this.#log.translation();
  }

  #document(source: string): { head: Json | undefined; messages: readonly JsonObject[] } {
    const { value, state } = readDocument(source);
    if (state === "torn") this.#log.note("damaged", "the document is cut off: read as far as it goes");
    return { head: value, messages: objectsAt(value, "messages") };
  }

  #byLine({ values, damaged }: ReturnType<typeof readLines>): {
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
    for (const id of at === -1 ? ids : ids.slice(at)) {
      byId.delete(id);
      this.#log.note("other-conversation", "messages that the person rewound past");
    }
  }

  #message(message: JsonObject): void {
    const timestamp = textAt(message, "timestamp") || undefined;
    const type = textAt(message, "type");
    if (type === "user") this.#log.user(readContent(message["content"]), { timestamp });
    else if (type === "gemini") this.#reply(message, timestamp);
    else this.#log.note("record-left-out", `${type}: shown to the person only`);
  }

  #reply(message: JsonObject, timestamp: string | undefined): void {
    this.#replies += 1;
    const toolCalls = objectsAt(message, "toolCalls");
    const thoughts = objectsAt(message, "thoughts").map((thought) =>
      thinkingBlock(`**${textAt(thought, "subject")}**\n${textAt(thought, "description")}`),
    );
    const calls = toolCalls.map((call) =>
      this.#log.call({ id: textAt(call, "id"), name: textAt(call, "name"), input: objectAt(call, "args") }),
    );
    const content = [...thoughts, ...readContent(message["content"]), ...calls];
    if (content.length === 0) return this.#log.note("record-left-out", "replies without a word or a call");
    const id = this.#log.replyId(textAt(message, "id") || String(this.#replies));
    this.#log.reply(
      { id, model: textAt(message, "model"), content, usage: readUsage(objectAt(message, "tokens")) },
      { timestamp },
    );
    for (const call of toolCalls) this.#result(call, textAt(call, "timestamp") || timestamp);
  }

  #result(call: JsonObject, timestamp: string | undefined): void {
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

/** A part of Gemini's API: text, inline data, or the answer of a function. */
function readPart(part: Json): JsonObject[] {
  if (typeof part === "string") return textBlocks(part);
  if (!isObject(part)) return [];
  const data = objectAt(part, "inlineData");
  const media = mediaBlock(textAt(data, "mimeType"), textAt(data, "data"));
  if (media !== undefined) return [media];
  const answer = objectAt(part, "functionResponse");
  if (!isObject(answer["response"])) return textBlocks(textAt(part, "text"));
  const { response } = answer;
  const said = textAt(response, "output") || textAt(response, "error");
  const known =
    Object.keys(response).length === 1 &&
    (typeof response["output"] === "string" || typeof response["error"] === "string");
  return [...textBlocks(known ? said : JSON.stringify(response)), ...objectsAt(answer, "parts").flatMap(readPart)];
}

/** `input` includes what came from the cache; thoughts are counted beside `output`. */
function readUsage(tokens: JsonObject): JsonObject | undefined {
  const cacheRead = numberAt(tokens, "cached");
  return toWireUsage({
    input: numberAt(tokens, "input") + numberAt(tokens, "tool") - cacheRead,
    cacheRead,
    cacheWrite: 0,
    output: numberAt(tokens, "output") + numberAt(tokens, "thoughts"),
  });
}
