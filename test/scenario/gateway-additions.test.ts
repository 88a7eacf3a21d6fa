import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";

let world: GatewayWorld;
afterEach(() => world.close());

const model = "claude-sonnet-5-5";
const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];
const base = { model, max_tokens: 100, system: "You fix.", tools, thinking: { type: "adaptive" } };
const failures = () => world.events.filter(({ kind }) => kind === "failed-open");
const refuse = (message: string): Response =>
  Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });

const open = async (options: Partial<GatewayWorldOptions> = {}): Promise<void> => {
  world = await openGatewayWorld({ simulator: { seed: 1 }, reduction: { cacheMarks: "added" }, ...options });
};

async function post(body: JsonObject | string, path = "/v1/messages"): Promise<string> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${world.url}${path}`, { method: "POST", headers, body: text });
  expect(response.status).toBe(200);
  return await response.text();
}

/** Conversations of two turns each. */
async function talk(words: readonly string[]): Promise<void> {
  for (const content of words) {
    const first = { role: "user", content };
    await post({ ...base, messages: [first] });
    const replied = { role: "assistant", content: "Simulated." };
    await post({ ...base, messages: [first, replied, { role: "user", content: "And?" }] });
  }
}

describe("an addition that an upstream does not know", () => {
  const isTopLevel = async (request: Request): Promise<boolean> =>
    /\},"cache_control":\{"type":"ephemeral"\}\}$|\],"cache_control":/.test(await request.text());

  it("is left out of all conversations from then on, if the refusal names it: one request is doubled", async () => {
    const message = "#: extraneous key [cache_control] is not permitted";
    await open({ answer: async (request) => ((await isTopLevel(request)) ? refuse(message) : undefined) });
    await talk(["One", "Two"]);
    expect(world.traffic.map(({ status }) => status)).toEqual([400, 200, 200, 200, 200]);
    expect(failures()).toEqual([]);
    // What the upstream takes is still sent.
    expect(JSON.stringify(world.traffic.at(-1)?.body)).toMatch(/"system":\[\{[^}]*"cache_control".*"name":"recall"/);
  });

  it.each([
    ["block_binding", "thinking.block_binding: Extra inputs are not permitted"],
    ["thinking-binding", "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header"],
    ['"recall"', "tools: Input tag 'recall' does not match any of the expected tags"],
  ])("also %s", async (part, message) => {
    const holds = async (request: Request): Promise<boolean> =>
      (await request.text()).includes(part) || (request.headers.get("anthropic-beta") ?? "").includes(part);
    await open({ answer: async (request) => ((await holds(request)) ? refuse(message) : undefined) });
    await talk(["One", "Two"]);
    expect(world.traffic.map(({ status }) => status)).toEqual([400, 200, 200, 200, 200]);
    expect(failures()).toEqual([]);
  });

  it("is found one after the other if the refusal names none, by the client's own request", async () => {
    const answer = async (request: Request) =>
      (await request.text()).includes('"recall"') ? refuse("Bad request") : undefined;
    await open({ answer });
    await talk(["One", "Two", "Three", "Four"]);
    const refused = world.traffic.filter(({ status }) => status === 400);
    expect(refused.length).toBeLessThanOrEqual(4);
    expect(world.traffic.slice(-3).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(failures()).toHaveLength(refused.length);
  });
});
