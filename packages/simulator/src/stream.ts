import type { ReplyBlock, ReplyMessage, StreamEvent } from "palimpsest/internal/schema/wire/reply";
import type { StreamForm } from "./deliver.ts";
import { pieces } from "./pieces.ts";

/** A reply as the events of a stream, in the order the API sends them. */
export function* eventsOf(message: ReplyMessage, rawInputs: ReadonlyMap<number, string>): Generator<StreamEvent> {
  const { stop_reason, stop_sequence, stop_details, container, usage, content, context_management: edited } = message;
  // What each time took is known at the end.
  const unsampled = usage.iterations === undefined ? {} : { iterations: [] };
  yield {
    type: "message_start",
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: Math.min(1, usage.output_tokens), output_tokens_details: null, ...unsampled },
      ...(edited === undefined ? {} : { context_management: null }),
    },
  };
  yield { type: "ping" };
  for (const [index, block] of content.entries()) yield* blockEvents(block, { index, rawInput: rawInputs.get(index) });
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  const { output_tokens, output_tokens_details, server_tool_use, iterations } = usage;
  yield {
    type: "message_delta",
    delta: { stop_reason, stop_sequence, stop_details, container },
    usage: {
      input_tokens,
      cache_creation_input_tokens,
      cache_read_input_tokens,
      output_tokens,
      output_tokens_details,
      server_tool_use,
      ...(iterations === undefined ? {} : { iterations }),
    },
    ...(edited === undefined ? {} : { context_management: edited }),
  };
  yield { type: "message_stop" };
}

export const messagesForm: StreamForm<StreamEvent> = {
  kindOf: ({ type }) => {
    if (type === "content_block_delta") return "delta";
    if (type === "message_delta") return "closing";
    return type === "message_stop" ? "last" : "other";
  },
  textOf: (event) => JSON.stringify(event),
  failure: () => ({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
};

interface Place {
  readonly index: number;
  readonly rawInput: string | undefined;
}

function* blockEvents(block: ReplyBlock, { index, rawInput }: Place): Generator<StreamEvent> {
  yield { type: "content_block_start", index, content_block: emptied(block) };
  switch (block.type) {
    case "text":
      for (const text of pieces(block.text))
        yield { type: "content_block_delta", index, delta: { type: "text_delta", text } };
      break;
    case "thinking":
      for (const thinking of pieces(block.thinking))
        yield { type: "content_block_delta", index, delta: { type: "thinking_delta", thinking } };
      yield {
        type: "content_block_delta",
        index,
        delta: { type: "signature_delta", signature: block.signature },
      };
      break;
    case "tool_use":
      // As the API does: an empty piece first.
      yield { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: "" } };
      for (const partial_json of pieces(rawInput ?? JSON.stringify(block.input)))
        yield { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } };
      break;
    case "compaction": {
      const { content, encrypted_content } = block;
      yield {
        type: "content_block_delta",
        index,
        delta: { type: "compaction_delta", content, encrypted_content },
      };
      break;
    }
    case "redacted_thinking":
      break;
  }
  yield { type: "content_block_stop", index };
}

function emptied(block: ReplyBlock): ReplyBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
      return { ...block, input: {} };
    case "compaction":
      return { ...block, content: null, encrypted_content: null };
    case "redacted_thinking":
      return block;
  }
}
