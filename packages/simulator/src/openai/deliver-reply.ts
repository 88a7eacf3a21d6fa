import { type Millis, millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { AnswerHeaders, OpenAiAnswer, Frame } from "../answer.ts";
import { cutPlace, deliver, type StreamFormat } from "../reply/deliver.ts";
import { openAiErrorBody, refuseRequest } from "./open-ai-refusal.ts";
import type { OpenAiReplyDecision, OpenAiExchangeDeps } from "./open-ai-exchange.ts";
import { type Part, type OpenAiRequest, resolveServiceTier } from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import {
  outputItem,
  responseBody,
  responsesUsage,
  type ResponsesReply,
  failureFrame,
  responsesFrames,
} from "./responses-reply.ts";
import { shortHash } from "../prompt/canonical-block.ts";
import type { ShownItem } from "./open-ai-prompt.ts";
import { sumUsage, priceRuns, toUsageSplit, type Usage } from "./open-ai-cache.ts";
import type { SampledUsage } from "palimpsest/internal/schema/wire/reply-message";
import type { Iteration } from "../reply/iteration.ts";
import type { TracedReply } from "../trace/trace-writer.ts";
import type { Output, OutputItem } from "./output.ts";
import { textPieces } from "../reply/compose-reply.ts";

export interface OpenAiReply {
  readonly id: string;
  /** `compaction`: the conversation in its shorter form, without a reply to it. */
  readonly shape: "reply" | "compaction";
  readonly at: Millis;
  readonly workspace: string;
  readonly request: OpenAiRequest;
  readonly model: OpenAiModel;
  readonly decided: OpenAiReplyDecision;
}

type ReplyDeps = Pick<OpenAiExchangeDeps, "cache" | "clock" | "fingerprints" | "store"> & {
  /** Called once, when the reply has arrived or is lost. */
  readonly onEnd: (how: "delivered" | "broken") => void;
};

type DeliverReplyInput = OpenAiReply & { readonly signal: AbortSignal | undefined };

/** Sends the reply as one body or as a stream, with the fault that is due. The caller sets the headers. */
export async function deliverReply(
  deps: ReplyDeps,
  reply: DeliverReplyInput,
): Promise<Exclude<OpenAiAnswer, { kind: "silence" }>> {
  const { decided, request, signal } = reply;
  const { fault } = decided;
  const rendered = renderReply(reply);
  const onEnd = (how: "delivered" | "broken"): void => {
    if (how === "delivered") storeReply(deps, reply);
    for (const planned of decided.replies)
      if (how === "delivered") planned.delivered?.();
      else planned.lost?.();
    deps.onEnd(how);
  };
  const onBegin = (): void => commitReply(deps, reply);
  if (request.form === "stream") {
    const { clock } = deps;
    const { pauseMillis } = decided;
    const form: StreamFormat<Frame> = {
      kindOf: ({ kind }) => kind,
      textOf: ({ text }) => text,
      failure: rendered.failure,
    };
    const sent = deliver({ events: rendered.frames(), form, fault, clock, pauseMillis, signal, onBegin, onEnd });
    return { kind: "frames", headers: noHeaders, frames: sent };
  }
  if (fault?.kind === "trickle") {
    const events = [...rendered.frames()].length;
    await deps.clock.sleep(millis(fault.everyMs * (events - 1)), signal);
  }
  if (signal?.aborted === true) {
    onEnd("broken");
    return { kind: "dropped" };
  }
  const place = cutPlace(fault);
  onBegin();
  onEnd(place === undefined ? "delivered" : "broken");
  const body = rendered.body();
  return place === undefined
    ? { kind: "body", status: 200, headers: noHeaders, body }
    : { kind: "cut", headers: noHeaders, body, place };
}

const noHeaders: AnswerHeaders = {};

/** Called when the first byte goes out: what was written to the cache can be read from now on. */
function commitReply({ cache, fingerprints }: ReplyDeps, reply: OpenAiReply): void {
  const { decided, request, model, workspace, id } = reply;
  for (const { plan } of decided.runs) cache.commit(plan);
  if (request.api === "responses" && reply.shape === "reply" && model.caching === "breakpoints")
    fingerprints.remember(id, { prompt: decided.prompt, workspace });
}

/**
 * Called when the reply has arrived: a client that has its id can continue from it. A reply that has not arrived is not
 * stored.
 */
function storeReply({ store }: ReplyDeps, reply: OpenAiReply): void {
  const { decided, request, workspace, id } = reply;
  if (request.api === "chat" || request.keep === "forgotten") return;
  store.add(id, {
    workspace,
    link: {
      previous: decided.previous,
      input: request.items.filter(({ kind }) => kind !== "compaction-trigger"),
      output: decided.output.items,
    },
    body: responseBody(toResponsesReply(reply)),
  });
}

interface ReplyRendition {
  readonly body: () => object;
  readonly frames: () => Iterable<Frame>;
  readonly failure: (sent: number) => Frame;
}

function renderReply(inputs: OpenAiReply): ReplyRendition {
  if (inputs.request.api === "chat") {
    const reply = toChatReply(inputs);
    return {
      body: () => chatBody(reply),
      frames: () => chatFrames(reply),
      failure: () => chatErrorFrame(openAiErrorBody(refuseRequest(failureText, { type: "server_error" }))),
    };
  }
  const reply = toResponsesReply(inputs);
  return {
    body: () => (inputs.shape === "reply" ? responseBody(reply) : compactionBody(inputs)),
    frames: () => responsesFrames(reply),
    failure: (number) => failureFrame(reply, { number, error: { code: "server_error", message: failureText } }),
  };
}

const failureText = "The server had an error while processing your request. Sorry about that!";

const toSeconds = (at: Millis): number => Math.floor(at / 1_000);

const toChatReply = ({ id, at, request, model, decided }: OpenAiReply): ChatReply => ({
  id,
  createdSeconds: toSeconds(at),
  request,
  output: decided.output,
  usage: sumUsage({ ...decided, model }),
});

const toResponsesReply = ({ id, at, request, model, decided }: OpenAiReply): ResponsesReply => ({
  id,
  createdSeconds: toSeconds(at),
  model,
  request,
  output: decided.output,
  usage: sumUsage({ ...decided, model }),
  ...(decided.diagnosis === undefined ? {} : { diagnosis: decided.diagnosis }),
});

/** Lists the user messages verbatim, except those that an earlier compaction replaced, followed by the item that replaces everything else. */
function compactionBody({ id, at, decided, model, request }: OpenAiReply): object {
  return {
    id,
    object: "response.compaction",
    created_at: toSeconds(at),
    output: [
      ...decided.shown.flatMap((item, place) => userMessage(item, `${id} ${place}`)),
      ...decided.output.items.map(outputItem),
    ],
    usage: responsesUsage(sumUsage({ ...decided, model }), request),
  };
}

function userMessage(item: ShownItem, from: string): readonly JsonObject[] {
  if (item.kind !== "message" || item.role !== "user") return [];
  const id = item.id ?? `msg_${shortHash(from)}`;
  return [{ id, type: "message", status: "completed", role: "user", content: item.parts.map(inputPart) }];
}

function inputPart(part: Part): JsonObject {
  if (part.sent !== undefined) return part.sent;
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", detail: "auto", image_url: part.url };
    case "file":
      return { type: "input_file", filename: part.name, file_data: part.data };
  }
}

