import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { chatContent, chatReply, chatResult } from "./chat-messages.ts";
import { DraftLog } from "./draft-log.ts";
import { objectsAt, textAt } from "./fields.ts";
import type { Importer, ImportDeps, Translation } from "./importer.ts";
import { readDocument, readLines } from "./json-text.ts";
import { isEvent, OpenHandsEvents } from "./openhands-events.ts";

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
