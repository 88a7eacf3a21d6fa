import { field, isArray, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import { type OpenAiRefusal, refused } from "./error.ts";
import type { Item } from "./item.ts";

/**
 * Chat: the messages right behind a reply that calls answer its calls, each of them. Read from the body, since the
 * messages that the refusals name are the body's.
 */
export function checkChatPairs(body: JsonObject): OpenAiRefusal | undefined {
  let open: ReadonlySet<string> = new Set();
  let callers: ReadonlySet<string> = new Set();
  let caller = 0;
  for (const [at, message] of [...messagesOf(body), endMark].entries()) {
    if (text(message, "role") === "tool") {
      const id = text(message, "tool_call_id") ?? "";
      if (callers.size === 0) return orphanMessage(at);
      if (!callers.has(id)) return unknownCall(id, at);
      open = new Set([...open].filter((one) => one !== id));
      continue;
    }
    if (open.size > 0) return unanswered(open, caller);
    open = callIds(message);
    callers = open;
    caller = at;
  }
  return undefined;
}

const endMark: JsonObject = { role: "end" };

const messagesOf = (body: JsonObject): readonly JsonObject[] => {
  const messages = field(body, "messages");
  return isArray(messages) ? messages.filter(isObject) : [];
};

function callIds(message: JsonObject): ReadonlySet<string> {
  const calls: Json | undefined = field(message, "tool_calls");
  const ids = isArray(calls) ? calls.flatMap((call) => (isObject(call) ? (text(call, "id") ?? []) : [])) : [];
  return new Set(ids);
}

const orphanMessage = (at: number): OpenAiRefusal =>
  refused(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: `messages.[${at}].role` },
  );

const unknownCall = (id: string, at: number): OpenAiRefusal =>
  refused(`Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, {
    param: `messages.[${at}].tool_call_id`,
  });

const unanswered = (open: ReadonlySet<string>, at: number): OpenAiRefusal =>
  refused(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    { param: `messages.[${at}].role` },
  );

/** Responses: every output has its call somewhere before it, every call its output somewhere behind it, once. */
export function checkResponsesPairs(items: readonly Item[]): OpenAiRefusal | undefined {
  const open = new Set<string>();
  for (const item of items) {
    if (item.kind === "call") open.add(item.callId);
    if (item.kind === "output" && !open.delete(item.callId))
      return refused(`No tool call found for function call output with call_id ${item.callId}.`, { param: "input" });
  }
  const [first] = open;
  return first === undefined
    ? undefined
    : refused(`No tool output found for function call ${first}.`, { param: "input" });
}

/** What was thought stands before what came of it: it is not sent alone. */
export function checkReasoningPlace(items: readonly Item[]): OpenAiRefusal | undefined {
  for (const [at, item] of items.entries()) {
    if (item.kind !== "reasoning") continue;
    const next = items[at + 1];
    // Thoughts may follow thoughts: the last of them is what has to lead to something.
    if (next?.kind === "reasoning") continue;
    const follows = next?.kind === "call" || (next?.kind === "message" && next.role === "assistant");
    if (!follows)
      return refused(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`, {
        param: "input",
      });
  }
  return undefined;
}