type RunsTrace = Pick<TracedReply, "usage" | "split" | "iterations" | "cost" | "pricesUsdPerMTok">;

/** What a reply cost, in the fields that a trace has for the Messages API. */
export function traceRuns({ decided, model, request }: Pick<OpenAiReply, "decided" | "model" | "request">): RunsTrace {
  const iterations = listIterations(decided);
  const price = priceRuns(decided.runs, { model, tier: resolveServiceTier(request.serviceTier) });
  return {
    usage: toMessagesUsage(sumUsage({ ...decided, model })),
    ...(iterations[0] === undefined ? {} : { split: iterations[0].split }),
    ...(iterations.some(({ type }) => type === "compaction") ? { iterations } : {}),
    ...(price === undefined
      ? {}
      : { cost: { usd: price.totalUsd, usdByKind: price.usdByKind }, pricesUsdPerMTok: price.usdPerMTok }),
  };
}

/** The last run is the reply, unless only a summary was asked for. */
function listIterations({ runs, output: { items } }: OpenAiReplyDecision): readonly Iteration[] {
  const isOnlySummary = runs.length === 1 && items.length > 0 && items.every(({ kind }) => kind === "compaction");
  return runs.map((run, at) => ({
    type: at === runs.length - 1 && !isOnlySummary ? "message" : "compaction",
    split: toUsageSplit(run),
    outputTokens: run.outputTokens,
  }));
}

/** In the Messages API input tokens are those that are neither read from the cache nor written to it. */
function toMessagesUsage({ inputTokens, cachedTokens, written, outputTokens }: Usage): SampledUsage {
  const { "30m": short, "12h": long } = written ?? { "30m": 0, "12h": 0 };
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - short - long),
    cache_creation_input_tokens: short + long,
    cache_read_input_tokens: cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    output_tokens: outputTokens,
  };
}

interface ChatReply {
  readonly id: string;
  readonly createdSeconds: number;
  readonly request: OpenAiRequest;
  readonly output: Output;
  readonly usage: Usage;
}

/** A reply as one `chat.completion`. */
function chatBody(reply: ChatReply): object {
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
function* chatFrames(reply: ChatReply): Generator<Frame> {
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
const chatErrorFrame = (error: object): Frame => dataFrame(error, "other");

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
