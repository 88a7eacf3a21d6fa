import type { Frame } from "../answer.ts";
import { type OpenAiRequest, resolveServiceTier } from "./open-ai-request.ts";
import type { Output, OutputItem } from "./output.ts";
import { textPieces } from "../reply/text-pieces.ts";
import type { Usage } from "./usage.ts";

export interface ChatReply {
  readonly id: string;
  readonly createdSeconds: number;
  readonly request: OpenAiRequest;
  readonly output: Output;
  readonly usage: Usage;
}

/** A reply as one `chat.completion`. */
export function chatBody(reply: ChatReply): object {
  const { output, usage } = reply;
  const calls = outputCalls(output);
  const said = outputText(output);
  return {
    ...completionHead(reply, "chat.completion"),
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
  const { output, request, usage } = reply;
  const begin = completionHead(reply, "chat.completion.chunk");
  const hasUsageChunk = request.streamUsage === "included";
  const chunk = (delta: object, finish: string | null = null): Frame => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    const isDelta = finish === null && !("role" in delta);
    return dataFrame({ ...begin, choices, ...(hasUsageChunk ? { usage: null } : {}) }, isDelta ? "delta" : "other");
  };
  yield chunk({ role: "assistant", content: "", refusal: null });
  for (const item of output.items)
    if (item.kind === "message") for (const content of textPieces(item.text)) yield chunk({ content });
  for (const [index, call] of outputCalls(output).entries()) {
    yield chunk({ tool_calls: [{ index, ...toolCall(call, "") }] });
    for (const piece of textPieces(call.arguments))
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, output.ending);
  if (hasUsageChunk) yield dataFrame({ ...begin, choices: [], usage: chatUsage(usage) }, "other");
  yield { text: "data: [DONE]\n\n", kind: "last" };
}

const dataFrame = (value: object, kind: Frame["kind"]): Frame => ({ text: `data: ${JSON.stringify(value)}\n\n`, kind });

/** The frame of a stream that fails midway. */
export const chatErrorFrame = (error: object): Frame => dataFrame(error, "other");

const completionHead = ({ id, createdSeconds, request }: ChatReply, object: string): object => ({
  id,
  object,
  created: createdSeconds,
  model: request.model,
  service_tier: resolveServiceTier(request.serviceTier),
  system_fingerprint: "fp_simulator",
});

type Call = Extract<OutputItem, { kind: "call" }>;

const outputCalls = ({ items }: Output): readonly Call[] => items.filter((item) => item.kind === "call");

const outputText = ({ items }: Output): string =>
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
