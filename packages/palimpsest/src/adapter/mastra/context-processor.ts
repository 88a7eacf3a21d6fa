import type { ProcessInputStepArgs, ProcessLLMRequestArgs, Processor } from "@mastra/core/processors";
import type { Context } from "../../context/context.ts";
import type { ToolOption } from "../../context/inputs.ts";
import type { AskModel } from "../../context/summarizer.ts";
import { chooseMarks, withoutCallMark } from "../ai-sdk/cache-marks.ts";
import { encodeMessage, isRecord, type PartOf, toMessage } from "../ai-sdk/prompt-message.ts";
import { type ModelReply, ReplyCollector } from "../ai-sdk/reply-collector.ts";
import { joinTexts, type PromptDraft, splitSystem, writeNewCall, writePrompt } from "../ai-sdk/write-prompt.ts";
import { readRefusal } from "../shared/ask-plainer.ts";
import { plainerTriesMax } from "../shared/limits.ts";
import { ThreadContexts, type ThreadOptions } from "../shared/thread-contexts.ts";

type Model = ProcessLLMRequestArgs["model"];
type Prompt = ProcessLLMRequestArgs["prompt"];
type Message = Prompt[number];
type Part = PartOf<Message>;

export type ContextProcessorOptions = ThreadOptions<"anthropic">;

export interface ContextHandle {
  /** The context of a thread of the agent's memory, or of the runs without one. Undefined before its first request. */
  readonly contextFor: (threadId?: string) => Promise<Context<"anthropic">> | undefined;
  /** Closes the session of a thread, or of the runs without one. Its next request opens it again. */
  readonly closeContext: (threadId?: string) => Promise<void>;
  /** Closes the sessions of all threads. */
  readonly closeContexts: () => Promise<void>;
}

type ContextProcessor = Processor<"palimpsest-context"> &
  Required<Pick<Processor, "processInputStep" | "processLLMRequest" | "processLLMResponse" | "processAPIError">> &
  ContextHandle;

/**
 * For an agent's `inputProcessors`: the prompt of each step passes through the context of its thread and fits the window.
 * It is changed only for the model, so the agent's memory and its message list keep everything. In `errorProcessors` too:
 * a request that is refused for what it holds is sent again without it.
 */
export function contextProcessor(options: ContextProcessorOptions = {}): ContextProcessor {
  const threads = new ThreadContexts("anthropic", options);
  return {
    id: "palimpsest-context",
    contextFor: (threadId) => threads.contextFor(threadId),
    closeContext: (threadId) => threads.closeThread(threadId),
    closeContexts: () => threads.close(),
    // Only here the tools are known, and only here the call's own cache mark can be taken away.
    processInputStep: ({ state, tools, modelSettings, model: asked, providerOptions }) => {
      state[stepKey] = {
        tools: listTools(tools ?? {}),
        outputTokensMax: modelSettings?.maxOutputTokens,
      } satisfies Step;
      if (chooseMarks(asked) === "none" || providerOptions === undefined) return undefined;
      return { providerOptions: withoutCallMark(providerOptions) };
    },
    processLLMRequest: async ({ prompt, model, state, abortSignal, requestContext }) => {
      const { system, others } = splitSystem(prompt);
      const given = others.map((message) => encodeMessage<Message, Part>(message));
      const adapter = await threads.open(readThread(requestContext));
      const prepared = await adapter.sync({
        ...readStep(state[stepKey]),
        model: model.modelId,
        system: system.map(({ content }) => content),
        messages: given.map(toMessage),
        signal: abortSignal,
        askModel: askWith(model),
      });
      const marks = chooseMarks(model);
      return { prompt: [...system, ...writePrompt(prepared, { given, marks, write: writeMessage })] };
    },
    // If the reply can't be recorded, the next prompt brings it.
    processLLMResponse: async ({ chunks, model, requestContext }) => {
      const context = await threads.contextFor(readThread(requestContext));
      await context?.assistant(collectReply(chunks, model.modelId)).catch(() => undefined);
    },
    processAPIError: async ({ error, retryCount, requestContext }) => {
      const context = await threads.contextFor(readThread(requestContext));
      const refusal = readRefusal(error);
      if (context === undefined || refusal === undefined || retryCount >= plainerTriesMax) return undefined;
      const after = await context.refused(refusal);
      return { retry: after.kind !== "stop" && after.afterMs === 0 };
    },
  };
}

/** What a step says before its prompt is made, in the state that the processor's functions share. */
interface Step {
  readonly tools: readonly ToolOption[];
  readonly outputTokensMax: number | undefined;
}

const stepKey = "palimpsestStep";

const readStep = (value: unknown): Step => (isStep(value) ? value : { tools: [], outputTokensMax: undefined });

const isStep = (value: unknown): value is Step => typeof value === "object" && value !== null && "tools" in value;

/** Mastra passes the memory of a run in this entry. */
function readThread(context: ProcessLLMRequestArgs["requestContext"]): string | undefined {
  const memory: unknown = context?.get("MastraMemory");
  const thread: unknown = isRecord(memory) ? memory["thread"] : undefined;
  const id: unknown = isRecord(thread) ? thread["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

/** Only counted: the framework sends the tools itself. */
const listTools = (tools: NonNullable<ProcessInputStepArgs["tools"]>): readonly ToolOption[] =>
  Object.entries(tools).map(([name, tool]) => {
    const { description, parameters, inputSchema }: Readonly<Record<string, unknown>> = isRecord(tool) ? tool : {};
    const schema = parameters ?? inputSchema;
    const json = isRecord(schema) ? schema["jsonSchema"] : undefined;
    return {
      name,
      description: typeof description === "string" ? description : undefined,
      input_schema: isRecord(json) ? json : { type: "object" },
    };
  });

function writeMessage({ role, source, parts }: PromptDraft<Message, Part>): Message {
  const options = source?.providerOptions === undefined ? {} : { providerOptions: source.providerOptions };
  switch (role) {
    case "system":
      return { role, content: joinTexts(parts), ...options };
    case "user":
      return { role, content: parts.filter((part) => part.type === "text" || part.type === "file"), ...options };
    case "assistant":
      return { role, content: [...parts], ...options };
    case "tool":
      return { role, content: parts.filter((part) => part.type === "tool-result"), ...options };
  }
}

const askWith =
  (model: Model): AskModel<"anthropic"> =>
  async ({ params, signal }) => {
    const { stream } = await model.doStream({ ...writeNewCall(params), abortSignal: signal });
    const chunks: object[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return collectReply(chunks, params.model);
  };

function collectReply(chunks: Iterable<object>, model: string): ModelReply {
  const collector = new ReplyCollector();
  for (const chunk of chunks) collector.take(chunk);
  return collector.reply(model);
}
