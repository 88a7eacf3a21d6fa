import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  isArray,
  isObject,
  type JsonObject,
  listField,
  parseJson,
  textField,
} from "../../packages/palimpsest/src/schema/json.ts";
import { anyJson } from "../../packages/palimpsest/src/schema/any-json.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { realClients } from "../../scripts/real-clients/clients.ts";
import { clientScenario } from "../../scripts/real-clients/scenario.ts";
import { readRecordedClient, restoreRequest } from "../fixture/gateway-clients/recorded-client.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";

/** A task of so many rounds, of some 1,850 tokens each, in a window that a third of them fills. */
const rounds = 90;
const windowTokens = 60_000;
/** What pi pays with its own compaction: $2.23 for 100 rounds (docs/gateway-clients.md). */
const ownUsdPerRound = 0.0223;

let world: GatewayWorld;
afterEach(() => world.close());

const mark = { type: "ephemeral" };

/** pi's requests: its tools, system prompt and newest message are marked. */
async function runLikePi(url: string): Promise<void> {
  const recorded = readRecordedClient("pi");
  const { path, headers, body } = restoreRequest(recorded, { at: 0, values: {} });
  const parsed = parseJson(body);
  const fixed = isObject(parsed) ? parsed : expect.unreachable();
  const list = [{ role: "user", content: [{ type: "text", text: "Run the probe in the shell." }] }] as JsonObject[];
  for (;;) {
    const newest = list.at(-1);
    const [block] = listField(newest ?? {}, "content");
    const messages = [
      ...list.slice(0, -1),
      { ...newest, content: [{ ...(isObject(block) ? block : {}), cache_control: mark }] },
    ];
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { ...headers, "x-api-key": "none" },
      body: JSON.stringify({ ...fixed, stream: false, messages }),
    });
    expect(response.status).toBe(200);
    const reply = parseJson(await response.text());
    const content = isObject(reply) && isArray(reply["content"]) ? reply["content"] : [];
    const calls = content.filter(isObject).filter((one) => textField(one, "type") === "tool_use");
    if (calls.length === 0) return;
    const at = list.length;
    const lines = Array.from(
      { length: 110 },
      (_, line) => `round ${at}, line ${line} of a long result that fills the window`,
    );
    list.push(
      { role: "assistant", content },
      {
        role: "user",
        content: calls.map((call) => ({
          type: "tool_result",
          tool_use_id: textField(call, "id") ?? "",
          content: lines.join("\n"),
        })),
      },
    );
  }
}

it("a long task in a small window costs less than with the client's own compaction, in few edits", async () => {
  const { model } = readRecordedClient("pi");
  const client = realClients.find(({ name }) => name === "pi");
  if (client === undefined) return expect.unreachable();
  const scenario = clientScenario({ client, model, kind: "compaction", rounds, linesOfResult: 110 });
  world = await openGatewayWorld({
    simulator: { responder: scriptResponder(scenario), seed: 0, models: [{ id: model, windowTokens }] },
    contextTokens: windowTokens,
    reduction: { cacheMarks: "added" },
  });
  await runLikePi(world.url);
  const usd = world.traffic.reduce((sum, one) => sum + one.usd, 0);
  expect(usd).toBeLessThan(0.9 * ownUsdPerRound * rounds);
  const [row] = world.conversations.conversations();
  expect(row?.edits).toBeLessThanOrEqual(6);
  const marks = world.traffic.map(({ bytes }) => Buffer.from(bytes).toString().split('"cache_control"').length - 1);
  expect(Math.max(...marks)).toBeLessThanOrEqual(4);
}, 60_000);

describe("a long task with a model that caches up to breakpoints", () => {
  const model = "gpt-5.6-sol";
  const openAiRounds = 60;
  const instructions = "You run commands in the shell, one at a time. ".repeat(120);
  const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
  const tools = [{ type: "function", name: "bash", description: "Runs a command.", parameters, strict: false }];

  function openAiWorld(answer?: (request: Request) => Promise<Response | undefined>): Promise<GatewayWorld> {
    const client = realClients.find(({ name }) => name === "openai-responses") ?? expect.unreachable();
    const scenario = clientScenario({ client, model, kind: "compaction", rounds: openAiRounds, linesOfResult: 110 });
    return openGatewayWorld({
      simulator: { responder: scriptResponder(scenario), seed: 0, models: [{ id: model, windowTokens }] },
      contextTokens: windowTokens,
      reduction: { cacheMarks: "added" },
      ...(answer === undefined ? {} : { answer }),
    });
  }

  /** The tokens of each prompt that were not read from the cache. */
  async function runResponses(url: string): Promise<readonly number[]> {
    const input: JsonObject[] = [{ role: "user", content: "Run the probe in the shell." }];
    const uncached: number[] = [];
    for (;;) {
      const response = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer none" },
        body: JSON.stringify({ model, instructions, tools, input, store: false }),
      });
      expect(response.status).toBe(200);
      const reply = responsesReply.parse(parseJson(await response.text()));
      uncached.push(reply.usage.input_tokens - reply.usage.input_tokens_details.cached_tokens);
      const calls = reply.output.filter((item) => textField(item, "type") === "function_call");
      if (calls.length === 0) return uncached;
      const lines = Array.from({ length: 110 }, (_, line) => `round ${input.length}, line ${line} of a long result`);
      const results = calls.map((call) => ({
        type: "function_call_output",
        call_id: textField(call, "call_id") ?? "",
        output: lines.join("\n"),
      }));
      input.push(...calls, ...results);
    }
  }

  const edits = (): number => world.conversations.conversations()[0]?.edits ?? 0;

  it("writes only what stands behind an edit again", async () => {
    world = await openAiWorld();
    const uncached = await runResponses(world.url);
    expect(edits()).toBeGreaterThanOrEqual(2);
    expect(Math.max(...uncached)).toBeLessThan(8_000);
    const marks = world.traffic.map(
      ({ bytes }) => Buffer.from(bytes).toString().split("prompt_cache_breakpoint").length - 1,
    );
    expect(new Set(marks)).toEqual(new Set([0, 1]));
  }, 60_000);

  it("goes on without breakpoints at a server that does not know them", async () => {
    world = await openAiWorld(async (request) =>
      (await request.text()).includes("prompt_cache_breakpoint")
        ? Response.json({ error: { message: "Unknown parameter: 'prompt_cache_breakpoint'." } }, { status: 400 })
        : undefined,
    );
    await runResponses(world.url);
    expect(edits()).toBeGreaterThanOrEqual(2);
    expect(world.traffic.filter(({ status }) => status !== 200)).toHaveLength(1);
    expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
  }, 60_000);
});

const responsesReply = z.object({
  output: z.array(z.record(z.string(), anyJson)),
  usage: z.object({
    input_tokens: z.number(),
    // Numbers only, as the Agents SDK takes them: what a breakpoint adds is not for a client that set none.
    input_tokens_details: z.record(z.string(), z.number()).and(z.object({ cached_tokens: z.number() })),
  }),
});
