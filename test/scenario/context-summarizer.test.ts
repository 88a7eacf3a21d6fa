import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import {
  type Context,
  type ContextOptions,
  openContext,
  type Params,
  type Provider,
  type Reply,
} from "../../packages/palimpsest/src/index.ts";
import { type Responder, extractResponder, Simulator, simulatorFetch } from "../../packages/simulator/src/index.ts";

/** Talks at length, and writes a summary where it is asked for one. */
const talker: Responder = {
  name: "talker",
  respond: (input) =>
    JSON.stringify(input.request.messages.at(-1)).includes("<summary>")
      ? extractResponder.respond(input)
      : { move: { kind: "say", blocks: [{ type: "text", text: "I looked at many things. ".repeat(300) }] } },
};

/** How a conversation was compacted, and how often its summarizer was asked. */
async function compacted<P extends Provider>(
  options: Pick<ContextOptions<P>, "model" | "provider">,
  ask: (params: Params<P>) => Promise<Reply<P>>,
): Promise<readonly [path: string, asked: number]> {
  let [path, asked] = ["none", 0];
  const context: Context<P> = await openContext<P>({
    ...options,
    contextTokens: 60_000,
    summarizer: ({ params }) => {
      asked += 1;
      return ask(params);
    },
    onEvent: (event) => {
      if (event.kind === "compacted") ({ path } = event);
    },
  });
  for (let task = 0; task < 6; task += 1) {
    await context.user(`Task ${task}`);
    await context.assistant(await ask((await context.next()).params));
  }
  await context.compact();
  await context.close();
  return [path, asked];
}

const sdk = () => ({ apiKey: "k", maxRetries: 0, fetch: simulatorFetch(new Simulator({ responder: talker })) });

it("the conversation's own model is asked for its summary once, by a fork that reads what is cached: Messages API", async () => {
  const client = new Anthropic(sdk());
  const options = { model: "claude-sonnet-5-5" };
  expect(await compacted<"anthropic">(options, (params) => client.messages.create(params))).toEqual(["fork", 1]);
});

it("… chat completions", async () => {
  const client = new OpenAI(sdk());
  const options = { model: "gpt-4o", provider: "openai-chat" } as const;
  expect(await compacted(options, (params) => client.chat.completions.create(params))).toEqual(["fork", 1]);
});

it("… Responses API", async () => {
  const client = new OpenAI(sdk());
  const options = { model: "gpt-4o", provider: "openai-responses" } as const;
  expect(await compacted(options, (params) => client.responses.create(params))).toEqual(["fork", 1]);
});

it("a summary that breaks off at its limit is asked for once, and what it cost is told by the event and the receipt", async () => {
  const client = new Anthropic(sdk());
  const warnings: string[] = [];
  let asked = 0;
  const context = await openContext({
    model: "claude-sonnet-5-5",
    contextTokens: 60_000,
    outputTokensMax: 3_000,
    summarizer: async ({ params }) => {
      asked += 1;
      const reply = await client.messages.create(params);
      const content = [
        { type: "text" as const, text: "<summary>\n1. Primary Request and Intent:\nMany", citations: null },
      ];
      return { ...reply, content, stop_reason: "max_tokens", usage: { ...reply.usage, output_tokens: 3_000 } };
    },
    onEvent: (event) =>
      void (event.kind === "warning" && event.code === "summary-unused" && warnings.push(event.message)),
  });
  for (let task = 0; task < 6; task += 1) {
    await context.user(`Task ${task}`);
    await context.assistant(await client.messages.create((await context.next()).params));
  }
  expect(await context.compact()).toMatchObject({ kind: "compacted" });
  expect(asked).toBe(1);
  const told = /^A call for a summary is paid for and not used: .*its reply reached its limit of tokens/;
  expect(warnings).toEqual([expect.stringMatching(told)]);
  expect(context.receipts().at(-1)).toMatchObject({ because: expect.stringMatching(told) as string });
  await context.close();
});
