import type { IdsDep } from "../../ports/ids.ts";
import type { ModelEvent } from "../../ports/model.ts";
import { field, isArray, isObject, type Json, type JsonObject } from "../../schema/json.ts";
import { ChatAssembly } from "./reply.ts";

/** A completion that came in one piece: its message is one chunk that says everything. */
export function wholeChatEvents(completion: JsonObject, ids: IdsDep): readonly ModelEvent[] {
  const choices = field(completion, "choices");
  const chunk = { ...completion, choices: (isArray(choices) ? choices : []).map(asDelta) };
  const assembly = new ChatAssembly(ids);
  return [...assembly.take(chunk), ...assembly.end()];
}

function asDelta(choice: Json): Json {
  if (!isObject(choice)) return choice;
  const { message, ...rest } = choice;
  if (message === undefined || !isObject(message)) return choice;
  const calls = field(message, "tool_calls");
  const numbered = isArray(calls) ? calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) : [];
  return { ...rest, delta: { ...message, tool_calls: numbered } };
}
