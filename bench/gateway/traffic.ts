import { isObject, type JsonObject, listField, parseJson } from "../../packages/palimpsest/src/schema/json.ts";

/** What the upstream answers: 200 events, some words and one call. The call's id comes from the request, so that ids stay unique. */
export const callIdHeader = "x-bench-call";

const words = Array.from({ length: 150 }, (_, at) => `word ${at} of the answer, `);
const inputParts = Array.from({ length: 42 }, (_, at) =>
  at === 0 ? '{"path":"src' : at === 41 ? '/file.ts"}' : `/f${at}`,
);

/** The texts of the events, in the order in which they are written. */
export function replyEvents(callId: string): readonly string[] {
  const usage = {
    input_tokens: 3,
    cache_read_input_tokens: 250_000,
    cache_creation_input_tokens: 1_500,
    output_tokens: 1,
  };
  const message = {
    id: `msg_${callId}`,
    type: "message",
    role: "assistant",
    model: modelId,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const block = { type: "tool_use", id: callId, name: toolName(0), input: {} };
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: block },
    ...inputParts.map((text) => ({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: text },
    })),
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 900 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

const modelId = "claude-sonnet-5-5";

const toolName = (at: number): string => `tool_${at}`;

/** Nothing of it repeats in another place, so that no part of a body equals another by chance. */
const filler = (seed: string, chars: number): string => {
  let text = "";
  for (let line = 0; text.length < chars; line += 1)
    text += `${seed} line ${line}: value ${(line * 7919) % 10_007} "quoted"\n`;
  return text.slice(0, chars);
};

const tools = Array.from({ length: 20 }, (_, at) => ({
  name: toolName(at),
  description: filler(`tool ${at}`, 2_500),
  input_schema: { type: "object", properties: { path: { type: "string" }, count: { type: "integer" } } },
}));

/**
 * A client's conversation with the fields, their order and the cache marks of Claude Code: the newest message has the mark,
 * so that each request changes the message that had it before.
 */
export class ClientConversation {
  readonly session: string;
  readonly #messages: JsonObject[];
  readonly #system: readonly JsonObject[];
  #calls = 0;

  constructor(session: string, options: { readonly bytes: number }) {
    this.session = session;
    this.#system = [{ type: "text", text: filler("system", 10_000), cache_control: { type: "ephemeral" } }];
    this.#messages = [{ role: "user", content: [{ type: "text", text: `Begin ${session}.` }] }];
    const rounds = Math.floor(options.bytes / roundBytes);
    for (let round = 0; round < rounds; round += 1) this.grow();
  }

  /** The id of the call that the next reply makes. */
  get nextCallId(): string {
    return `toolu_${this.session.replaceAll("-", "")}_${this.#calls}`;
  }

  body(): Buffer {
    const last = this.#messages.at(-1);
    const marked = last === undefined ? [] : [markLast(last)];
    return Buffer.from(
      JSON.stringify({
        model: modelId,
        messages: [...this.#messages.slice(0, -1), ...marked],
        system: this.#system,
        tools,
        metadata: { user_id: JSON.stringify({ device_id: "bench", session_id: this.session }) },
        max_tokens: 32_000,
        stream: true,
      }),
    );
  }

  /** Takes over the upstream's reply, and adds the result of its call. */
  grow(): void {
    const id = this.nextCallId;
    this.#messages.push(
      {
        role: "assistant",
        content: [
          { type: "text", text: words.join("") },
          { type: "tool_use", id, name: toolName(0), input: parseJson(inputParts.join("")) },
        ],
      },
      { role: "user", content: [{ tool_use_id: id, type: "tool_result", content: filler(id, resultChars) }] },
    );
    this.#calls += 1;
  }
}

const resultChars = 4_000;
/** Of a reply and its result as JSON. */
const roundBytes = resultChars + 4_300;

function markLast(message: JsonObject): JsonObject {
  const content = listField(message, "content");
  const marked = content.map((block, at) =>
    at === content.length - 1 && isObject(block) ? { ...block, cache_control: { type: "ephemeral" } } : block,
  );
  return { ...message, content: marked };
}

export const clientHeaders = (
  conversation: Pick<ClientConversation, "session" | "nextCallId">,
): Record<string, string> => ({
  "content-type": "application/json",
  accept: "application/json",
  "user-agent": "claude-cli/2.1.0 (external, cli)",
  "anthropic-version": "2023-06-01",
  "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
  "x-api-key": "bench",
  "x-claude-code-session-id": conversation.session,
  [callIdHeader]: conversation.nextCallId,
});
