import OpenAI from "openai";
import { withContext } from "../../packages/palimpsest/src/adapter/openai/with-context.ts";
import { isObject, parseJson, textField } from "../../packages/palimpsest/src/schema/json.ts";
import { editFile, outputTokens, prompt, readFileText, systemPrompt, windowTokens } from "./task.ts";
import { benchModels, type FrameworkRun, type World } from "./world.ts";

const model = benchModels.openai;
const path = { type: "string" };
const definitions = [
  { name: "read", description: "Reads a file.", parameters: { type: "object", properties: { path } } },
  {
    name: "edit",
    description: "Edits a file.",
    parameters: { type: "object", properties: { path, replacement: path } },
  },
];

const connect = ({ fetch }: World): OpenAI =>
  new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: "http://simulator/v1", fetch });

function runTool(name: string, given: string): string {
  const input = parseJson(given);
  const file = isObject(input) ? (textField(input, "path") ?? "") : "";
  return name === "read" ? readFileText(file) : editFile(file);
}

async function loopResponses(client: OpenAI, options: object = {}): Promise<void> {
  const tools = definitions.map((one): OpenAI.Responses.FunctionTool => ({ type: "function", strict: false, ...one }));
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: prompt }];
  for (;;) {
    const { output } = await client.responses.create({
      model,
      instructions: systemPrompt,
      max_output_tokens: outputTokens,
      tools,
      input,
      store: false,
      ...options,
    });
    const calls = output.filter((item) => item.type === "function_call");
    for (const item of output) if (isKept(item)) input.push(item);
    for (const { call_id, name, arguments: given } of calls)
      input.push({ type: "function_call_output", call_id, output: runTool(name, given) });
    if (calls.length === 0) return;
  }
}

type KeptItem = Extract<
  OpenAI.Responses.ResponseOutputItem,
  { type: "message" | "reasoning" | "compaction" | "function_call" }
>;
const isKept = (item: OpenAI.Responses.ResponseOutputItem): item is KeptItem =>
  ["message", "reasoning", "compaction", "function_call"].includes(item.type);

async function loopChat(client: OpenAI): Promise<void> {
  const tools = definitions.map((one) => ({ type: "function" as const, function: one }));
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "system", content: systemPrompt },
    { role: "user", content: prompt },
  ];
  for (;;) {
    const { choices } = await client.chat.completions.create({
      model,
      max_completion_tokens: outputTokens,
      tools,
      messages,
    });
    const message = choices[0]?.message;
    if (message === undefined) return;
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
    for (const call of calls)
      messages.push({
        role: "tool",
        tool_call_id: call.id,
        content: runTool(call.function.name, call.function.arguments),
      });
    if (calls.length === 0) return;
  }
}

const loops = {
  "openai-responses": { framework: "OpenAI SDK, responses", loop: loopResponses },
  "openai-chat": { framework: "OpenAI SDK, chat completions", loop: loopChat },
} as const;
type Provider = keyof typeof loops;

const plain = (provider: Provider, way: string): FrameworkRun => ({
  framework: loops[provider].framework,
  way,
  kind: "plain",
  run: async (world) => {
    await loops[provider].loop(connect(world));
    return {};
  },
});

const ours = (provider: Provider, way: string, options: { readonly summarizer?: "own" } = {}): FrameworkRun => ({
  framework: loops[provider].framework,
  way,
  kind: "ours",
  run: async (world) => {
    const client = withContext(connect(world), { provider, contextTokens: windowTokens, ...options });
    await loops[provider].loop(client);
    const context = await client.context;
    return { recall: (query) => context.recall(query), close: () => client.closeContext() };
  },
});

const compaction: FrameworkRun = {
  framework: loops["openai-responses"].framework,
  way: "server-side compaction at 30,000",
  kind: "own",
  run: async (world) => {
    const management = [{ type: "compaction", compact_threshold: 30_000 }];
    await loopResponses(connect(world), { context_management: management });
    return {};
  },
};

export const openaiRuns: readonly FrameworkRun[] = [
  plain("openai-responses", "as it is"),
  compaction,
  ours("openai-responses", "`withContext`"),
  ours("openai-responses", '`withContext`, `summarizer: "own"`', { summarizer: "own" }),
  plain("openai-chat", "as it is; it has no remedy of its own"),
  ours("openai-chat", "`withContext`"),
];
