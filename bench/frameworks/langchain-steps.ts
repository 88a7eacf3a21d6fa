import { ChatAnthropic } from "@langchain/anthropic";
import {
  type AgentMiddleware,
  AIMessage,
  type BaseMessage,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  HumanMessage,
  ToolMessage,
} from "langchain";
import { contextMiddleware } from "../../packages/palimpsest/src/adapter/langchain/context-middleware.ts";
import { summarizing } from "./langchain.ts";
import {
  earlierRounds,
  farTokens,
  instantFetch,
  messagesReply,
  quietOptions,
  resultText,
  type StepSubject,
} from "./step-times.ts";

const connect = (): ChatAnthropic =>
  new ChatAnthropic({
    model: "claude-sonnet-4-5",
    apiKey: "none",
    maxRetries: 0,
    maxTokens: 2_000,
    clientOptions: { fetch: instantFetch(messagesReply) },
  });

function round(at: number): readonly BaseMessage[] {
  const call = { id: `toolu_${at}`, name: "read", args: { path: `src/${at}.ts` } };
  return [
    new AIMessage({ id: `ai_${at}`, content: "", tool_calls: [call] }),
    new ToolMessage({ id: `tool_${at}`, tool_call_id: call.id, content: resultText(at) }),
  ];
}

function stepWith(...middleware: AgentMiddleware[]): () => Promise<void> {
  const agent = createAgent({ model: connect(), tools: [], middleware });
  let messages: BaseMessage[] = [
    new HumanMessage({ id: "human", content: "Read the files." }),
    ...earlierRounds(round),
  ];
  return async () => {
    const state = await agent.invoke({ messages });
    const count = state.messages.length;
    // The id of the instant reply is always the same, and the state would replace the earlier one.
    const replies = state.messages
      .slice(messages.length)
      .map(({ text }) => new AIMessage({ id: `reply_${count}`, content: text }));
    messages = [...messages, ...replies, new HumanMessage({ id: `human_${count}`, content: resultText(count) })];
  };
}

export function langchainSteps(): readonly StepSubject[] {
  const framework = "LangChain";
  const edits = [new ClearToolUsesEdit({ trigger: { tokens: farTokens } })];
  const summary = summarizing({ model: connect(), trigger: { tokens: farTokens } });
  const ours = contextMiddleware(quietOptions);
  return [
    { framework, way: "as it is", kind: "plain", step: stepWith() },
    { framework, way: "`contextEditingMiddleware`", kind: "own", step: stepWith(contextEditingMiddleware({ edits })) },
    { framework, way: "`summarizationMiddleware`", kind: "own", step: stepWith(summary) },
    { framework, way: "`contextMiddleware`", kind: "ours", step: stepWith(ours), close: () => ours.closeContexts() },
  ];
}
