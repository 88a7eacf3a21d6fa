import type { Frame } from "./frame.ts";
import type { Wish } from "./item.ts";
import type { Output, OutputItem } from "./output.ts";
import { pieces } from "../pieces.ts";
import { servedTier } from "./tier.ts";
import type { Usage } from "./usage.ts";

export interface ChatReply {
  readonly id: string;
  readonly createdSeconds: number;
  readonly wish: Wish;
  readonly output: Output;
  readonly usage: Usage;
}

/** A reply as one `chat.completion`. */
export function chatBody(reply: ChatReply): object {
  const { output, usage } = reply;
  const calls = callsOf(output);
  const said = textOf(output);
  return {
    ...head(reply, "chat.completion"),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: said === "" && calls.length > 0 ? null : said,
          refusal: null,
          annotations: [],
          ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => toolCall(call, call.arguments)) }),
        },
        logprobs: null,
        finish_reason: output.ending,
      },
    ],
    usage: chatUsage(usage),
  };
}

/** The same reply as the chunks of a stream. */
export function* chatFrames(reply: ChatReply): Generator<Frame> {
  const { output, wish, usage } = reply;
  const begin = head(reply, "chat.completion.chunk");
  const isTold = wish.streamUsage === "told";
  const chunk = (delta: object, finish: string | null = null): Frame => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    const isDelta = finish === null && !("role" in delta);
    return frame({ ...begin, choices, ...(isTold ? { usage: null } : {}) }, isDelta ? "delta" : "other");
  };
  yield chunk({ role: "assistant", content: "", refusal: null });
  for (const item of output.items)
    if (item.kind === "message") for (const content of pieces(item.text)) yield chunk({ content });
  for (const [index, call] of callsOf(output).entries()) {
    yield chunk({ tool_calls: [{ index, ...toolCall(call, "") }] });
    for (const piece of pieces(call.arguments))
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, output.ending);
  if (isTold) yield frame({ ...begin, choices: [], usage: chatUsage(usage) }, "other");
  yield { text: "data: [DONE]\n\n", kind: "last" };
}

const frame = (value: object, kind: Frame["kind"]): Frame => ({ text: `data: ${JSON.stringify(value)}\n\n`, kind });

/** What a stream that fails midway says. */
export const chatErrorFrame = (error: object): Frame => frame(error, "other");

const head = ({ id, createdSeconds, wish }: ChatReply, object: string): object => ({
  id,
  object,
  created: createdSeconds,
  model: wish.model,
  service_tier: servedTier(wish.serviceTier),
  system_fingerprint: "fp_simulator",
});

type Call = Extract<OutputItem, { kind: "call" }>;

const callsOf = ({ items }: Output): readonly Call[] => items.filter((item) => item.kind === "call");

const textOf = ({ items }: Output): string =>
  items.flatMap((item) => (item.kind === "message" ? [item.text] : [])).join("");

const toolCall = ({ callId, name }: Call, args: string): object => ({
  id: callId,
  type: "function",
  function: { name, arguments: args },
});

const chatUsage = (usage: Usage): object => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: {
    cached_tokens: usage.cachedTokens,
    audio_tokens: 0,
    ...(usage.written === undefined ? {} : { cache_write_tokens: usage.written["30m"] + usage.written["12h"] }),
  },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
