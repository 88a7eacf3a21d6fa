import type { ProcessInputStepArgs, ProcessLLMRequestArgs, Processor } from "@mastra/core/processors";
import type { Context } from "../../context/context.ts";
import type { ToolOption } from "../../context/inputs.ts";
import type { NextRequest } from "../../context/outcomes.ts";
import { encodeMessage, isRecord, type PartOf, toMessage } from "../ai-sdk/prompt-message.ts";
import {
  chooseMarks,
  joinTexts,
  type RestoredMessage,
  restorePrompt,
  withoutCallMark,
  writeNewPrompt,
} from "../ai-sdk/restore-prompt.ts";
import type { AdapterOptions } from "../shared/adapter-context.ts";
import { readRefusal } from "../shared/ask-plainer.ts";
import { plainerTriesMax } from "../shared/limits.ts";
import { ThreadContexts } from "../shared/thread-contexts.ts";
import { collectReply } from "./collect-reply.ts";

type Model = ProcessLLMRequestArgs["model"];
type Prompt = ProcessLLMRequestArgs["prompt"];
type Message = Prompt[number];
type Part = PartOf<Message>;

export interface ContextProcessorOptions extends Omit<AdapterOptions<"anthropic">, "summarizer" | "session"> {
  /** `own`: the agent's model. By default summaries are made from the messages, by no model. */
  readonly summarizer?: AdapterOptions<"anthropic">["summarizer"] | "own";
}

export interface ContextHandle {
  /** The context of a thread of the agent's memory, or of the runs without one. Undefined before its first request. */
  readonly contextFor: (threadId?: string) => Promise<Context<"anthropic">> | undefined;
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
export function contextProcessor({ summarizer, ...options }: ContextProcessorOptions = {}): ContextProcessor {
  let model: Model | undefined;
  const own: AdapterOptions<"anthropic">["summarizer"] = async ({ params, signal }) => {
    if (model === undefined) throw new Error("a summary before the first request");
    return await askModel(model, { params, signal });
  };
  const chosen = summarizer === "own" ? own : summarizer;
  const threads = new ThreadContexts("anthropic", {
    ...options,
    ...(chosen === undefined ? {} : { summarizer: chosen }),
  });
  return {
    id: "palimpsest-context",
    contextFor: (threadId) => threads.contextFor(threadId),
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
    processLLMRequest: async ({ prompt, model: asked, state, abortSignal, requestContext }) => {
      model = asked;
      const { system, others } = splitSystem(prompt);
      const given = others.map((message) => encodeMessage<Message, Part>(message));
      const { params } = await threads.open(readThread(requestContext)).sync({
        ...readStep(state[stepKey]),
        model: asked.modelId,
        system: system.map(({ content }) => content),
        messages: given.map(toMessage),
        signal: abortSignal,
      });
      const marks = chooseMarks(asked);
      return { prompt: [...system, ...restorePrompt(params.messages, { given, marks }).map(writeMessage)] };
    },
    // If the reply can't be recorded, the next prompt brings it.
    processLLMResponse: async ({ chunks, model: asked, requestContext }) => {
      const context = await threads.contextFor(readThread(requestContext));
      await context?.assistant(collectReply(chunks, asked.modelId)).catch(() => undefined);
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

type SystemMessage = Extract<Prompt[number], { role: "system" }>;

/** System messages in mid-conversation are part of it. */
function splitSystem(prompt: Prompt): { readonly system: readonly SystemMessage[]; readonly others: Prompt } {
  const end = prompt.findIndex(({ role }) => role !== "system");
  const system = prompt.slice(0, end === -1 ? prompt.length : end).filter((message) => message.role === "system");
  return { system, others: prompt.slice(system.length) };
}

function writeMessage({ role, source, parts }: RestoredMessage<Message, Part>): Message {
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

interface AskInput {
  readonly params: NextRequest<"anthropic">["params"];
  readonly signal: AbortSignal;
}

/** A request of the context itself, such as the one for a summary. */
async function askModel(model: Model, { params, signal }: AskInput) {
  const tools = (params.tools ?? []).map(({ name, description, input_schema: inputSchema }) => ({
    type: "function" as const,
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...inputSchema },
  }));
  const { stream } = await model.doStream({
    prompt: writeNewPrompt(params),
    maxOutputTokens: params.max_tokens,
    abortSignal: signal,
    ...(tools.length === 0 ? {} : { tools }),
  });
  const parts: object[] = [];
  for await (const part of stream) parts.push(part);
  return collectReply(parts, params.model);
}
