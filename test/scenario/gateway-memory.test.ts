import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";
import { playing, says } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
let world: GatewayWorld;
afterEach(() => world.close());

const memory = (input: JsonObject): MoveBlock => ({ type: "tool_use", name: "memory", input });
const fact = {
  command: "save",
  name: "Indent",
  description: "How code is indented",
  type: "feedback",
  text: "Two spaces.",
};

async function open(moves: readonly (readonly MoveBlock[])[], options: Partial<GatewayWorldOptions> = {}) {
  world = await openGatewayWorld({
    simulator: { responder: playing(...moves), seed: 1 },
    reduction: { memory: "on" },
    ...options,
  });
  const client = new Anthropic({
    apiKey: "none",
    maxRetries: 0,
    baseURL: world.url,
    defaultHeaders: { "user-agent": "opencode/1.0" },
  });
  const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" as const } }];
  return (more: Partial<Anthropic.Beta.Messages.MessageCreateParamsNonStreaming> = {}) =>
    client.beta.messages.create({
      model,
      max_tokens: 500,
      tools,
      messages: [{ role: "user", content: "Remember." }],
      ...more,
    });
}

/** What the model was given as the results of its calls so far. */
const results = (): string => JSON.stringify(world.traffic.at(-1)?.body["messages"]);
const toolNames = (): readonly unknown[] => {
  const tools = world.traffic[0]?.body["tools"];
  return Array.isArray(tools) ? tools.map((tool) => (tool as { name?: unknown }).name) : [];
};

describe("memory, a tool that only the model sees", () => {
  it("what the model saves is untrusted, has the client's name, and is read back as a quotation", async () => {
    const store = memoryStore();
    const moves = [
      [memory(fact)],
      [memory({ command: "search", query: "how is code indented" })],
      [memory({ command: "read", path: "indent.md" }), memory({ command: "list" })],
      says("Saved."),
    ];
    const ask = await open(moves, { store });
    const reply = await ask();
    expect(reply.content).toMatchObject([{ type: "text", text: "Saved." }]);
    const context = await openContext({ model, store });
    const [saved] = (await context.memory?.list()) ?? [];
    expect(saved).toMatchObject({ name: "Indent", trust: "untrusted", provenance: { client: "opencode" } });
    await context.close();
    expect(results()).toMatch(/Saved as [^ ]+, revision/);
    expect(results()).toContain("untrusted data");
    expect(results()).toContain("> Two spaces.");
    expect(world.traffic.every(({ status }) => status === 200)).toBe(true);
  });

  it("a memory that the user trusts is not replaced, and secrets are refused", async () => {
    const store = memoryStore();
    const context = await openContext({ model, store });
    const draft = { name: "Indent", description: "How code is indented", type: "feedback" as const, body: "Tabs." };
    await context.memory?.save(draft, { trust: "trusted" });
    await context.close();
    const secret = {
      ...fact,
      name: "Key",
      text: `The key is ${["sk", "ant", "api03"].join("-")}-${"a1B2".repeat(24)}.`,
    };
    const ask = await open([[memory(fact)], [memory(secret)], [memory({ command: "burn" })], says("Done.")], { store });
    await ask();
    expect(results()).toContain("only the user changes it");
    expect(results()).toContain("looks like a secret");
    expect(results()).toContain("one of list, read, search and save");
    const later = await openContext({ model, store });
    expect((await later.memory?.list())?.map(({ name }) => name)).toEqual(["Indent"]);
    await later.close();
  });

  it("is not offered unless it is switched on, nor beside a tool of that name", async () => {
    const ask = await open([says("Hi.")], { reduction: {} });
    await ask();
    expect(toolNames()).toEqual(["read", "recall"]);
    await world.close();
    const askAgain = await open([says("Hi.")]);
    await askAgain({ tools: [{ type: "memory_20250818", name: "memory" }] });
    expect(toolNames()).toEqual(["memory", "recall"]);
  });

  it("a client's own tool of the same name is the client's", async () => {
    const call: MoveBlock = { type: "tool_use", name: "recall", input: { what: "tide" } };
    const ask = await open([[call], says("High.")]);
    const tools = [{ name: "recall", description: "The client's.", input_schema: { type: "object" as const } }];
    const first = await ask({ tools });
    expect(first.content).toMatchObject([{ type: "tool_use", name: "recall" }]);
    const id = first.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))[0] ?? "";
    const asked = { role: "user" as const, content: "Remember." };
    const result = { type: "tool_result" as const, tool_use_id: id, content: "It is high." };
    const messages = [
      asked,
      { role: "assistant" as const, content: first.content },
      { role: "user" as const, content: [result] },
    ];
    expect((await ask({ tools, messages })).content).toMatchObject([{ text: "High." }]);
    expect(world.traffic.at(-1)?.body["messages"]).toHaveLength(3);
  });
});
