import { request as httpRequest } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { serveGateway, type ServeGatewayOptions } from "@palimpsest/gateway";
import { readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import type { GatewayEvent } from "@palimpsest/gateway/internal/operate/gateway-event";
import { serveSimulator, Simulator } from "@palimpsest/simulator";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function openGateway(options: Partial<ServeGatewayOptions> = {}) {
  const upstream = await serveSimulator(new Simulator(), { port: 0 });
  if (upstream.kind === "failed") throw new Error(upstream.message);
  closers.push(() => upstream.close());
  const read = readConfig({
    env: {},
    overrides: { port: 0, upstream: { anthropic: upstream.url, openai: `${upstream.url}/v1` } },
  });
  if (read.kind !== "config") throw new Error(read.message);
  const events: GatewayEvent[] = [];
  const gateway = await serveGateway({ config: read.config, onEvent: (event) => events.push(event), ...options });
  if (gateway.kind === "failed") throw new Error(gateway.message);
  closers.push(() => gateway.close());
  return { ...gateway, events, upstream: upstream.url };
}

const message = {
  model: "claude-sonnet-5-5",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Hello." }],
};

describe("clients of the official SDKs", () => {
  it("of Anthropic get streams, whole replies, counts and models through the gateway, as without it", async () => {
    const { url, upstream, events } = await openGateway();
    const [through, direct] = [url, upstream].map((baseURL) => new Anthropic({ baseURL, apiKey: "k", maxRetries: 0 }));
    if (through === undefined || direct === undefined) throw new Error("no client");
    const streamed = await through.messages.stream(message).finalMessage();
    const whole = await through.messages.create(message);
    expect(streamed.content).toEqual(whole.content);
    expect(whole.content).toEqual((await direct.messages.create(message)).content);
    const { max_tokens: _, ...counted } = message;
    expect(await through.messages.countTokens(counted)).toEqual(await direct.messages.countTokens(counted));
    expect((await through.models.list()).data).toEqual((await direct.models.list()).data);
    const ends = events.filter((event) => event.kind === "request-end");
    expect(ends.map(({ operation, status, outcome }) => [operation, status, outcome])).toEqual([
      ["create", 200, "done"],
      ["create", 200, "done"],
      ["count", 200, "done"],
      ["pass", 200, "done"],
    ]);
  });

  it("of OpenAI get chat and responses through the gateway", async () => {
    const { url } = await openGateway();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
    const chat = await client.chat.completions.create({ model: "gpt-5.5", messages: message.messages });
    expect(chat.choices[0]?.message.content).toContain("Hello");
    const events: string[] = [];
    for await (const event of await client.responses.create({ model: "gpt-5.5", input: "Hello.", stream: true }))
      events.push(event.type);
    expect(events.at(-1)).toBe("response.completed");
  });

  it("get the upstream's errors as they are", async () => {
    const { url } = await openGateway();
    const client = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
    await expect(client.messages.create({ ...message, max_tokens: -1 })).rejects.toMatchObject({ status: 400 });
  });
});

it("the reply's bytes are the upstream's own", async () => {
  const { url, upstream } = await openGateway();
  const body = JSON.stringify({ ...message, stream: true });
  const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" };
  const [one, other] = await Promise.all(
    [url, upstream].map(async (base) => {
      const reply = await fetch(`${base}/v1/messages`, { method: "POST", body, headers });
      return (await reply.text()).replaceAll(/"id":"msg_\w+"/g, "");
    }),
  );
  expect(one?.length).toBeGreaterThan(200);
  expect(one).toBe(other);
});

describe("errors of the gateway are in the provider's own form", () => {
  const post = (url: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json", ...headers } });

  it("if the upstream can't be reached", async () => {
    const { config } = readConfig({
      env: {},
      overrides: { port: 0, upstream: { anthropic: "http://127.0.0.1:9", openai: "http://127.0.0.1:9" } },
    }) as Extract<ReturnType<typeof readConfig>, { kind: "config" }>;
    const { url } = await openGateway({ config });
    const anthropic = await post(`${url}/v1/messages`);
    expect(anthropic.status).toBe(502);
    expect(await anthropic.json()).toEqual({
      type: "error",
      error: { type: "api_error", message: "The upstream can't be reached (ECONNREFUSED)." },
      request_id: anthropic.headers.get("request-id"),
    });
    const openai = await post(`${url}/v1/responses`);
    expect(await openai.json()).toMatchObject({ error: { type: "server_error", code: "upstream_unreachable" } });
  });

  it("if a WebSocket is asked for, so that the client falls back to HTTP", async () => {
    const { port } = await openGateway();
    const status = await new Promise((resolve) => {
      httpRequest({
        port,
        path: "/v1/responses",
        headers: { connection: "Upgrade", upgrade: "websocket", authorization: "Bearer k" },
      })
        .on("response", (response) => resolve(response.statusCode))
        .on("upgrade", () => resolve("upgraded"))
        .end();
    });
    expect(status).toBe(426);
  });
});

describe("the end", () => {
  it("lets a running reply end, and takes no new request", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const gateway = await openGateway({
      createExchange: () => async (_, reply) => {
        reply.head(200, { "content-type": "text/plain" });
        await reply.write(Buffer.from("begin "));
        started.resolve();
        await finish.promise;
        await reply.write(Buffer.from("end"));
        await reply.end();
      },
    });
    const running = fetch(`${gateway.url}/v1/messages`, { method: "POST", body: "{}" }).then((reply) => reply.text());
    await started.promise;
    const closed = gateway.close({ drainMs: 5_000 });
    await expect(fetch(`${gateway.url}/v1/models`)).rejects.toThrow("fetch failed");
    finish.resolve();
    expect(await running).toBe("begin end");
    await closed;
    expect(gateway.events.filter(({ kind }) => kind.startsWith("drain"))).toEqual([
      { kind: "drain-start", running: 1 },
      { kind: "drain-end", cut: 0 },
    ]);
  });

  it("cuts a reply that takes longer than it may", async () => {
    const gateway = await openGateway({
      createExchange: () => async (_, reply) => {
        reply.head(200, { "content-type": "text/plain" });
        await reply.write(Buffer.from("begin "));
        await new Promise(() => undefined);
      },
    });
    const reply = await fetch(`${gateway.url}/v1/messages`, { method: "POST", body: "{}" });
    await gateway.close({ drainMs: 50 });
    await expect(reply.text()).rejects.toThrow("terminated");
    expect(gateway.events.at(-1)).toEqual({ kind: "drain-end", cut: 1 });
  });
});

it("a client that goes away aborts its exchange", async () => {
  const aborted = Promise.withResolvers<void>();
  const gateway = await openGateway({
    createExchange:
      () =>
      async ({ signal }, reply) => {
        signal.addEventListener("abort", () => aborted.resolve());
        reply.head(200, {});
        await reply.write(Buffer.from("begin "));
        await aborted.promise;
        await reply.write(Buffer.from("nobody reads this"));
        await reply.end();
      },
  });
  const leaving = new AbortController();
  const reply = await fetch(`${gateway.url}/v1/messages`, { method: "POST", body: "{}", signal: leaving.signal });
  expect(reply.status).toBe(200);
  leaving.abort();
  await aborted.promise;
  await expect
    .poll(() => gateway.events.find(({ kind }) => kind === "request-end"))
    .toMatchObject({ outcome: "client-gone" });
});
