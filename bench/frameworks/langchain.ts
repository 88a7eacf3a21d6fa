import { ChatAnthropic } from "@langchain/anthropic";
import {
  type AgentMiddleware,
  anthropicPromptCachingMiddleware,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  HumanMessage,
  summarizationMiddleware,
  tool,
} from "langchain";
import { z } from "zod";
import {
  contextMiddleware,
  type ContextMiddlewareOptions,
} from "../../packages/palimpsest/src/adapter/langchain/context-middleware.ts";
import { editFile, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

const tools = [
  tool(({ path }) => readFileText(path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  }),
  tool(({ path }) => editFile(path), {
    name: "edit",
    description: "Edits a file.",
    schema: z.object({ path: z.string(), replacement: z.string() }),
  }),
];

const connect = ({ fetch }: World): ChatAnthropic =>
  new ChatAnthropic({
    model: benchModels.langchain,
    apiKey: "none",
    anthropicApiUrl: "http://simulator",
    maxRetries: 0,
    maxTokens: outputTokens,
    clientOptions: { fetch },
  });

async function invoke(model: ChatAnthropic, middleware: readonly AgentMiddleware[]): Promise<void> {
  const agent = createAgent({ model, tools, systemPrompt, middleware });
  await agent.invoke({ messages: [new HumanMessage(prompt)] }, { recursionLimit: 2_000 });
}

const framework = "LangChain";
/** With the zod of this checkout, the declared options of these two are `never` and `undefined`. */
export const summarizing = (options: {
  readonly model: ChatAnthropic;
  readonly trigger: { readonly tokens: number };
  readonly trimTokensToSummarize?: number;
}): AgentMiddleware => summarizationMiddleware(options as never);
const caching = (): AgentMiddleware => anthropicPromptCachingMiddleware({ minMessagesToCache: 1 } as never);
const clearing = (trigger: number): AgentMiddleware =>
  contextEditingMiddleware({ edits: [new ClearToolUsesEdit({ trigger: { tokens: trigger } })] });

const own = (way: string, middleware: (model: ChatAnthropic) => readonly AgentMiddleware[]): FrameworkRun => ({
  framework,
  way,
  kind: "own",
  run: async (world) => {
    const model = connect(world);
    await invoke(model, [...middleware(model), caching()]);
    return {};
  },
});

const ours = (way: string, options: ContextMiddlewareOptions = {}): FrameworkRun => ({
  framework,
  way,
  kind: "ours",
  run: async (world) => {
    const middleware = contextMiddleware({ contextTokens: windowTokens, ...options });
    await invoke(connect(world), [caching(), middleware]);
    const context = await middleware.contextFor();
    return {
      recall: (query) => context?.recall(query) ?? Promise.resolve([]),
      close: () => middleware.closeContexts(),
    };
  },
});

export const langchainRuns: readonly FrameworkRun[] = [
  { ...own("as it is", () => []), kind: "plain" },
  own("`contextEditingMiddleware`, trigger 30,000", () => [clearing(30_000)]),
  own("`summarizationMiddleware`, trigger 30,000", (model) => [summarizing({ model, trigger: { tokens: 30_000 } })]),
  own("the same with `trimTokensToSummarize` 30,000", (model) => [
    summarizing({ model, trigger: { tokens: 30_000 }, trimTokensToSummarize: 30_000 }),
  ]),
  ours("`contextMiddleware`"),
  ours('`contextMiddleware`, `summarizer: "own"`', { summarizer: "own" }),
];
