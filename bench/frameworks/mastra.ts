import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { Mastra } from "@mastra/core";
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { TokenLimiterProcessor } from "@mastra/core/processors";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import {
  contextProcessor,
  type ContextProcessorOptions,
} from "../../packages/palimpsest/src/adapter/mastra/context-processor.ts";
import { editFile, filesCount, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

const tools = {
  read: createTool({
    id: "read",
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => Promise.resolve(readFileText(path)),
  }),
  edit: createTool({
    id: "edit",
    description: "Edits a file.",
    inputSchema: z.object({ path: z.string(), replacement: z.string() }),
    execute: ({ path }) => Promise.resolve(editFile(path)),
  }),
};

/** Of two versions of the same interface, one knows another reason why a reply ends. */
export const toMastraModel = (model: unknown): AgentConfig["model"] => model as AgentConfig["model"];

type QuietConfig = Pick<AgentConfig, "model"> &
  Partial<Pick<AgentConfig, "tools" | "memory" | "inputProcessors" | "errorProcessors">>;

/** Without the lines that an agent writes for each refusal. */
export function createQuietAgent(config: QuietConfig): Agent {
  const agent = new Agent({
    id: "programmer",
    name: "programmer",
    instructions: systemPrompt,
    maxRetries: 0,
    defaultOptions: {
      maxSteps: 500,
      modelSettings: { maxOutputTokens: outputTokens, maxRetries: 0 },
      providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    },
    ...config,
  });
  return new Mastra({ agents: { agent }, logger: false }).getAgent("agent");
}

type Connect = (world: World) => AgentConfig["model"];

const connect: Connect = ({ fetch }) =>
  toMastraModel(createAnthropic({ apiKey: "none", baseURL: "http://simulator/v1", fetch })(benchModels.anthropic));

const connectOpenAI: Connect = ({ fetch }) =>
  toMastraModel(createOpenAI({ apiKey: "none", baseURL: "http://simulator/v1", fetch })(benchModels.openai));

const thread = "files";
const memory = { thread, resource: "bench" };

/** The whole task in one run. */
const generate = async (agent: Agent): Promise<void> => {
  await agent.generate(prompt, { memory });
};

/** A run for each file, because a memory chooses what it shows when a run begins. */
async function generateByFile(agent: Agent): Promise<void> {
  await agent.generate(prompt, { memory, maxSteps: 2 });
  for (let file = 2; file <= filesCount + 1; file += 1) await agent.generate("Go on.", { memory, maxSteps: 2 });
}

const framework = "Mastra";

interface TheirRun extends Pick<FrameworkRun, "way" | "kind"> {
  readonly config: (world: World) => Partial<QuietConfig>;
  readonly run?: (agent: Agent) => Promise<void>;
}

const theirs = ({ way, kind, config, run = generate }: TheirRun): FrameworkRun => ({
  framework,
  way,
  kind,
  run: async (world) => {
    await run(createQuietAgent({ model: connect(world), tools, ...config(world) }));
    return {};
  },
});

const limited = (way: string, config: { readonly limit: number; readonly model?: Connect }): FrameworkRun =>
  theirs({
    way: `\`TokenLimiterProcessor\`, ${way}`,
    kind: "own",
    config: (world) => ({
      memory: new MockMemory(),
      inputProcessors: [new TokenLimiterProcessor({ limit: config.limit })],
      ...(config.model === undefined ? {} : { model: config.model(world) }),
    }),
  });

const newestMessages = () => ({ memory: new MockMemory({ options: { lastMessages: 20 } }) });

const ours = (way: string, options: ContextProcessorOptions = {}): FrameworkRun => ({
  framework,
  way,
  kind: "ours",
  run: async (world) => {
    const processor = contextProcessor({ contextTokens: windowTokens, ...options });
    const inputProcessors = [processor];
    await generate(
      createQuietAgent({
        model: connect(world),
        tools,
        memory: new MockMemory(),
        inputProcessors,
        errorProcessors: inputProcessors,
      }),
    );
    const context = await processor.contextFor(thread);
    return { recall: (query) => context?.recall(query) ?? Promise.resolve([]), close: () => processor.closeContexts() };
  },
});

export const mastraRuns: readonly FrameworkRun[] = [
  theirs({ way: "as it is", kind: "plain", config: () => ({ memory: new MockMemory() }) }),
  limited("30,000", { limit: 30_000 }),
  limited("20,000", { limit: 20_000 }),
  limited("20,000, with `gpt-5`", { limit: 20_000, model: connectOpenAI }),
  theirs({ way: "memory with `lastMessages: 20`", kind: "own", config: newestMessages }),
  theirs({ way: "the same, a run for each file", kind: "own", config: newestMessages, run: generateByFile }),
  ours("`contextProcessor`"),
  ours('`contextProcessor`, `summarizer: "own"`', { summarizer: "own" }),
];
