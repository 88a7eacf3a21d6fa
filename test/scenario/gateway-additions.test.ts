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

describe("a count whose additions the upstream does not know", () => {
  const messages = [{ role: "user", content: "Go." }];
  const { max_tokens: _limit, ...counted } = { ...base, messages };
  const path = "/v1/messages/count_tokens";
  const statuses = (): readonly number[] => world.traffic.map(({ status }) => status);

  it.each([
    ["named", ['"block_binding"'], "thinking.block_binding: Extra inputs are not permitted"],
    ["named", ['"recall"'], "tools: Input tag 'recall' does not match any of the expected tags"],
    ["not named", ['"block_binding"', '"recall"'], "Bad request"],
  ])("is sent twice once, and requests are sent as before (%s: %j)", async (_, parts, message) => {
    const answer = async (request: Request) => {
      const text = await request.text();
      return request.url.endsWith("count_tokens") && parts.some((part) => text.includes(part))
        ? refuse(message)
        : undefined;
    };
    await open({ answer });
    await post({ ...base, messages });
    for (let nth = 0; nth < 3; nth += 1) expect(await post(counted, path)).toContain("input_tokens");
    expect(statuses()).toEqual([200, 400, 200, 200, 200]);
    await post({ ...base, messages: [...messages, { role: "assistant", content: "Simulated." }, ...messages] });
    for (const part of parts) expect(JSON.stringify(world.traffic.at(-1)?.body)).toContain(part);
  });

  it("gets any other error at once", async () => {
    const limited = () => Response.json({ type: "error", error: { type: "rate_limit_error" } }, { status: 429 });
    await open({
      answer: (request) => Promise.resolve(request.url.endsWith("count_tokens") ? limited() : undefined),
    });
    await post({ ...base, messages });
    const response = await fetch(`${world.url}${path}`, { method: "POST", headers, body: JSON.stringify(counted) });
    expect([response.status, ...statuses()]).toEqual([429, 200, 429]);
  });
});

describe("an upstream that compresses its replies although it is asked not to", () => {
  const call = { type: "tool_use", id: "toolu_1", name: "recall", input: { query: "gauge" } };
  const message = (content: object, stop_reason: string) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [content],
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  });
  const replies = [message(call, "tool_use"), message({ type: "text", text: "Red." }, "end_turn")];
  const toEvents = ({ content, stop_reason, usage, ...rest }: (typeof replies)[number]): string =>
    [
      { type: "message_start", message: { ...rest, content: [], stop_reason: null, usage } },
      ...content.flatMap((block) => {
        const isCall = "input" in block;
        const delta = isCall
          ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
          : { type: "text_delta", text: "Red." };
        const empty = isCall ? { ...block, input: {} } : { ...block, text: "" };
        return [
          { type: "content_block_start", index: 0, content_block: empty },
          { type: "content_block_delta", index: 0, delta },
          { type: "content_block_stop", index: 0 },
        ];
      }),
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");
  const encoders = {
    gzip: gzipSync,
    deflate: deflateSync,
    "deflate without its head": deflateRawSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
    "gzip, br": (bytes: Buffer) => brotliCompressSync(gzipSync(bytes)),
  } as const;
  const messages = [{ role: "user", content: "Which gauge?" }];

  it.each(
    (["stream", "whole"] as const).flatMap((form) =>
      Object.entries(encoders).map(([name, encode]) => [form, name, encode] as const),
    ),
  )("has its own calls answered, and the client sees none (%s, %s)", async (form, name, encode) => {
    let asked = 0;
    await open({
      answer: async () => {
        const reply = replies[asked++] ?? replies[1];
        const text = reply === undefined ? "" : form === "stream" ? toEvents(reply) : JSON.stringify(reply);
        return new Response(new Uint8Array(encode(Buffer.from(text))), {
          headers: {
            "content-type": form === "stream" ? "text/event-stream" : "application/json",
            "content-encoding": name.replace(/ without.*/, ""),
          },
        });
      },
    });
    const text = await post({ ...base, messages, stream: form === "stream" });
    expect([text.includes("Red."), text.includes("recall")]).toEqual([true, false]);
    expect(world.traffic).toHaveLength(2);
    expect(failures()).toEqual([]);
  });

  it("in a way that can't be undone is not offered tools of ours again", async () => {
    const headersSent = { "content-type": "application/json", "content-encoding": "compress" };
    await open({ answer: async () => new Response("?", { headers: headersSent }) });
    await talk(["One"]);
    const offered = world.traffic.map(({ body }) => JSON.stringify(body["tools"]).includes("recall"));
    expect(offered).toEqual([true, false]);
  });
});

