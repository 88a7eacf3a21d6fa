import { isArray, isObject, type Json, type JsonObject, listField } from "../schema/json.ts";
import { chatContent, chatReply, chatResult, DraftLog, type EntryPlacement, textBlocks } from "./draft-log.ts";
import { objectsAt, textAt, numberAt, objectAt, mediaBlockFromUrl, toWireUsage } from "./fields.ts";
import type { Importer, ImportDeps, Translation } from "./importer.ts";
import { readDocument, readLines } from "./read-lines.ts";

const isEvent = (value: Json): boolean =>
  isObject(value) &&
  typeof value["id"] === "number" &&
  textAt(value, "source") !== "" &&
  (textAt(value, "action") !== "" || textAt(value, "observation") !== "");

/** Actions and observations that the model neither made nor saw. */
const silentEvents: ReadonlySet<string> = new Set([
  "change_agent_state",
  "agent_state_changed",
  "null",
  "recall",
  "loop_detection",
]);

/**
 * OpenHands' event stream. An action of the agent is a call, and the observation whose `cause` it is answers it. Actions
 * of one reply share the id of the model's response, where the events carry it.
 */
class OpenHandsEvents {
  readonly #log: DraftLog;
  readonly #callByEvent = new Map<number, string>();
  readonly #entryByEvent = new Map<number, string>();
  readonly #saidOf = new Set<string>();

  constructor(log: DraftLog) {
    this.#log = log;
  }

  add(event: JsonObject): void {
    const before = this.#log.last;
    const timestamp = textAt(event, "timestamp") || undefined;
    if (textAt(event, "observation") !== "") this.#observation(event, { timestamp });
    else this.#action(event, { timestamp });
    const { last } = this.#log;
    if (last !== undefined && last !== before) this.#entryByEvent.set(numberAt(event, "id"), last);
  }

  #action(event: JsonObject, placing: EntryPlacement): void {
    const action = textAt(event, "action");
    const args = objectAt(event, "args");
    const content = textAt(args, "content") || textAt(event, "message");
    if (silentEvents.has(action)) return;
    if (action === "system") return this.#log.systemPrompt(content, placing);
    if (action === "condensation") return this.#condensed(event, placing);
    if (textAt(event, "source") !== "agent") {
      const images = listField(args, "image_urls").flatMap((url) => {
        const image = typeof url === "string" ? mediaBlockFromUrl(url) : undefined;
        return image === undefined ? [] : [image];
      });
      this.#log.user([...textBlocks(content), ...images], placing);
      return;
    }
    if (action === "message") {
      this.#log.reply({ ...this.#replyOf(event), content: textBlocks(content) }, placing);
      return;
    }
    this.#call(event, placing);
  }

  #call(event: JsonObject, placing: EntryPlacement): void {
    const metadata = objectAt(event, "tool_call_metadata");
    const id = textAt(metadata, "tool_call_id") || `action_${numberAt(event, "id")}`;
    const args = objectAt(event, "args");
    const { thought, ...rest } = args;
    const message = objectAt(objectsAt(objectAt(metadata, "model_response"), "choices")[0], "message");
    const made = objectsAt(message, "tool_calls").find((call) => textAt(call, "id") === id);
    const input = made === undefined ? rest : this.#log.input(objectAt(made, "function")["arguments"]);
    const call = this.#log.call({ id, name: textAt(metadata, "function_name") || textAt(event, "action"), input });
    this.#callByEvent.set(numberAt(event, "id"), id);
    const reply = this.#replyOf(event);
    const words = this.#saidOf.has(reply.id)
      ? ""
      : textAt(message, "content") || (typeof thought === "string" ? thought : "");
    this.#saidOf.add(reply.id);
    this.#log.reply({ ...reply, content: [...textBlocks(words), call] }, placing);
  }

  #replyOf(event: JsonObject): { id: string; model: string; usage: JsonObject | undefined } {
    const metadata = objectAt(event, "tool_call_metadata");
    const response = objectAt(metadata, "model_response");
    const usage = objectAt(response, "usage");
    const cacheRead = numberAt(objectAt(usage, "prompt_tokens_details"), "cached_tokens");
    return {
      id: textAt(response, "id") || this.#log.replyId(`event ${numberAt(event, "id")}`),
      model: textAt(response, "model"),
      usage: toWireUsage({
        input: numberAt(usage, "prompt_tokens") - cacheRead,
        cacheRead,
        cacheWrite: 0,
        output: numberAt(usage, "completion_tokens"),
      }),
    };
  }

  #observation(event: JsonObject, placing: EntryPlacement): void {
    const observation = textAt(event, "observation");
    const content = textAt(event, "content");
    const id =
      this.#callByEvent.get(numberAt(event, "cause")) ?? textAt(objectAt(event, "tool_call_metadata"), "tool_call_id");
    if (id !== "") {
      this.#log.result({ id, content, isError: observation === "error" }, placing);
    } else if (silentEvents.has(observation)) {
      if (observation === "recall" && content !== "") this.#log.note("record-left-out", "recall: no form of ours");
    } else {
      this.#log.user(textBlocks(content), { ...placing, meta: true });
    }
  }

  /** Events leave the view; a summary may stand for them. */
  #condensed(event: JsonObject, placing: EntryPlacement): void {
    const args = objectAt(event, "args");
    const forgotten = new Set(listForgottenEvents(args));
    const gone = [...this.#entryByEvent].filter(([id]) => forgotten.has(id)).map(([, entry]) => entry);
    const summary = textAt(args, "summary");
    if (summary === "") {
      this.#log.add({ type: "snip", entries: gone }, placing);
      this.#log.note("compacted", "a condensation without a summary became a snip");
      return;
    }
    const kept = [...this.#entryByEvent].filter(([id]) => !forgotten.has(id)).map(([, entry]) => entry);
    this.#log.boundary({ summary: textBlocks(summary), kept }, placing);
  }
}

