import {
  Agent,
  type ModelProvider,
  MemorySession,
  type ModelSettings,
  OpenAIProvider,
  OpenAIResponsesCompactionSession,
  Runner,
  type Session,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import {
  type ContextSessionOptions,
  withContext,
} from "../../packages/palimpsest/src/adapter/openai-agents/with-context.ts";
import { editFile, filesCount, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

// Traces would be sent to the network.
setTracingDisabled(true);

const model = benchModels.openai;
const tools = [
  tool({
    name: "read",
    description: "Reads a file.",
    parameters: z.object({ path: z.string() }),
    execute: ({ path }) => readFileText(path),
  }),
  tool({
    name: "edit",
    description: "Edits a file.",
    parameters: z.object({ path: z.string(), replacement: z.string() }),
    execute: ({ path }) => editFile(path),
  }),
];

const connect = ({ fetch }: World): OpenAI =>
  new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: "http://simulator/v1", fetch });

interface TaskInput {
  readonly provider: ModelProvider;
  readonly session: Session;
  readonly settings?: Partial<ModelSettings>;
}

/** The whole task in one run. */
async function runTask({ provider, session, settings = {} }: TaskInput): Promise<void> {
  const agent = new Agent({
    name: "programmer",
    instructions: systemPrompt,
    model,
    tools,
    modelSettings: { maxTokens: outputTokens, ...settings },
  });
  await new Runner({ modelProvider: provider }).run(agent, prompt, { session, maxTurns: 500 });
}

interface CompactingInput extends TaskInput {
  readonly session: OpenAIResponsesCompactionSession;
}

/**
 * A run for each file: it ends with the edit. The session compacts by itself only after a run that ends with words of the
 * model, so it is asked to.
 */
async function runByFile({ provider, session }: CompactingInput): Promise<void> {
  const agent = new Agent({
    name: "programmer",
    instructions: systemPrompt,
    model,
    tools,
    modelSettings: { maxTokens: outputTokens },
    toolUseBehavior: { stopAtToolNames: ["edit"] },
  });
  const runner = new Runner({ modelProvider: provider });
  for (let file = 1; file <= filesCount + 1; file += 1) {
    await runner.run(agent, file === 1 ? prompt : "Go on.", { session });
    await session.runCompaction({ compactionMode: "input" });
  }
}

const framework = "OpenAI Agents SDK";

const theirs = (
  kind: "plain" | "own",
  way: string,
  run: (task: TaskInput, client: OpenAI) => Promise<void>,
): FrameworkRun => ({
  framework,
  way,
  kind,
  run: async (world) => {
    const client = connect(world);
    await run({ provider: new OpenAIProvider({ openAIClient: client }), session: new MemorySession() }, client);
    return {};
  },
});

/** Three characters of code to a token. Its default trigger counts items: 10. */
const compactingSession = (client: OpenAI): OpenAIResponsesCompactionSession =>
  new OpenAIResponsesCompactionSession({
    client,
    model,
    shouldTriggerCompaction: ({ sessionItems }) => JSON.stringify(sessionItems).length / 3 > 30_000,
  });

const ours = (way: string, options: ContextSessionOptions = {}): FrameworkRun => ({
  framework,
  way,
  kind: "ours",
  run: async (world) => {
    const session = withContext(new MemorySession(), { contextTokens: windowTokens, ...options });
    const provider = session.wrapProvider(new OpenAIProvider({ openAIClient: connect(world) }));
    await runTask({ provider, session });
    const context = await session.context;
    return { recall: (query) => context.recall(query), close: () => session.closeContext() };
  },
});

export const openaiAgentsRuns: readonly FrameworkRun[] = [
  theirs("plain", "as it is", (task) => runTask(task)),
  theirs("own", "server-side compaction (`contextManagement`) at 30,000", (task) =>
    runTask({ ...task, settings: { contextManagement: [{ type: "compaction", compactThreshold: 30_000 }] } }),
  ),
  theirs("own", "`OpenAIResponsesCompactionSession` at 30,000", (task, client) =>
    runTask({ ...task, session: compactingSession(client) }),
  ),
  theirs("own", "the same, a run and `runCompaction` for each file", (task, client) =>
    runByFile({ ...task, session: compactingSession(client) }),
  ),
  ours("`withContext`"),
  ours('`withContext`, `summarizer: "own"`', { summarizer: "own" }),
];