describe("an error that names an addition, but means what the client wrote", () => {
  const rounds = Array.from({ length: 40 }, (_, nth) => [
    { role: "assistant", content: [{ type: "tool_use", id: `toolu_${nth}`, name: "read", input: { nth } }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `toolu_${nth}`, content: `line ${nth} of a result `.repeat(300) }],
    },
  ]).flat();
  const wrong = { type: "text", text: "Go on.", cache_control: { type: "persistent" } };
  const messages = [{ role: "user", content: "Go." }, ...rounds, { role: "user", content: [wrong] }];
  const hasWrongMark = async (request: Request): Promise<boolean> => (await request.text()).includes('"persistent"');

  it.each([
    ["edited", 40_000],
    ["whole", 1_000_000],
  ])("reaches the client after a few tries, and changes no other conversation (%s list)", async (_, contextTokens) => {
    const message = "messages.81.content.0.cache_control.type: Input should be 'ephemeral'";
    await open({
      contextTokens,
      answer: async (request) => ((await hasWrongMark(request)) ? refuse(message) : undefined),
    });
    // The client's own marks make way in an edited list: then the upstream has nothing to refuse.
    await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body: JSON.stringify({ ...base, messages }) });
    expect(world.traffic.length).toBeLessThanOrEqual(6);
    await post({ ...base, messages: [{ role: "user", content: "Another one." }] });
    expect(JSON.stringify(world.traffic.at(-1)?.body)).toMatch(/"system":\[\{[^}]*"cache_control"/);
  });

  it("ends also if every request is refused", async () => {
    const message = "messages.81.content.0.cache_control.type: Input should be 'ephemeral'";
    await open({ contextTokens: 40_000, answer: () => Promise.resolve(refuse(message)) });
    const body = JSON.stringify({ ...base, messages });
    const reply = await fetch(`${world.url}/v1/messages`, { method: "POST", headers, body });
    expect([reply.status, world.traffic.length <= 8]).toEqual([400, true]);
  });
});

it("a first request that is refused late takes nothing from a request that was answered meanwhile", async () => {
  const refusal = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await open({
    answer: async (request) => {
      if (!(await request.text()).includes("Slow")) return undefined;
      arrived.resolve();
      await refusal.promise;
      return refuse("model: not found");
    },
  });
  const send = (content: string) =>
    fetch(`${world.url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "x-palimpsest-session": "one" },
      body: JSON.stringify({ ...base, messages: [{ role: "user", content }] }),
    });
  const slow = send("Slow");
  await arrived.promise;
  const answered = await send("Fast");
  await answered.text();
  refusal.resolve();
  expect([answered.status, (await slow).status]).toEqual([200, 400]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(world.conversations.conversations().map(({ requests }) => requests)).toEqual([2]);
});

it("a conversation is not forgotten while a reply of it is on its way", async () => {
  const answer = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await open({
    answer: async () => {
      arrived.resolve();
      await answer.promise;
      return undefined;
    },
  });
  const sent = post({ ...base, messages: [{ role: "user", content: "Go." }] });
  await arrived.promise;
  const ids = world.conversations.conversations().map(({ id }) => id);
  expect(await world.conversations.forget(ids)).toBe("running");
  answer.resolve();
  await sent;
  await expect.poll(() => world.conversations.forget(ids)).toBe("forgotten");
  expect(world.conversations.conversations()).toEqual([]);
});
