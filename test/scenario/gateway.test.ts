import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { afterEach, describe, expect, it } from "vitest";
import {
  editFile,
  outputTokens,
  prompt,
  readFileText,
  scriptedModel,
  systemPrompt,
  windowTokens,
} from "../../bench/frameworks/task.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";

const model = "claude-sonnet-5-5";
let world: GatewayWorld;
afterEach(() => world.close());

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

const models = [{ id: model, windowTokens, outputTokensMax: outputTokens }];

async function openTask(options: Partial<GatewayWorldOptions> = {}) {
  const { responder, record } = scriptedModel();
  world = await openGatewayWorld({
    simulator: { responder, models, seed: 1 },
    contextTokens: windowTokens,
    ...options,
  });
  return { record, client: new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url }) };
}

const task = {
  model,
  max_tokens: outputTokens,
  system: systemPrompt,
  tools,
  messages: [{ role: "user" as const, content: prompt }],
  cache_control: { type: "ephemeral" as const },
  max_iterations: 200,
};

describe("an agent that sets its base URL", () => {
  it.each(["stream", "whole"] as const)(
    "finishes a task that does not fit the window, unchanged (%s)",
    async (form) => {
      const { client, record } = await openTask();
      if (form === "stream")
        for await (const stream of client.beta.messages.toolRunner({ ...task, thread: false, stream: true }))
          await stream.finalMessage();
      else await client.beta.messages.toolRunner({ ...task, thread: false });
      const refused = world.traffic.filter(({ status }) => status >= 400);
      expect({ finished: record.finished, wrong: record.editsWrong, refused: refused.length }).toEqual({
        finished: true,
        wrong: 0,
        refused: 0,
      });
      expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
      const [, ...others] = world.conversations.conversations();
      expect(others).toEqual([]);
    },
  );
});
