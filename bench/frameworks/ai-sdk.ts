import { createAnthropic } from "@ai-sdk/anthropic";
import {
  generateText,
  isStepCount,
  type LanguageModel,
  type PrepareStepFunction,
  pruneMessages,
  tool,
  wrapLanguageModel,
} from "ai";
import { z } from "zod";
import {
  contextMiddleware,
  type ContextMiddlewareOptions,
} from "../../packages/palimpsest/src/adapter/ai-sdk/context-middleware.ts";
import { contextStep } from "../../packages/palimpsest/src/adapter/ai-sdk/context-step.ts";
import { editFile, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

const tools = {
  read: tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => Promise.resolve(readFileText(path)),
  }),
  edit: tool({
    description: "Edits a file.",
    inputSchema: z.object({ path: z.string(), replacement: z.string() }),
    execute: ({ path }) => Promise.resolve(editFile(path)),
  }),
};

const connect = ({ fetch }: World) =>
  createAnthropic({ apiKey: "none", baseURL: "http://simulator/v1", fetch })(benchModels.anthropic);

async function generate(model: LanguageModel, prepareStep?: PrepareStepFunction<typeof tools>): Promise<void> {
  await generateText({
    model,
    instructions: systemPrompt,
    prompt,
    tools,
    maxOutputTokens: outputTokens,
    stopWhen: isStepCount(500),
    maxRetries: 0,
    providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    ...(prepareStep === undefined ? {} : { prepareStep }),
  });
}

const framework = "AI SDK";

const ours = (way: string, options: ContextMiddlewareOptions = {}): FrameworkRun => ({
  framework,
  way,
  kind: "ours",
  run: async (world) => {
    const middleware = contextMiddleware({ contextTokens: windowTokens, ...options });
    await generate(wrapLanguageModel({ model: connect(world), middleware }));
    const context = await middleware.context;
    return { recall: (query) => context.recall(query), close: () => middleware.closeContext() };
  },
});

export const aiSdkRuns: readonly FrameworkRun[] = [
  {
    framework,
    way: "as it is",
    kind: "plain",
    run: async (world) => {
      await generate(connect(world));
      return {};
    },
  },
  {
    framework,
    way: "`pruneMessages` (calls before the last 20 messages)",
    kind: "own",
    run: async (world) => {
      await generate(connect(world), ({ messages }) => ({
        messages: pruneMessages({ messages, toolCalls: "before-last-20-messages" }),
      }));
      return {};
    },
  },
  ours("`contextMiddleware`"),
  ours('`contextMiddleware`, `summarizer: "own"`', { summarizer: "own" }),
  {
    framework,
    way: "`contextStep`, 38,000 (it does not see the tools)",
    kind: "ours",
    run: async (world) => {
      const { prepareStep, context, closeContext } = contextStep({ contextTokens: windowTokens - 2_000 });
      await generate(connect(world), prepareStep);
      const opened = await context;
      return { recall: (query) => opened.recall(query), close: closeContext };
    },
  },
];
