import type Anthropic from "@anthropic-ai/sdk";
import type { AgentConfig } from "@mastra/core/agent";
import { type Agent, type MemorySession, type ModelProvider, Runner, type Session } from "@openai/agents";
import type OpenAI from "openai";
import { generateText, type LanguageModelMiddleware, tool, wrapLanguageModel } from "ai";
import { type AgentMiddleware, createAgent } from "langchain";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type ContextMiddleware, contextStep } from "../packages/palimpsest/src/adapter/ai-sdk/index.ts";
import { withContext } from "../packages/palimpsest/src/adapter/anthropic/index.ts";
import { contextMiddleware } from "../packages/palimpsest/src/adapter/langchain/index.ts";
import type { contextProcessor, recallTool } from "../packages/palimpsest/src/adapter/mastra/index.ts";
import { withContext as withOpenAIContext } from "../packages/palimpsest/src/adapter/openai/index.ts";
import { withContext as withAgentsContext } from "../packages/palimpsest/src/adapter/openai-agents/index.ts";
import type { Context, ContextOptions, ToolCall } from "../packages/palimpsest/src/index.ts";

/** Never called: that it compiles under `strict`, without a cast, is the test. */
export async function anthropicRound(context: Context<"anthropic">, client: Anthropic): Promise<readonly ToolCall[]> {
  const request = await context.next();
  await context.assistantStream(await client.messages.create({ ...request.params, stream: true }));
  await context.assistantStream(client.messages.stream(request.params));
  return context.assistant(await client.messages.create(request.params));
}

export async function chatRound(context: Context<"openai-chat">, client: OpenAI): Promise<readonly ToolCall[]> {
  const request = await context.next();
  await context.assistantStream(await client.chat.completions.create({ ...request.params, stream: true }));
  return context.assistant(await client.chat.completions.create(request.params));
}

export async function responsesRound(
  context: Context<"openai-responses">,
  client: OpenAI,
): Promise<readonly ToolCall[]> {
  const request = await context.next();
  await context.assistantStream(await client.responses.create({ ...request.params, stream: true }));
  return context.assistant(await client.responses.create(request.params));
}

export async function forkedRound(context: Context<"openai-chat">, client: OpenAI): Promise<readonly ToolCall[]> {
  await using fork = await context.fork({ task: "Check it." });
  const agent = await context.openAgent({ name: "reader", system: "You read files.", tools: [], task: "Read it." });
  await chatRound(agent, client);
  return chatRound(fork, client);
}

describe("the types of a context meet those of the official SDKs", () => {
  it("params are what each client takes", () => {
    expectTypeOf<
      Awaited<ReturnType<Context<"anthropic">["next"]>>["params"]
    >().toExtend<Anthropic.MessageCreateParamsNonStreaming>();
    expectTypeOf<
      Awaited<ReturnType<Context<"openai-chat">["next"]>>["params"]
    >().toExtend<OpenAI.ChatCompletionCreateParamsNonStreaming>();
    expectTypeOf<
      Awaited<ReturnType<Context<"openai-responses">["next"]>>["params"]
    >().toExtend<OpenAI.Responses.ResponseCreateParamsNonStreaming>();
  });

  it("a reply is what each client gives, and no other's", () => {
    type Taken<P extends "anthropic" | "openai-chat" | "openai-responses"> = Parameters<Context<P>["assistant"]>[0];
    expectTypeOf<Anthropic.Message>().toExtend<Taken<"anthropic">>();
    expectTypeOf<OpenAI.ChatCompletion>().toExtend<Taken<"openai-chat">>();
    expectTypeOf<OpenAI.Responses.Response>().toExtend<Taken<"openai-responses">>();
    expectTypeOf<OpenAI.ChatCompletion>().not.toExtend<Taken<"anthropic">>();
    expectTypeOf<Anthropic.Message>().not.toExtend<Taken<"openai-chat">>();
  });

  it("content, thinking and the system prompt are taken as the SDK types them", () => {
    type Said = Parameters<Context<"anthropic">["user"]>[0];
    type Given = Parameters<Context<"anthropic">["toolResult"]>[1];
    expectTypeOf<Anthropic.ContentBlockParam[]>().toExtend<Said>();
    expectTypeOf<Anthropic.ImageBlockParam[]>().toExtend<Given>();
    expectTypeOf<NonNullable<Anthropic.ToolResultBlockParam["content"]>>().toExtend<Given>();
    expectTypeOf<Anthropic.ThinkingConfigParam>().toExtend<NonNullable<ContextOptions["thinking"]>>();
    expectTypeOf<Anthropic.TextBlockParam[]>().toExtend<NonNullable<ContextOptions["system"]>>();
  });

  it("a tool's definition is taken as the Messages API has it", () => {
    expectTypeOf<readonly Anthropic.Tool[]>().toExtend<Parameters<Context<"anthropic">["setTools"]>[0]>();
  });

  it("forks and agents are contexts of the same provider", () => {
    type Forked<P extends "anthropic" | "openai-responses"> = Awaited<ReturnType<Context<P>["fork"]>>;
    expectTypeOf<Forked<"anthropic">>().toEqualTypeOf<Context<"anthropic">>();
    expectTypeOf<Forked<"openai-responses">>().toEqualTypeOf<Context<"openai-responses">>();
    expectTypeOf<Awaited<ReturnType<Context<"anthropic">["openAgent"]>>>().toEqualTypeOf<Context<"anthropic">>();
  });
});

