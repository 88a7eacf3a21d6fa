import { createAnthropic } from "@ai-sdk/anthropic";
import {
  generateText,
  type LanguageModel,
  type ModelMessage,
  type PrepareStepFunction,
  pruneMessages,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import { contextMiddleware } from "../../packages/palimpsest/src/adapter/ai-sdk/context-middleware.ts";
import { contextStep } from "../../packages/palimpsest/src/adapter/ai-sdk/context-step.ts";
import {
  earlierRounds,
  instantFetch,
  messagesReply,
  quietOptions,
  resultText,
  type StepSubject,
} from "./step-times.ts";

const connect = () => createAnthropic({ apiKey: "none", fetch: instantFetch(messagesReply) })("claude-sonnet-5-5");

function round(at: number): readonly ModelMessage[] {
  const call = { toolCallId: `toolu_${at}`, toolName: "read" };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: { path: `src/${at}.ts` } }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: resultText(at) } }] },
  ];
}

function stepWith(model: LanguageModel, prepareStep?: PrepareStepFunction<ToolSet>): () => Promise<void> {
  const messages: ModelMessage[] = [{ role: "user", content: "Read the files." }, ...earlierRounds(round)];
  const options = { model, messages, maxRetries: 0, maxOutputTokens: 2_000 };
  return async () => {
    const { responseMessages } = await generateText(prepareStep === undefined ? options : { ...options, prepareStep });
    messages.push(...responseMessages, { role: "user", content: resultText(messages.length) });
  };
}

/** So many messages that none is pruned, as with the others. */
const prune: PrepareStepFunction<ToolSet> = ({ messages }) => ({
  messages: pruneMessages({ messages, toolCalls: "before-last-1000-messages" }),
});

export function aiSdkSteps(): readonly StepSubject[] {
  const framework = "AI SDK";
  const middleware = contextMiddleware(quietOptions);
  const wrapped = wrapLanguageModel({ model: connect(), middleware });
  const { prepareStep, closeContext } = contextStep(quietOptions);
  return [
    { framework, way: "as it is", kind: "plain", step: stepWith(connect()) },
    { framework, way: "`pruneMessages`", kind: "own", step: stepWith(connect(), prune) },
    {
      framework,
      way: "`contextMiddleware`",
      kind: "ours",
      step: stepWith(wrapped),
      close: () => middleware.closeContext(),
    },
    { framework, way: "`contextStep`", kind: "ours", step: stepWith(connect(), prepareStep), close: closeContext },
  ];
}
