import { isArray, isObject, type Json, type JsonObject, listField } from "../schema/json.ts";
import {
  chatContent,
  chatReply,
  chatResult,
  chatText,
  DraftLog,
  type EntryPlacement,
  textBlocks,
} from "./draft-log.ts";
import {
  objectsAt,
  textAt,
  numberAt,
  objectAt,
  mediaBlockFromUrl,
  toWireUsage,
  type Importer,
  type ImportDeps,
  type Translation,
} from "./importer.ts";
import { readDocument, readLines } from "./read-lines.ts";

/**
 * OpenHands: the event stream of one conversation (a list of events), or the output of evaluations: one record for each
 * instance with its `history` (events) or its `messages` (chat completions), as a list or one per line.
 */
export const openhands: Importer = {
  format: "openhands",
  label: "OpenHands trajectory",
  detect: (head) => head.some((value) => isEvent(value) || isRecord(value)),
  translate,
};

const isEvent = (value: Json): boolean =>
  isObject(value) &&
  typeof value["id"] === "number" &&
  textAt(value, "source") !== "" &&
  (textAt(value, "action") !== "" || textAt(value, "observation") !== "");

/** Requires a field of OpenHands besides `messages`, which other tools write too. */
const isRecord = (value: Json): boolean => {
  if (!isObject(value)) return false;
  if (objectsAt(value, "history").some((event) => isEvent(event))) return true;
  const hasOwnField = ["instance_id", "run_id", "tools", "test_result"].some((key) => key in value);
  return hasOwnField && objectsAt(value, "messages").some((message) => textAt(message, "role") !== "");
};

function translate(source: string, deps: ImportDeps): Translation {
  const log = new DraftLog("openhands", deps);
  const { values, damaged } = readLines(source);
  const byLine = values.length > 1 && values.every(({ value }) => isObject(value));
  if (byLine) log.noteDamage(damaged);
  const items = byLine ? values.map(({ value }) => value) : documents(log, source);
  if (items.some((value) => isEvent(value))) {
    const events = new OpenHandsEvents(log);
    for (const event of items) if (isObject(event)) events.add(event);
    return log.translation();
  }
  const records = items.filter((value) => isRecord(value)).filter((value) => isObject(value));
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
  if (state === "torn") log.noteTorn();
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
    else if (role === "system") log.systemPrompt(chatText(message["content"]));
    else log.user(chatContent(message["content"]));
  }
}

/** Actions and observations that neither came from the model nor were sent to it. */
const silentEvents: ReadonlySet<string> = new Set([
  "change_agent_state",
  "agent_state_changed",
  "null",
  "recall",
  "loop_detection",
]);

/**
 * OpenHands' event stream. An action of the agent is a call, and the observation with that action as its `cause` is the
 * result. Actions of one reply share the id of the model's response, if the events contain it.
 */
class OpenHandsEvents {
  readonly #log: DraftLog;
  readonly #callByEvent = new Map<number, string>();
  readonly #entryByEvent = new Map<number, string>();
  readonly #repliesWithText = new Set<string>();

  constructor(log: DraftLog) {
    this.#log = log;
  }

  add(event: JsonObject): void {
    const before = this.#log.last;
    const timestamp = textAt(event, "timestamp") || undefined;
    if (textAt(event, "observation") !== "") this.#addObservation(event, { timestamp });
    else this.#addAction(event, { timestamp });
    const { last } = this.#log;
    if (last !== undefined && last !== before) this.#entryByEvent.set(numberAt(event, "id"), last);
  }

  #addAction(event: JsonObject, placing: EntryPlacement): void {
    const action = textAt(event, "action");
    const args = objectAt(event, "args");
    const content = textAt(args, "content") || textAt(event, "message");
    if (silentEvents.has(action)) return;
    if (action === "system") return this.#log.systemPrompt(content, placing);
    if (action === "condensation") return this.#addCondensation(event, placing);
    if (textAt(event, "source") !== "agent") {
      const images = listField(args, "image_urls").flatMap((url) => {
        const image = typeof url === "string" ? mediaBlockFromUrl(url) : undefined;
        return image === undefined ? [] : [image];
      });
      this.#log.user([...textBlocks(content), ...images], placing);
      return;
    }
    if (action === "message") {
      this.#log.reply({ ...this.#readReply(event), content: textBlocks(content) }, placing);
      return;
    }
    this.#addCall(event, placing);
  }

  #addCall(event: JsonObject, placing: EntryPlacement): void {
    const metadata = objectAt(event, "tool_call_metadata");
    const id = textAt(metadata, "tool_call_id") || `action_${numberAt(event, "id")}`;
    const args = objectAt(event, "args");
    const { thought, ...rest } = args;
    const message = objectAt(objectsAt(objectAt(metadata, "model_response"), "choices")[0], "message");
    const toolCall = objectsAt(message, "tool_calls").find((candidate) => textAt(candidate, "id") === id);
    const input = toolCall === undefined ? rest : this.#log.input(objectAt(toolCall, "function")["arguments"]);
    const call = this.#log.call({ id, name: textAt(metadata, "function_name") || textAt(event, "action"), input });
    this.#callByEvent.set(numberAt(event, "id"), id);
    const reply = this.#readReply(event);
    const text = this.#repliesWithText.has(reply.id)
      ? ""
      : textAt(message, "content") || (typeof thought === "string" ? thought : "");
    this.#repliesWithText.add(reply.id);
    this.#log.reply({ ...reply, content: [...textBlocks(text), call] }, placing);
  }

  #readReply(event: JsonObject): { id: string; model: string; usage: JsonObject | undefined } {
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

  #addObservation(event: JsonObject, placing: EntryPlacement): void {
    const observation = textAt(event, "observation");
    const content = textAt(event, "content");
    const id =
      this.#callByEvent.get(numberAt(event, "cause")) ?? textAt(objectAt(event, "tool_call_metadata"), "tool_call_id");
    if (id !== "") {
      this.#log.result({ id, content, isError: observation === "error" }, placing);
    } else if (silentEvents.has(observation)) {
      if (observation === "recall" && content !== "") this.#log.note("record-left-out", "recall: not supported");
    } else {
      this.#log.user(textBlocks(content), { ...placing, meta: true });
    }
  }

  /** Removes events from the view, with or without a summary in their place. */
  #addCondensation(event: JsonObject, placing: EntryPlacement): void {
    const args = objectAt(event, "args");
    const forgotten = new Set(listForgottenEvents(args));
    const removed = [...this.#entryByEvent].filter(([id]) => forgotten.has(id)).map(([, entry]) => entry);
    const summary = textAt(args, "summary");
    if (summary === "") {
      this.#log.add({ type: "snip", entries: removed }, placing);
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
