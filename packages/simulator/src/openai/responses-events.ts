import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Frame } from "./frame.ts";
import type { OutputItem } from "./output.ts";
import { pieces } from "../pieces.ts";
import {
  finalStatus,
  outputItem,
  responseBody,
  responseHead,
  type ResponsesReply,
  summaryPart,
  textPart,
} from "./responses-reply.ts";

type Event = JsonObject & { readonly type: string };

/** A response as the events of a stream, in the order the API sends them, numbered from 0. */
export function* responsesFrames(reply: ResponsesReply): Generator<Frame> {
  let number = 0;
  for (const event of eventsOf(reply)) yield frameOf(event, number++);
}

/** What a stream says that fails behind so many events. */
export const failedFrame = (reply: ResponsesReply, { error, number }: Failed): Frame =>
  frameOf({ type: "response.failed", response: { ...responseHead(reply, "failed"), error } }, number);

export interface Failed {
  readonly error: JsonObject;
  readonly number: number;
}

function frameOf({ type, ...told }: Event, number: number): Frame {
  const data = JSON.stringify({ type, sequence_number: number, ...told });
  return { text: `event: ${type}\ndata: ${data}\n\n`, kind: kindOf(type) };
}

function kindOf(type: string): Frame["kind"] {
  if (type.endsWith(".delta")) return "delta";
  return type === "response.completed" || type === "response.incomplete" ? "last" : "other";
}

function* eventsOf(reply: ResponsesReply): Generator<Event> {
  const head = responseHead(reply, "in_progress");
  yield { type: "response.created", response: head };
  yield { type: "response.in_progress", response: head };
  for (const [index, item] of reply.output.items.entries()) {
    const item_id = item.id;
    yield { type: "response.output_item.added", output_index: index, item: begun(item) };
    yield* itemEvents(item, { item_id, output_index: index });
    yield { type: "response.output_item.done", output_index: index, item: outputItem(item) };
  }
  yield { type: `response.${finalStatus(reply.output)}`, response: responseBody(reply) };
}

interface Place extends JsonObject {
  readonly item_id: string;
  readonly output_index: number;
}

/** An item before anything of it was said. */
function begun(item: OutputItem): JsonObject {
  const whole = outputItem(item);
  switch (item.kind) {
    case "message":
      return { ...whole, status: "in_progress", content: [] };
    case "call":
      return { ...whole, status: "in_progress", arguments: "" };
    case "reasoning":
      return { ...whole, summary: [], encrypted_content: "" };
    case "compaction":
      return { ...whole, encrypted_content: "" };
  }
}

function* itemEvents(item: OutputItem, place: Place): Generator<Event, undefined> {
  switch (item.kind) {
    case "message":
      yield* textEvents(item.text, { ...place, content_index: 0 });
      return undefined;
    case "call":
      for (const delta of pieces(item.arguments))
        yield { type: "response.function_call_arguments.delta", ...place, delta };
      yield { type: "response.function_call_arguments.done", ...place, arguments: item.arguments };
      return undefined;
    case "reasoning":
      for (const [at, text] of item.summary.entries()) yield* summaryEvents(text, { ...place, summary_index: at });
      return undefined;
    case "compaction":
      yield { type: "response.compaction.compacting", ...place };
      return undefined;
  }
}

function* textEvents(text: string, place: JsonObject): Generator<Event> {
  yield { type: "response.content_part.added", ...place, part: textPart("") };
  for (const delta of pieces(text)) yield { type: "response.output_text.delta", ...place, delta, logprobs: [] };
  yield { type: "response.output_text.done", ...place, text, logprobs: [] };
  yield { type: "response.content_part.done", ...place, part: textPart(text) };
}

function* summaryEvents(text: string, place: JsonObject): Generator<Event> {
  yield { type: "response.reasoning_summary_part.added", ...place, part: summaryPart("") };
  for (const delta of pieces(text)) yield { type: "response.reasoning_summary_text.delta", ...place, delta };
  yield { type: "response.reasoning_summary_text.done", ...place, text };
  yield { type: "response.reasoning_summary_part.done", ...place, part: summaryPart(text) };
}
