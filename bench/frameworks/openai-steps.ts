import OpenAI from "openai";
import { withContext } from "../../packages/palimpsest/src/adapter/openai/with-context.ts";
import { earlierRounds, instantFetch, replyText, quietOptions, resultText, type StepSubject } from "./step-times.ts";

const model = "gpt-5";
export const responsesReply = {
  id: "resp_1",
  object: "response",
  model,
  status: "completed",
  output: [
    {
      id: "item_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: replyText, annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 200_000,
    output_tokens: 10,
    total_tokens: 200_010,
    input_tokens_details: { cached_tokens: 0 },
  },
};

const connect = (): OpenAI => new OpenAI({ apiKey: "none", maxRetries: 0, fetch: instantFetch(responsesReply) });

const round = (at: number): OpenAI.Responses.ResponseInputItem[] => [
  { type: "function_call", call_id: `call_${at}`, name: "read", arguments: `{"path":"src/${at}.ts"}` },
  { type: "function_call_output", call_id: `call_${at}`, output: resultText(at) },
];

function stepWith(client: OpenAI): () => Promise<void> {
  const input: OpenAI.Responses.ResponseInputItem[] = [
    { role: "user", content: "Read the files." },
    ...earlierRounds(round),
  ];
  return async () => {
    const { output } = await client.responses.create({ model, input, store: false });
    for (const item of output) if (item.type === "message") input.push(item);
    input.push({ role: "user", content: resultText(input.length) });
  };
}

export function openaiSteps(): readonly StepSubject[] {
  const framework = "OpenAI SDK";
  const wrapped = withContext(connect(), { provider: "openai-responses", ...quietOptions });
  return [
    { framework, way: "as it is; its remedy is the server's", kind: "plain", step: stepWith(connect()) },
    { framework, way: "`withContext`", kind: "ours", step: stepWith(wrapped), close: () => wrapped.closeContext() },
  ];
}
