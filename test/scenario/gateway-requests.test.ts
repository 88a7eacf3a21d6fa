import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";

let world: GatewayWorld;
afterEach(() => world.close());

const model = "claude-sonnet-4-5";
const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];

async function post(path: string, body: JsonObject, more: Readonly<Record<string, string>> = {}): Promise<number> {
  const init = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
  const response = await fetch(`${world.url}${path}`, init);
  await response.text();
  return response.status;
}

/** A conversation of about 30,000 tokens. */
const talk: readonly JsonObject[] = Array.from({ length: 15 }, (_, at) => [
  { role: "user", content: `question ${at} `.repeat(300) },
  { role: "assistant", content: `answer ${at} `.repeat(300) },
]).flat();

const last = () => world.traffic.at(-1)?.body ?? {};
const failures = () => world.events.filter(({ kind }) => kind === "failed-open");

describe("the limit of a reply", () => {
  it("is the newest request's, whatever an earlier one asked for", async () => {
    world = await openGatewayWorld({ simulator: { seed: 1 } });
    const messages: JsonObject[] = [{ role: "user", content: "Begin." }];
    await post("/v1/messages", { model, tools, messages, max_tokens: 1_000 });
    await post("/v1/messages", { model, tools, messages, max_tokens: 32_000 });
    expect(last()["max_tokens"]).toBe(32_000);
    await post("/v1/chat/completions", { model: "gpt-4.1", messages });
    await post("/v1/chat/completions", { model: "gpt-4.1", messages, max_completion_tokens: 30_000 });
    expect(last()["max_completion_tokens"]).toBe(30_000);
    expect(failures()).toEqual([]);
  });

  it("is lowered to the room in the window, and a budget for thinking with it", async () => {
    world = await openGatewayWorld({ simulator: { seed: 1 }, contextTokens: 60_000, reduction: { recall: "off" } });
    const messages = [{ role: "user", content: "word ".repeat(16_000) }];
    const thinking = { type: "enabled", budget_tokens: 31_999 };
    expect(await post("/v1/messages", { model, messages, thinking, max_tokens: 32_000 })).toBe(200);
    expect(last()).toMatchObject({ thinking: { type: "enabled", budget_tokens: 15_999 } });
    expect(last()["max_tokens"]).toBeLessThan(31_000);
    expect(world.traffic).toHaveLength(1);
    expect(failures()).toEqual([]);
  });
});

describe("the window", () => {
  it("is that of the model of the newest request", async () => {
    const windows = new Map([["claude-haiku-4-5", 20_000]]);
    const contextTokens = (name: string) => windows.get(name);
    world = await openGatewayWorld({ simulator: { seed: 1 }, reduction: { contextTokens } });
    await post("/v1/messages", {
      model,
      tools,
      messages: [...talk, { role: "user", content: "So?" }],
      max_tokens: 1_000,
    });
    const whole = JSON.stringify(last()["messages"]).length;
    await post("/v1/messages", {
      model: "claude-haiku-4-5",
      tools,
      messages: [...talk, { role: "user", content: "And so?" }],
      max_tokens: 1_000,
    });
    expect(JSON.stringify(last()["messages"]).length).toBeLessThan(whole * 0.6);
    expect(failures()).toEqual([]);
  });
});

describe("own tools", () => {
  const read = { type: "function", name: "read", parameters: { type: "object" } };
  const queued = { id: "resp_1", object: "response", status: "queued", background: true, output: [] };
  const choice = (index: number) => ({ index, finish_reason: "stop", message: { role: "assistant", content: "Yes." } });
  const choices = { id: "chat_1", object: "chat.completion", choices: [choice(0), choice(1)] };

  it("are not offered if the client gets its reply elsewhere, or several: it would see their calls", async () => {
    const bodyByPath = new Map<string, object>([
      ["/v1/responses", queued],
      ["/v1/chat/completions", choices],
    ]);
    world = await openGatewayWorld({
      simulator: { seed: 1 },
      answer: async ({ url }) => Response.json(bodyByPath.get(new URL(url).pathname)),
    });
    const input = [{ role: "user", content: "Begin." }];
    const toolNames = async (path: string, body: JsonObject) => {
      await post(path, body);
      return JSON.stringify(last()["tools"]).match(/"name":"\w+"/g);
    };
    const response = { model: "gpt-5.2", input, tools: [read] };
    const chat = { model: "gpt-4.1", messages: input, tools: [{ type: "function", function: read }] };
    expect(await toolNames("/v1/responses", { ...response, background: true })).toEqual(['"name":"read"']);
    expect(await toolNames("/v1/responses", response)).toHaveLength(2);
    expect(await toolNames("/v1/responses", { ...response, background: true })).toEqual(['"name":"read"']);
    expect(await toolNames("/v1/chat/completions", { ...chat, n: 2 })).toEqual(['"name":"read"']);
    expect(await toolNames("/v1/chat/completions", { ...chat, n: 1 })).toHaveLength(2);
    expect(failures()).toEqual([]);
  });
});

