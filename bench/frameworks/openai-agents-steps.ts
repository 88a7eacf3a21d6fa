import {
  Agent,
  type AgentInputItem,
  type ModelProvider,
  MemorySession,
  OpenAIProvider,
  OpenAIResponsesCompactionSession,
  Runner,
  type Session,
} from "@openai/agents";
import OpenAI from "openai";
import { withContext } from "../../packages/palimpsest/src/adapter/openai-agents/with-context.ts";
import { responsesReply } from "./openai-steps.ts";
import { earlierRounds, farTokens, instantFetch, quietOptions, resultText, type StepSubject } from "./step-times.ts";

const model = "gpt-5";
const connect = (): OpenAI => new OpenAI({ apiKey: "none", maxRetries: 0, fetch: instantFetch(responsesReply) });

const round = (at: number): AgentInputItem[] => [
  {
    type: "function_call",
    callId: `call_${at}`,
    name: "read",
    arguments: `{"path":"src/${at}.ts"}`,
    status: "completed",
  },
  {
    type: "function_call_result",
    callId: `call_${at}`,
    name: "read",
    status: "completed",
    output: { type: "text", text: resultText(at) },
  },
];

const initialItems = (): AgentInputItem[] => [{ role: "user", content: "Read the files." }, ...earlierRounds(round)];

function stepWith(provider: ModelProvider, session: Session): () => Promise<void> {
  const agent = new Agent({ name: "programmer", model, modelSettings: { store: false } });
  const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
  let steps = 0;
  return async () => {
    if (steps === 0) await session.addItems(initialItems());
    steps += 1;
    await runner.run(agent, resultText(steps), { session });
  };
}

export function openaiAgentsSteps(): readonly StepSubject[] {
  const framework = "OpenAI Agents SDK";
  const provider = new OpenAIProvider({ openAIClient: connect() });
  const compacting = new OpenAIResponsesCompactionSession({
    client: connect(),
    model,
    shouldTriggerCompaction: ({ sessionItems }) => JSON.stringify(sessionItems).length / 3 > farTokens,
  });
  const wrapped = withContext(new MemorySession(), quietOptions);
  return [
    { framework, way: "as it is", kind: "plain", step: stepWith(provider, new MemorySession()) },
    {
      framework,
      way: "`OpenAIResponsesCompactionSession`",
      kind: "own",
      step: stepWith(provider, compacting),
    },
    {
      framework,
      way: "`withContext`",
      kind: "ours",
      step: stepWith(wrapped.wrapProvider(provider), wrapped),
      close: () => wrapped.closeContext(),
    },
  ];
}
