import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { type AnthropicOptions, withContext } from "../../packages/palimpsest/src/adapter/anthropic/with-context.ts";
import { editFile, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

const path = { type: "string" } as const;
const tools = [
  betaTool({
    name: "read",
    description: "Reads a file.",
    inputSchema: { type: "object", properties: { path }, required: ["path"] },
    run: (input) => readFileText(input.path),
  }),
  betaTool({
    name: "edit",
    description: "Edits a file.",
    inputSchema: { type: "object", properties: { path, replacement: path }, required: ["path", "replacement"] },
    run: (input) => editFile(input.path),
  }),
];

const params = {
  model: benchModels.anthropic,
  max_tokens: outputTokens,
  system: systemPrompt,
  tools,
  messages: [{ role: "user" as const, content: prompt }],
};
/** Without it the prompt cache is not used. It excludes threads. */
const cached = { ...params, cache_control: { type: "ephemeral" as const }, thread: false as const };

const connect = ({ fetch }: World): Anthropic =>
  new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: "http://simulator", fetch });

const framework = "Anthropic SDK, tool runner";

const ours = (way: string, options: AnthropicOptions = {}): FrameworkRun => ({
  framework,
  way,
  kind: "ours",
  run: async (world) => {
    const client = withContext(connect(world), { contextTokens: windowTokens, ...options });
    await client.beta.messages.toolRunner(cached);
    const context = await client.context;
    return { recall: (query) => context.recall(query), close: () => client.closeContext() };
  },
});

export const anthropicRuns: readonly FrameworkRun[] = [
  {
    framework,
    way: "as it is",
    kind: "plain",
    run: async (world) => {
      await connect(world).beta.messages.toolRunner(cached);
      return {};
    },
  },
  {
    framework,
    way: "context editing (`clear_tool_uses`, trigger 30,000)",
    kind: "own",
    run: async (world) => {
      await connect(world).beta.messages.toolRunner({
        ...cached,
        betas: ["context-management-2025-06-27"],
        context_management: {
          edits: [{ type: "clear_tool_uses_20250919", trigger: { type: "input_tokens", value: 30_000 } }],
        },
      });
      return {};
    },
  },
  {
    framework,
    way: "`compactBeforeNextTurn` at 30,000",
    kind: "own",
    run: async (world) => {
      const runner = connect(world).beta.messages.toolRunner({ ...cached, betas: ["compact-2026-09-04"] });
      for await (const { usage } of runner) {
        const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
        if (input + (read ?? 0) + (written ?? 0) > 30_000) runner.compactBeforeNextTurn();
      }
      return {};
    },
  },
  ours("`withContext`"),
  ours('`withContext`, `summarizer: "own"`', { summarizer: "own" }),
];
