import { isObject, type Json, type JsonObject, listAt } from "../schema/json.ts";
import { type DraftLog, type Placing, textBlocks } from "./draft-log.ts";
import { numberAt, objectAt, objectsAt, textAt } from "./fields.ts";
import { mediaBlockOf } from "./media.ts";
import { usageOf } from "./usage.ts";

export const isEvent = (value: Json): boolean =>
  isObject(value) &&
  typeof value["id"] === "number" &&
  textAt(value, "source") !== "" &&
  (textAt(value, "action") !== "" || textAt(value, "observation") !== "");

/** Actions and observations that the model neither made nor saw. */
const silent: ReadonlySet<string> = new Set([
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
export class OpenHandsEvents {
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

  #action(event: JsonObject, placing: Placing): void {
    const action = textAt(event, "action");
    const args = objectAt(event, "args");
    const content = textAt(args, "content") || textAt(event, "message");
    if (silent.has(action)) return;
    if (action === "system") return this.#log.systemPrompt(content, placing);
    if (action === "condensation") return this.#condensed(event, placing);
    if (textAt(event, "source") !== "agent") {
      const images = listAt(args, "image_urls").flatMap((url) => {
        const image = typeof url === "string" ? mediaBlockOf(url) : undefined;
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

  #call(event: JsonObject, placing: Placing): void {
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
      usage: usageOf({
        input: numberAt(usage, "prompt_tokens") - cacheRead,
        cacheRead,
        cacheWrite: 0,
        output: numberAt(usage, "completion_tokens"),
      }),
    };
  }

  #observation(event: JsonObject, placing: Placing): void {
    const observation = textAt(event, "observation");
    const content = textAt(event, "content");
    const id =
      this.#callByEvent.get(numberAt(event, "cause")) ?? textAt(objectAt(event, "tool_call_metadata"), "tool_call_id");
    if (id !== "") {
      this.#log.result({ id, content, isError: observation === "error" }, placing);
    } else if (silent.has(observation)) {
      if (observation === "recall" && content !== "") this.#log.note("record-left-out", "recall: no form of ours");
    } else {
      this.#log.user(textBlocks(content), { ...placing, meta: true });
    }
  }

  /** Events leave the view; a summary may stand for them. */
  #condensed(event: JsonObject, placing: Placing): void {
    const args = objectAt(event, "args");
    const forgotten = new Set(forgottenEvents(args));
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

function forgottenEvents(args: JsonObject): number[] {
  const listed = listAt(args, "forgotten_event_ids").filter((id) => typeof id === "number");
  const from = args["forgotten_events_start_id"];
  const to = args["forgotten_events_end_id"];
  if (listed.length > 0 || typeof from !== "number" || typeof to !== "number" || to < from) return listed;
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
