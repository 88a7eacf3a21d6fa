import Anthropic from "@anthropic-ai/sdk";
import { withContext } from "../../packages/palimpsest/src/adapter/anthropic/with-context.ts";
import {
  earlierRounds,
  instantFetch,
  messagesReply,
  replyText,
  quietOptions,
  resultText,
  type StepSubject,
} from "./step-times.ts";

const connect = (): Anthropic => new Anthropic({ apiKey: "none", maxRetries: 0, fetch: instantFetch(messagesReply) });

const round = (at: number): Anthropic.MessageParam[] => [
  ...(at === 0 ? [{ role: "user" as const, content: "Read the files." }] : []),
  {
    role: "assistant",
    content: [{ type: "tool_use", id: `toolu_${at}`, name: "read", input: { path: `src/${at}.ts` } }],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${at}`, content: resultText(at) }] },
];

function stepWith(client: Anthropic): () => Promise<void> {
  const messages = earlierRounds(round);
  return async () => {
    await client.messages.create({ model: "claude-sonnet-5-5", max_tokens: 2_000, messages });
    messages.push({ role: "assistant", content: replyText }, { role: "user", content: resultText(messages.length) });
  };
}

export function anthropicSteps(): readonly StepSubject[] {
  const framework = "Anthropic SDK";
  const wrapped = withContext(connect(), quietOptions);
  return [
    { framework, way: "as it is; its remedies are the server's", kind: "plain", step: stepWith(connect()) },
    { framework, way: "`withContext`", kind: "ours", step: stepWith(wrapped), close: () => wrapped.closeContext() },
  ];
}
