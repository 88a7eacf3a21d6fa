import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/index.ts";
import { extractResponder, type Responder, Simulator, simulatorFetch } from "../../packages/simulator/src/index.ts";

const isSummaryRequest = (messages: readonly unknown[]): boolean =>
  JSON.stringify(messages.at(-1)).includes("<summary>");

it("a summary that is prepared in the background knows every result, and the newest stays in the next request", async () => {
  let round = 0;
  const responder: Responder = {
    name: "worker",
    respond: (input) => {
      if (isSummaryRequest(input.request.messages)) return extractResponder.respond(input);
      round += 1;
      const block = { type: "tool_use", name: "read", input: { path: `src/${round}.ts` } } as const;
      return { move: { kind: "say", blocks: [block] } };
    },
  };
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(new Simulator({ responder })) });
  const summarized: string[] = [];
  const context = await openContext({
    model: "claude-sonnet-5-5",
    tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
    contextTokens: 30_000,
    summarizer: async ({ params, signal }) => {
      summarized.push(JSON.stringify(params.messages));
      return await client.messages.create(params, { signal });
    },
  });
  await context.user("Read all files.");
  const unseen: number[] = [];
  while (round < 60) {
    const { params } = await context.next();
    if (round > 0 && !JSON.stringify(params.messages).includes(`value_${round}_`)) unseen.push(round);
    for (const call of await context.assistant(await client.messages.create(params))) {
      // Long enough for a summary that is prepared meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 5));
      const lines = Array.from({ length: 125 + ((round * 7) % 10) * 25 }, (_, at) => `const value_${round}_${at} = 1;`);
      await context.toolResult(call.id, lines.join("\n"));
    }
  }
  await context.close();
  expect(summarized.length).toBeGreaterThan(0);
  expect(summarized.filter((messages) => messages.includes("interrupted"))).toEqual([]);
  expect(unseen).toEqual([]);
});