function listForgottenEvents(args: JsonObject): number[] {
  const listed = listField(args, "forgotten_event_ids").filter((id) => typeof id === "number");
  const from = args["forgotten_events_start_id"];
  const to = args["forgotten_events_end_id"];
  if (listed.length > 0 || typeof from !== "number" || typeof to !== "number" || to < from) return listed;
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/**
 * OpenHands: the event stream of one conversation (a list of events), or what evaluations write: one record for each
 * instance with its `history` (events) or its `messages` (chat completions), as a list or one a line.
 */
export const openhands: Importer = {
  format: "openhands",
  label: "OpenHands trajectory",
  detect: (head) => head.some((value) => isEvent(value) || isRecord(value)),
  translate,
};

/** Chat messages with OpenHands' circumstances beside them: bare `messages` could be anybody's. */
const isRecord = (value: Json): boolean => {
  if (!isObject(value)) return false;
  if (objectsAt(value, "history").some((event) => isEvent(event))) return true;
  const isNamed = ["instance_id", "run_id", "tools", "test_result"].some((key) => key in value);
  return isNamed && objectsAt(value, "messages").some((message) => textAt(message, "role") !== "");
};

function translate(source: string, deps: ImportDeps): Translation {
  const log = new DraftLog("openhands", deps);
  const { values, damaged } = readLines(source);
  const byLine = values.length > 1 && values.every(({ value }) => isObject(value));
  if (byLine) log.noteDamage(damaged);
  const found = byLine ? values.map(({ value }) => value) : documents(log, source);
  if (found.some((value) => isEvent(value))) {
    const events = new OpenHandsEvents(log);
    for (const event of found) if (isObject(event)) events.add(event);
    return log.translation();
  }
  const records = found.filter((value) => isRecord(value)).filter((value) => isObject(value));
  for (const [at, record] of records.entries()) {
    if (at < records.length - 1)
      log.note(
        "other-conversation",
        "the file holds several conversations: the view shows the last, the others are branches",
      );
    addRecord(log, record);
  }
  return log.translation();
}

function documents(log: DraftLog, source: string): readonly Json[] {
  const { value, state } = readDocument(source);
  if (state === "torn") log.note("damaged", "the document is cut off: read as far as it goes");
  return isArray(value) ? value : value === undefined ? [] : [value];
}

function addRecord(log: DraftLog, record: JsonObject): void {
  log.circumstances.sessionId = textAt(record, "instance_id") || textAt(record, "run_id");
  log.startConversation();
  const history = objectsAt(record, "history");
  if (history.length > 0) {
    const events = new OpenHandsEvents(log);
    for (const event of history) events.add(event);
    return;
  }
  let replies = 0;
  for (const message of objectsAt(record, "messages")) {
    const role = textAt(message, "role");
    if (role === "assistant") {
      replies += 1;
      const content = chatReply(log, message);
      if (content.length > 0) log.reply({ id: log.replyId(String(replies)), content });
    } else if (role === "tool")
      log.result({ id: textAt(message, "tool_call_id"), content: chatResult(message["content"]) });
    else if (role === "system") log.systemPrompt(asText(message["content"]));
    else log.user(chatContent(message["content"]));
  }
}

const asText = (content: Json | undefined): string =>
  chatContent(content)
    .map((block) => textAt(block, "text"))
    .join("\n");