describe('a summary of the conversation\'s own model (`summarizer: "own"`)', () => {
  const text = "<analysis>So.</analysis><summary>## 1. Primary Request and Intent\nThe gauge is blue.</summary>";
  const responder: Responder = {
    name: "summary",
    respond: async () => ({ move: { kind: "say", blocks: [{ type: "text", text }] } }),
  };
  const summaries = () =>
    world.traffic
      .filter(({ body }) => JSON.stringify(body["system"] ?? "").includes("You write summaries"))
      .map(({ path, status, headers: sent }) => ({ path, status, key: sent.get("x-api-key") }));
  const begin = async () => {
    world = await openGatewayWorld({
      simulator: { responder, seed: 1 },
      contextTokens: 20_000,
      exchange: { summarizer: "own" },
    });
    const first = { model, tools, messages: talk.slice(0, 1), max_tokens: 1_000 };
    await post("/v1/messages", first, { "x-api-key": "old" });
  };
  const next = { model, tools, messages: [...talk, { role: "user", content: "So?" }] };

  it("is asked for with the credentials of the request that made it necessary", async () => {
    await begin();
    expect(await post("/v1/messages", { ...next, max_tokens: 1_000 }, { "x-api-key": "new" })).toBe(200);
    expect(summaries()).toEqual([{ path: "/v1/messages", status: 200, key: "new" }]);
    expect(JSON.stringify(last()["messages"])).toContain("The gauge is blue.");
    expect(failures()).toEqual([]);
  });

  it("is made by no count: the request after it makes it", async () => {
    await begin();
    await world.reopen();
    expect(await post("/v1/messages/count_tokens", next, { "x-api-key": "new" })).toBe(200);
    expect(summaries()).toEqual([]);
    await post("/v1/messages", { ...next, max_tokens: 1_000 }, { "x-api-key": "new" });
    expect(summaries()).toEqual([{ path: "/v1/messages", status: 200, key: "new" }]);
    expect(JSON.stringify(last()["messages"])).toContain("The gauge is blue.");
    expect(failures()).toEqual([]);
  });
});

describe('`usage: "sent"`', () => {
  const ask = async (path: string, body: JsonObject) => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return usageShape.parse(await (await fetch(`${world.url}${path}`, init)).json());
  };
  /** What the client is told, as a share of what its own list has, as the upstream counts it. */
  const tell = async (messages: readonly JsonObject[]): Promise<number> => {
    const { usage } = await ask("/v1/messages", { model, tools, messages, max_tokens: 1_000 });
    const counted = await ask("/v1/messages/count_tokens", { model, tools, messages });
    expect(last()["messages"]).toEqual(messages);
    return sumInput(usage) / (counted.input_tokens ?? 0);
  };
  const open = async (recall: "on" | "off") => {
    const exchange = { usage: "sent" } as const;
    world = await openGatewayWorld({ simulator: { seed: 1 }, contextTokens: 20_000, reduction: { recall }, exchange });
  };
  const sentChars = (): number => JSON.stringify(world.traffic.at(-2)?.body["messages"]).length;

  it("tells what the client's own list would have used, within 20 % of a count of it if nothing was sent before", async () => {
    await open("off");
    const messages = [...talk, { role: "user", content: "So?" }];
    const share = await tell(messages);
    expect(sentChars()).toBeLessThan(JSON.stringify(messages).length / 2);
    expect(share).toBeGreaterThan(0.85);
    expect(share).toBeLessThan(1.2);
  });

  it.each(["on", "off"] as const)("does so in every round of a long task, within 3 % (recall %s)", async (recall) => {
    await open(recall);
    const results = [
      (at: number) => `line ${at} of the file says little\n`.repeat(120),
      (at: number) =>
        JSON.stringify(Array.from({ length: 60 }, (_, n) => ({ id: n * at, name: `row ${n}`, ok: true }))),
      (at: number) => Array.from({ length: 300 }, (_, n) => (n * 7_919 * (at + 1)) % 100_003).join(" "),
    ];
    const messages: JsonObject[] = [{ role: "user", content: "Read everything." }];
    const shares: number[] = [];
    for (let at = 0; at < 40; at += 1) {
      shares.push(await tell(messages));
      const id = `toolu_${at}`;
      messages.push(
        { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: { at } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: results[at % 3]?.(at) ?? "" }] },
      );
    }
    expect(sentChars()).toBeLessThan(JSON.stringify(messages).length / 2);
    const errors = shares.map((share) => Math.abs(share - 1));
    expect(Math.max(...errors)).toBeLessThan(0.03);
  });

  it('a count with `usage: "used"` is of what would be sent', async () => {
    world = await openGatewayWorld({ simulator: { seed: 1 }, contextTokens: 20_000, reduction: { recall: "off" } });
    const next = { model, tools, messages: [...talk, { role: "user", content: "So?" }] };
    await post("/v1/messages", { ...next, max_tokens: 1_000 });
    const sent = last()["messages"];
    await post("/v1/messages/count_tokens", next);
    expect([world.traffic.at(-1)?.path, last()["messages"]]).toEqual(["/v1/messages/count_tokens", sent]);
  });
});

const inputShape = z.object({
  input_tokens: z.number(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
});
const usageShape = z.object({
  input_tokens: z.number().optional(),
  usage: inputShape.optional(),
});

const sumInput = (usage: z.infer<typeof inputShape> | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.cache_read_input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0);
