import type { LanguageModelMiddleware } from "ai";
import type { Block } from "../../schema/block.ts";
import { encodePart, type PromptPart } from "./prompt-message.ts";

type GenerateResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>;
type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

/** A reply in the format of the Messages API. */
export interface ModelReply {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: string;
  readonly usage: object;
}

type ReplyParts = Pick<GenerateResult, "finishReason" | "usage"> & {
  readonly content: readonly PromptPart[];
  readonly id: string | undefined;
};

export const toReply = ({ content, finishReason, usage, response }: GenerateResult, model: string): ModelReply =>
  makeReply({ content, finishReason, usage, id: response?.id }, model);

function makeReply({ content, finishReason, usage, id }: ReplyParts, model: string): ModelReply {
  const { inputTokens, outputTokens } = usage;
  const cacheRead = inputTokens.cacheRead ?? 0;
  const cacheWrite = inputTokens.cacheWrite ?? 0;
  return {
    id: id ?? crypto.randomUUID(),
    model,
    content: content.flatMap((part) => encodePart(part) ?? []),
    stop_reason: stopReasons[finishReason.unified] ?? "end_turn",
    usage: {
      input_tokens: inputTokens.noCache ?? Math.max(0, (inputTokens.total ?? 0) - cacheRead - cacheWrite),
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
      output_tokens: outputTokens.total ?? 0,
    },
  };
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_use",
};

/** Passes a stream on as it is. When it has finished, its reply is recorded before the reader learns of the end. */
export function collectStream(
  model: string,
  record: (reply: ModelReply) => Promise<void>,
): TransformStream<StreamPart, StreamPart> {
  const content: PromptPart[] = [];
  const openById = new Map<string, { type: "text" | "reasoning"; text: string; providerMetadata?: unknown }>();
  let id: string | undefined;
  let end: Extract<StreamPart, { type: "finish" }> | undefined;
  const take = (part: StreamPart): void => {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const open = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
        openById.set(part.id, open);
        content.push(open);
        break;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const open = openById.get(part.id);
        if (open === undefined) break;
        if ("delta" in part) open.text += part.delta;
        if (part.providerMetadata !== undefined) open.providerMetadata = part.providerMetadata;
        break;
      }
      case "tool-call":
      case "tool-result":
      case "file":
        content.push({ ...part });
        break;
      case "response-metadata":
        id = part.id;
        break;
      case "finish":
        end = part;
        break;
      default:
    }
  };
  return new TransformStream<StreamPart, StreamPart>({
    transform: (part, controller) => {
      take(part);
      controller.enqueue(part);
    },
    flush: async () => {
      if (end !== undefined) await record(makeReply({ ...end, content, id }, model));
    },
  });
}