/** Never called: that they compile is the test. */
export const wrapAnthropic = (client: Anthropic) => withContext(client);
export const wrapChat = (client: OpenAI) => withOpenAIContext(client, { provider: "openai-chat" });
export const wrapSession = (session: MemorySession) => withAgentsContext(session);
export const runSession = (session: ReturnType<typeof wrapSession>, provider: ModelProvider, agent: Agent) =>
  new Runner({ modelProvider: session.wrapProvider(provider) }).run(agent, "", { session });
export const wrapModel = (model: Parameters<typeof wrapLanguageModel>[0]["model"], middleware: ContextMiddleware) =>
  generateText({ model: wrapLanguageModel({ model, middleware }), prompt: "", prepareStep: contextStep().prepareStep });

const tools = { read: tool({ inputSchema: z.object({ path: z.string() }), execute: ({ path }) => path.length }) };
export const callPlain = (model: Parameters<typeof wrapLanguageModel>[0]["model"]) =>
  generateText({ model, prompt: "", tools });
export const callWrapped = (model: Parameters<typeof callPlain>[0], middleware: ContextMiddleware) =>
  generateText({
    model: wrapLanguageModel({ model, middleware }),
    prompt: "",
    tools,
    prepareStep: contextStep().prepareStep,
  });
type ChatModel = Exclude<Parameters<typeof createAgent>[0]["model"], string>;
export const createPlain = (model: ChatModel) => createAgent({ model, tools: [] });
export const createWrapped = (model: ChatModel) =>
  createAgent({ model, tools: [], middleware: [contextMiddleware()] as const });

describe("a client with a context", () => {
  it("has exactly the framework's types: of requests, replies, tools and state", () => {
    expectTypeOf<ReturnType<typeof wrapAnthropic>["messages"]>().toEqualTypeOf<Anthropic["messages"]>();
    expectTypeOf<ReturnType<typeof wrapAnthropic>["beta"]>().toEqualTypeOf<Anthropic["beta"]>();
    expectTypeOf<ReturnType<typeof wrapChat>["chat"]>().toEqualTypeOf<OpenAI["chat"]>();
    expectTypeOf<ReturnType<typeof wrapChat>["responses"]>().toEqualTypeOf<OpenAI["responses"]>();
    expectTypeOf<ReturnType<typeof callWrapped>>().toEqualTypeOf<ReturnType<typeof callPlain>>();
    type Result = Awaited<ReturnType<typeof callWrapped>>["staticToolResults"][number];
    expectTypeOf<Result["output"]>().toEqualTypeOf<number>();
    expectTypeOf<Result["input"]>().toEqualTypeOf<{ path: string }>();
    type State<Create extends typeof createPlain | typeof createWrapped> = Awaited<
      ReturnType<ReturnType<Create>["invoke"]>
    >;
    expectTypeOf<State<typeof createWrapped>["messages"]>().toEqualTypeOf<State<typeof createPlain>["messages"]>();
    expectTypeOf<State<typeof createWrapped>["messages"]>().not.toBeAny();
    expectTypeOf<keyof State<typeof createWrapped>>().toEqualTypeOf<keyof State<typeof createPlain>>();
    expectTypeOf<ReturnType<typeof contextMiddleware>>().toExtend<AgentMiddleware>();
    expectTypeOf<ReturnType<typeof wrapSession>["getItems"]>().toEqualTypeOf<MemorySession["getItems"]>();
    type Model = Awaited<ReturnType<ReturnType<ReturnType<typeof wrapSession>["wrapProvider"]>["getModel"]>>;
    expectTypeOf<Model>().toEqualTypeOf<Awaited<ReturnType<ModelProvider["getModel"]>>>();
    type Recalled = Parameters<NonNullable<ReturnType<typeof recallTool>["execute"]>>[0];
    expectTypeOf<Recalled>().toEqualTypeOf<{ query: string }>();
  });

  it("is the client, and its context that of the provider", () => {
    expectTypeOf<ReturnType<typeof wrapAnthropic>>().toExtend<Anthropic>();
    expectTypeOf<Awaited<ReturnType<typeof wrapAnthropic>["context"]>>().toEqualTypeOf<Context<"anthropic">>();
    expectTypeOf<ReturnType<typeof wrapChat>>().toExtend<OpenAI>();
    expectTypeOf<Awaited<ReturnType<typeof wrapChat>["context"]>>().toEqualTypeOf<Context<"openai-chat">>();
    expectTypeOf<ContextMiddleware>().toExtend<LanguageModelMiddleware>();
    expectTypeOf<ReturnType<typeof wrapSession>>().toExtend<MemorySession & Session>();
    type Processors = ReturnType<typeof contextProcessor>[];
    expectTypeOf<Processors>().toExtend<NonNullable<AgentConfig["inputProcessors"]>>();
    expectTypeOf<Processors>().toExtend<NonNullable<AgentConfig["errorProcessors"]>>();
    expectTypeOf<{ recall: ReturnType<typeof recallTool> }>().toExtend<NonNullable<AgentConfig["tools"]>>();
  });

  it("a list of each SDK can be synced as it is", () => {
    type List<P extends "anthropic" | "openai-chat" | "openai-responses"> = Parameters<Context<P>["sync"]>[0];
    expectTypeOf<Anthropic.MessageParam[]>().toExtend<List<"anthropic">>();
    expectTypeOf<OpenAI.ChatCompletionMessageParam[]>().toExtend<List<"openai-chat">>();
    expectTypeOf<OpenAI.Responses.ResponseInputItem[]>().toExtend<List<"openai-responses">>();
    expectTypeOf<OpenAI.Responses.ResponseInputItem[]>().not.toExtend<List<"anthropic">>();
  });
});
