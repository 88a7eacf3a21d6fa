import OpenAI from "openai";
import { Stream } from "openai/core/streaming";
import type { Millis } from "../../schema/brand.ts";
import { isObject, type Json } from "../../schema/json.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { ModelEvent, ModelPort } from "../../ports/model-port.ts";
import { wireModel } from "../../tokens/known-models.ts";
import { parseModelDescription, type SizeKeys } from "../parse-model-description.ts";
import { describeMillisMax, silenceMillisMax, timerMillisMax } from "../limits.ts";
import { tryOnce } from "../try-once.ts";
import { classifyError } from "./classify-error.ts";
import { OutputLimitFields } from "./output-limit-fields.ts";
import { ChatAssembly } from "./chat-assembly.ts";
import { chatRequest } from "./chat-request.ts";

export interface OpenaiOptions extends ClockDep, IdsDep {
  /** Local servers accept any key, or none. */
  readonly apiKey: string;
  /** The provider's URL by default. */
  readonly baseUrl?: string;
  readonly fetch?: typeof fetch;
  /** The longest silence of the server. */
  readonly timeoutMs?: Millis;
}

const providerUrl = "https://api.openai.com/v1";

/**
 * Chat completions, of OpenAI and of every server with the same API. Requests come in the format of the Messages API and
 * are translated, and so are the replies.
 */
export function openaiModel(options: OpenaiOptions): ModelPort {
  const client = createClient(options);
  const silenceMs = options.timeoutMs ?? silenceMillisMax;
  const fields = new OutputLimitFields(client.baseURL);
  return {
    provider: "openai",
    send: (request, signal) => {
      const values = request.pieces.values(request);
      return tryOnce({
        signal,
        silenceMs,
        ask: (askSignal) =>
          fields.ask({
            model: request.model,
            send: (outputLimit) => {
              const chat = chatRequest(values, { outputLimit });
              return client.post("/chat/completions", { body: chat, stream: true, signal: askSignal }).asResponse();
            },
          }),
        read: (response) => replyEvents({ client, options, response }),
        classify: (error) => classifyError({ now: options.now, baseUrl: client.baseURL }, error),
      });
    },
    describe: async (model, signal) => {
      try {
        const path = `/models/${encodeURIComponent(wireModel(model).id)}`;
        return parseModelDescription(await client.get<Json>(path, { timeout: describeMillisMax, signal }), sizeKeys);
      } catch {
        return undefined;
      }
    },
  };
}

/** Sets every option, so that the SDK reads nothing from the environment. */
function createClient({ apiKey, baseUrl, fetch }: OpenaiOptions): OpenAI {
  return new OpenAI({
    // The SDK refuses to start without a key, but local servers need none.
    apiKey: apiKey === "" ? "none" : apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: baseUrl ?? providerUrl,
    maxRetries: 0,
    // `tryOnce` limits the silence instead of the total time.
    timeout: timerMillisMax,
    logLevel: "off",
    ...(fetch === undefined ? {} : { fetch }),
  });
}

async function* replyEvents({
  client,
  options,
  response,
}: {
  readonly client: OpenAI;
  readonly options: OpenaiOptions;
  readonly response: Response;
}): AsyncGenerator<ModelEvent> {
  const assembly = new ChatAssembly(options);
  for await (const chunk of Stream.fromSSEResponse<Json>(response, new AbortController(), client)) {
    if (isObject(chunk)) yield* assembly.take(chunk);
  }
  yield* assembly.end();
}

/** OpenAI does not report a model's sizes; other servers do, each under its own names. */
const sizeKeys: SizeKeys = {
  window: ["context_window", "context_length", "max_model_len", "max_context_length"],
  input: ["max_input_tokens"],
  output: ["max_completion_tokens", "max_output_tokens"],
};
