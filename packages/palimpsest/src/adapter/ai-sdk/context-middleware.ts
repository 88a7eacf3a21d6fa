import type { LanguageModelMiddleware } from "ai";
import type { Context } from "../../context/context.ts";
import type { ToolOption } from "../../context/inputs.ts";
import type { AskModel } from "../../context/summarizer.ts";
import { AdapterContext, type OwnModelOptions } from "../shared/adapter-context.ts";
import { askPlainer } from "../shared/ask-plainer.ts";
import { chooseMarks, withoutCallMark } from "./cache-marks.ts";
import { encodeMessage, type PartOf, toMessage } from "./prompt-message.ts";
import { makeReply, type ModelReply, ReplyCollector } from "./reply-collector.ts";
import { joinTexts, type PromptDraft, splitSystem, writeNewCall, writePrompt } from "./write-prompt.ts";

type WrapGenerate = NonNullable<LanguageModelMiddleware["wrapGenerate"]>;
type Model = Parameters<WrapGenerate>[0]["model"];
type CallOptions = Parameters<WrapGenerate>[0]["params"];
type GenerateResult = Awaited<ReturnType<WrapGenerate>>;
type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Chunk> ? Chunk : never;
type Message = CallOptions["prompt"][number];
type Part = PartOf<Message>;

export type ContextMiddlewareOptions = OwnModelOptions<"anthropic">;

export interface ContextMiddleware extends LanguageModelMiddleware {
  /** The conversation's context, once the first request is prepared. */
  readonly context: Promise<Context<"anthropic">>;
  /** Closes its session. */
  readonly closeContext: () => Promise<void>;
}

/**
 * For `wrapLanguageModel`: each prompt passes through the context of one conversation and always fits the model's window.
 * The framework keeps its whole list; what the model gets is smaller.
 */
export function contextMiddleware(options: ContextMiddlewareOptions = {}): ContextMiddleware {
  const adapter = new AdapterContext("anthropic", options);
  const ask = async <Result>(call: ModelCall, send: (params: CallOptions) => PromiseLike<Result>): Promise<Result> => {
    const { model, params } = call;
    const { system, others } = splitSystem(params.prompt);
    const given = others.map((message) => encodeMessage<Message, Part>(message));
    const marks = chooseMarks(model);
    return await askPlainer(adapter, {
      request: {
        model: model.modelId,
        system: system.map(({ content }) => content),
        tools: (params.tools ?? []).map(toToolOption),
        messages: given.map(toMessage),
        outputTokensMax: params.maxOutputTokens,
        signal: params.abortSignal,
        askModel: askWith(model),
      },
      send: (prepared) => {
        const prompt = [...system, ...writePrompt(prepared, { given, marks, write: writeMessage })];
        return send({ ...writeOptions(call), prompt });
      },
    });
  };
  // If it can't be recorded, the next prompt brings it.
  const record = async (reply: ModelReply): Promise<void> => {
    const context = await adapter.context;
    await context.assistant(reply).catch(() => undefined);
  };
  return {
    specificationVersion: "v4",
    context: adapter.context,
    closeContext: () => adapter.close(),
    wrapGenerate: async (call) => {
      const result = await ask(call, (params) => call.model.doGenerate(params));
      await record(toReply(result, call.model.modelId));
      return result;
    },
    wrapStream: async (call) => {
      const { stream, ...others } = await ask(call, (params) => call.model.doStream(params));
      return { ...others, stream: stream.pipeThrough(collectStream(call.model.modelId, record)) };
    },
  };
}

interface ModelCall {
  readonly model: Model;
  readonly params: CallOptions;
}

const askWith =
  (model: Model): AskModel<"anthropic"> =>
  async ({ params, signal }) =>
    toReply(await model.doGenerate({ ...writeNewCall(params), abortSignal: signal }), model.modelId);

const toReply = ({ content, finishReason, usage, response }: GenerateResult, model: string): ModelReply =>
  makeReply({ content, end: { finishReason, usage }, id: response?.id, model });

/** Passes a stream on as it is. When it has finished, its reply is recorded before the reader learns of the end. */
function collectStream(
  model: string,
  record: (reply: ModelReply) => Promise<void>,
): TransformStream<StreamPart, StreamPart> {
  const collector = new ReplyCollector();
  return new TransformStream<StreamPart, StreamPart>({
    transform: (part, controller) => {
      collector.take(part);
      controller.enqueue(part);
    },
    flush: async () => {
      if (collector.isFinished) await record(collector.reply(model));
    },
  });
}

function writeMessage({ role, source, parts }: PromptDraft<Message, Part>): Message {
  const options = source?.providerOptions === undefined ? {} : { providerOptions: source.providerOptions };
  switch (role) {
    case "system":
      return { role, content: joinTexts(parts), ...options };
    case "user":
      return { role, content: parts.filter((part) => part.type === "text" || part.type === "file"), ...options };
    case "assistant":
      return { role, content: parts.filter((part) => part.type !== "tool-approval-response"), ...options };
    case "tool": {
      const content = parts.filter((part) => part.type === "tool-result" || part.type === "tool-approval-response");
      return { role, content, ...options };
    }
  }
}

/** Cache marks are set for Anthropic's models, which need them. */
const writeOptions = ({ model, params }: ModelCall): CallOptions =>
  chooseMarks(model) === "none" || params.providerOptions === undefined
    ? params
    : { ...params, providerOptions: withoutCallMark(params.providerOptions) };

function toToolOption(tool: NonNullable<CallOptions["tools"]>[number]): ToolOption {
  if (tool.type === "provider") return { name: tool.name, type: tool.id };
  const { name, description, inputSchema } = tool;
  return { name, description, input_schema: inputSchema };
}
