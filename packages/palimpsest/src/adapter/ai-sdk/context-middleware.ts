import type { LanguageModelMiddleware } from "ai";
import type { Context } from "../../context/context.ts";
import type { NextRequest } from "../../context/outcomes.ts";
import type { ToolOption } from "../../context/inputs.ts";
import { AdapterContext, type AdapterOptions, type FrameworkRequest } from "../shared/adapter-context.ts";
import { askPlainer } from "../shared/ask-plainer.ts";
import { encodeMessage, type EncodedMessage, type PartOf, toMessage } from "./prompt-message.ts";
import { collectStream, toReply, type ModelReply } from "./model-reply.ts";
import {
  chooseMarks,
  joinTexts,
  type RestoredMessage,
  restorePrompt,
  withoutCallMark,
  writeNewPrompt,
} from "./restore-prompt.ts";

type WrapGenerate = NonNullable<LanguageModelMiddleware["wrapGenerate"]>;
type Model = Parameters<WrapGenerate>[0]["model"];
type CallOptions = Parameters<WrapGenerate>[0]["params"];
type Message = CallOptions["prompt"][number];
type Part = PartOf<Message>;

export interface ContextMiddlewareOptions extends Omit<AdapterOptions<"anthropic">, "summarizer"> {
  /** `own`: the conversation's model. By default summaries are made from the messages, by no model. */
  readonly summarizer?: AdapterOptions<"anthropic">["summarizer"] | "own";
}

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
export function contextMiddleware({ summarizer, ...options }: ContextMiddlewareOptions = {}): ContextMiddleware {
  let model: Model | undefined;
  const own: AdapterOptions<"anthropic">["summarizer"] = async ({ params, signal }) => {
    if (model === undefined) throw new Error("a summary before the first request");
    const asked = { ...toCallOptions(params), maxOutputTokens: params.max_tokens, abortSignal: signal };
    return toReply(await model.doGenerate(asked), model.modelId);
  };
  const chosen = summarizer === "own" ? own : summarizer;
  const adapter = new AdapterContext("anthropic", {
    ...options,
    ...(chosen === undefined ? {} : { summarizer: chosen }),
  });
  const ask = async <Result>(asked: Asked, send: (params: CallOptions) => PromiseLike<Result>): Promise<Result> => {
    model = asked.model;
    const { system, others } = splitSystem(asked.params.prompt);
    const given = others.map((message) => encodeMessage<Message, Part>(message));
    return await askPlainer(adapter, {
      request: toRequest(asked, { system, given }),
      send: (prepared) => send({ ...writeOptions(asked), prompt: writePrompt(prepared, { ...asked, given }) }),
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
    wrapGenerate: async (asked) => {
      const result = await ask(asked, (params) => asked.model.doGenerate(params));
      await record(toReply(result, asked.model.modelId));
      return result;
    },
    wrapStream: async (asked) => {
      const { stream, ...others } = await ask(asked, (params) => asked.model.doStream(params));
      return { ...others, stream: stream.pipeThrough(collectStream(asked.model.modelId, record)) };
    },
  };
}

interface Asked {
  readonly model: Model;
  readonly params: CallOptions;
}

const toRequest = (
  { model, params }: Asked,
  {
    system,
    given,
  }: { readonly system: readonly SystemMessage[]; readonly given: readonly EncodedMessage<Message, Part>[] },
): FrameworkRequest<"anthropic"> => ({
  model: model.modelId,
  system: system.map(({ content }) => content),
  tools: (params.tools ?? []).map(toToolOption),
  messages: given.map(toMessage),
  outputTokensMax: params.maxOutputTokens,
  signal: params.abortSignal,
});

interface WritePromptInput extends Asked {
  readonly given: readonly EncodedMessage<Message, Part>[];
}

function writeMessage({ role, source, parts }: RestoredMessage<Message, Part>): Message {
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

/** System messages stay as they are; cache marks are set for Anthropic's models, which need them. */
function writePrompt(
  request: NextRequest<"anthropic">,
  { given, params, model }: WritePromptInput,
): CallOptions["prompt"] {
  const restored = restorePrompt(request.params.messages, { given, marks: chooseMarks(model) });
  return [...splitSystem(params.prompt).system, ...restored.map(writeMessage)];
}

const writeOptions = ({ model, params }: Asked): CallOptions =>
  chooseMarks(model) === "none" || params.providerOptions === undefined
    ? params
    : { ...params, providerOptions: withoutCallMark(params.providerOptions) };

type SystemMessage = Extract<Message, { role: "system" }>;

/** System messages in mid-conversation are part of it. */
function splitSystem(prompt: CallOptions["prompt"]): {
  readonly system: readonly SystemMessage[];
  readonly others: CallOptions["prompt"];
} {
  const end = prompt.findIndex(({ role }) => role !== "system");
  const system = prompt.slice(0, end === -1 ? prompt.length : end).filter((message) => message.role === "system");
  return { system, others: prompt.slice(system.length) };
}

function toToolOption(tool: NonNullable<CallOptions["tools"]>[number]): ToolOption {
  if (tool.type === "provider") return { name: tool.name, type: tool.id };
  const { name, description, inputSchema } = tool;
  return { name, description, input_schema: inputSchema };
}

/** A request of the context itself, such as the one for a summary. */
function toCallOptions(params: NextRequest<"anthropic">["params"]): Pick<CallOptions, "prompt" | "tools"> {
  const tools = (params.tools ?? []).map(({ name, description, input_schema }) => ({
    type: "function" as const,
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...input_schema },
  }));
  return { prompt: writeNewPrompt(params), ...(tools.length === 0 ? {} : { tools }) };
}
