import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import { type Millis, tokens } from "../../schema/brand.ts";
import { field, isObject, type Json, parseJson, textField } from "../../schema/json.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelCountRequest, ModelEvent, ModelPort, RequestCount } from "../../ports/model-port.ts";
import { wireModel } from "../../tokens/known-models.ts";
import { parseModelDescription, type SizeKeys } from "../parse-model-description.ts";
import { countMillisMax, describeMillisMax, pingedSilenceMillisMax, timerMillisMax } from "../limits.ts";
import { tryOnce } from "../try-once.ts";
import { classifyError } from "./classify-error.ts";
import { ReplyAssembly } from "./reply-assembly.ts";

export type AnthropicOptions = AnthropicCredential &
  ClockDep & {
    /** The provider's URL by default. */
    readonly baseUrl?: string;
    readonly fetch?: typeof fetch;
    /** The longest silence of the server. */
    readonly timeoutMs?: Millis;
  };

type AnthropicCredential =
  | { readonly apiKey: string; readonly authToken?: never }
  | { readonly authToken: string; readonly apiKey?: never };

const providerUrl = "https://api.anthropic.com";

/** The Messages API. Bodies are sent byte for byte. The caller retries, because it knows which events it has used already. */
export function anthropicModel(options: AnthropicOptions): ModelPort {
  const client = createClient(options);
  const silenceMs = options.timeoutMs ?? pingedSilenceMillisMax;
  return {
    provider: "anthropic",
    send: (request, signal) =>
      tryOnce({
        signal,
        silenceMs,
        ask: (askSignal) => {
          const { pieces, betas } = request;
          const body = pieces.bytes(request);
          const headers = requestHeaders(betas);
          return client.post("/v1/messages", { body, stream: true, headers, signal: askSignal }).asResponse();
        },
        read: replyEvents,
        classify: (error) => classifyError(options, error),
      }),
    describe: async (model, signal) => {
      try {
        const path = `/v1/models/${encodeURIComponent(wireModel(model).id)}`;
        return parseModelDescription(await client.get<Json>(path, { timeout: describeMillisMax, signal }), sizeKeys);
      } catch {
        return undefined;
      }
    },
    count: async (request, signal) => {
      try {
        const countOptions = { body: countBody(request), timeout: countMillisMax, signal };
        return parseCount(await client.post<Json>("/v1/messages/count_tokens", countOptions));
      } catch (error) {
        return { kind: "uncounted", message: classifyError(options, error).message };
      }
    },
  };
}

/** The server refuses empty lists, so they are left out. */
const countBody = ({ model, system, tools, messages }: ModelCountRequest): object => ({
  model: wireModel(model).id,
  ...(system.length === 0 ? {} : { system: system.map((prompt) => ({ type: "text", text: prompt })) }),
  ...(tools.length === 0 ? {} : { tools }),
  messages,
});

function parseCount(reply: Json): RequestCount {
  const count = isObject(reply) ? field(reply, "input_tokens") : undefined;
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0
    ? { kind: "counted", tokens: tokens(count) }
    : { kind: "uncounted", message: "The server's reply holds no count." };
}

/** Sets every option, so that the SDK reads nothing from the environment. */
function createClient({ apiKey, authToken, baseUrl, fetch }: AnthropicOptions): Anthropic {
  return new Anthropic({
    apiKey: apiKey ?? null,
    authToken: authToken ?? null,
    baseURL: baseUrl ?? providerUrl,
    maxRetries: 0,
    // `tryOnce` limits the silence instead of the total time.
    timeout: timerMillisMax,
    logLevel: "off",
    ...(fetch === undefined ? {} : { fetch }),
  });
}

const requestHeaders = (betas: readonly string[]): Record<string, string> => ({
  "content-type": "application/json",
  ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") }),
});

async function* replyEvents(response: Response): AsyncGenerator<ModelEvent> {
  const assembly = new ReplyAssembly();
  for await (const { data } of Stream.rawEvents(response)) {
    if (data === "") continue;
    const event = parseJson(data);
    if (!isObject(event)) continue;
    if (textField(event, "type") === "error") throw new APIError(undefined, event, undefined, response.headers);
    yield* assembly.take(event);
  }
}

const sizeKeys: SizeKeys = { window: ["max_input_tokens"], output: ["max_tokens"] };
