import type { ReplyCost } from "@palimpsest/gateway/internal/operate/gateway-event";
import type { MoveBlock, Responder } from "@palimpsest/simulator/internal/responder/responder";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";

let world: GatewayWorld;
afterEach(() => world.close());

const model = "claude-sonnet-5-5";
const headers = {
  "content-type": "application/json",
  "x-api-key": "k",
  authorization: "Bearer k",
  "anthropic-version": "2023-06-01",
};

const post = (path: string, body: object, signal?: AbortSignal) =>
  fetch(`${world.url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const costs = (): readonly ReplyCost[] =>
  world.events.filter((event): event is ReplyCost => event.kind === "reply-cost");
const chargedUsd = (): number => costs().reduce((sum, { nanos }) => sum + (nanos ?? 0), 0) / 1e9;
const paidUsd = (): number => world.traffic.reduce((sum, { usd }) => sum + usd, 0);

/** Answers with these moves in turn, then with a word. */
const moves = (...blocks: readonly (readonly MoveBlock[])[]): Responder => {
  let at = 0;
  return {
    name: "moves",
    respond: () => Promise.resolve({ move: { kind: "say", blocks: blocks[at++] ?? [{ type: "text", text: "Yes." }] } }),
  };
};
const read = { name: "read", description: "Reads.", input_schema: { type: "object" } };
const user = (content: string) => ({ role: "user", content });
const said = (text: string) => ({ role: "assistant", content: [{ type: "text", text }] });

describe("what a user is charged", () => {
  it("is each reply once, also when its conversation is opened again", async () => {
    world = await openGatewayWorld({ simulator: { responder: moves(), seed: 1 } });
    const messages = [user("x ".repeat(2_000))];
    for (let round = 0; round < 3; round += 1) {
      await (await post("/v1/messages", { model, max_tokens: 50, tools: [read], messages })).text();
      messages.push(said("Yes.") as never, user(`And ${round}?`));
      await world.reopen();
    }
    expect(costs()).toHaveLength(3);
    expect(paidUsd()).toBeGreaterThan(0);
    expect(chargedUsd()).toBeCloseTo(paidUsd(), 9);
  });

  it("is every reply of an exchange, those to calls of the gateway's own tools too", async () => {
    const call: MoveBlock = { type: "tool_use", name: "recall", input: { query: "gauge" } };
    world = await openGatewayWorld({ simulator: { responder: moves([call]), seed: 1 } });
    await (await post("/v1/messages", { model, max_tokens: 50, tools: [read], messages: [user("Hi")] })).text();
    expect(world.traffic).toHaveLength(2);
    expect(chargedUsd()).toBeCloseTo(paidUsd(), 9);
    expect(costs().map(({ source, outputTokens }) => [source, outputTokens > 0])).toEqual([
      ["said", true],
      ["said", true],
    ]);
    const [row] = world.conversations.conversations();
    // The client sent one request; what went upstream is more, and that is not called saved.
    expect(row).toMatchObject({ requests: 1, inputTokensUsed: costs().reduce((sum, one) => sum + one.inputTokens, 0) });
    expect(row?.inputTokensSent).toBeLessThan(row?.inputTokensUsed ?? 0);
    expect(row?.savedUsd).toBeLessThan(0);
  });

  it("is not what is only counted", async () => {
    world = await openGatewayWorld({ simulator: { responder: moves(), seed: 1 } });
    const body = { model, tools: [read], messages: [user("Hi")] };
    await (await post("/v1/messages", { ...body, max_tokens: 50 })).text();
    const [before] = world.conversations.conversations().map((row) => ({ ...row }));
    expect((await post("/v1/messages/count_tokens", body)).status).toBe(200);
    expect(costs()).toHaveLength(1);
    expect(world.conversations.conversations()[0]).toEqual(before);
  });

  it("is what passes without a conversation, too", async () => {
    world = await openGatewayWorld({
      simulator: { responder: moves(), seed: 1 },
      answer: async (request) =>
        new URL(request.url).pathname === "/v1/responses"
          ? Response.json({
              id: "resp_1",
              model: "gpt-5-mini",
              output: [],
              usage: { input_tokens: 1e6, output_tokens: 0 },
            })
          : undefined,
    });
    await (await post("/v1/responses", { model: "gpt-5-mini", input: "x", previous_response_id: "resp_0" })).text();
    expect(costs()).toMatchObject([{ nanos: 0.25e9, inputTokens: 1e6, source: "said" }]);
  });

  it("is estimated for a reply whose client goes away in its middle", async () => {
    const leave = new AbortController();
    const events = [
      { type: "message_start", message: { id: "m", model, usage: { input_tokens: 1_000, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x".repeat(4_000) } },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    world = await openGatewayWorld({
      simulator: { responder: moves(), seed: 1 },
      answer: async () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode(events.join(""))),
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
    });
    const body = { model, max_tokens: 5_000, stream: true, messages: [user("Hi")] };
    const reply = await post("/v1/messages", body, leave.signal);
    await reply.body?.getReader().read();
    leave.abort();
    await expect.poll(costs).toMatchObject([{ source: "estimated", inputTokens: 1_000, outputTokens: 1_000 }]);
  });
});

describe("a summary of the conversation's own model", () => {
  it("is charged to the user whose request made it necessary, beside that request's reply", async () => {
    const text = "<analysis>So.</analysis><summary>## 1. Primary Request and Intent\nThe gauge is blue.</summary>";
    world = await openGatewayWorld({
      simulator: { responder: moves(...Array.from({ length: 4 }, () => [{ type: "text", text } as const])), seed: 1 },
      contextTokens: 20_000,
      exchange: { summarizer: "own" },
    });
    const body = { model, max_tokens: 1_000, tools: [read] };
    const talk = [
      user("Look at the gauge."),
      said("I look."),
      user("word ".repeat(30_000)),
      said("Read."),
      user("So?"),
    ];
    await (await post("/v1/messages", { ...body, messages: talk.slice(0, 1) })).text();
    await (await post("/v1/messages", { ...body, messages: talk })).text();
    const isSummary = ({ body: sent }: (typeof world.traffic)[number]): boolean =>
      JSON.stringify(sent["system"] ?? "").includes("You write summaries");
    expect(world.traffic.map(isSummary)).toEqual([false, true, false]);
    expect(costs().map((cost) => cost.user)).toEqual(["local", "local", "local"]);
    expect(world.traffic.map(({ usd }) => usd > 0)).toEqual([true, true, true]);
    expect(costs().map(({ nanos }) => (nanos ?? 0) / 1e9)).toEqual(
      world.traffic.map(({ usd }) => expect.closeTo(usd, 9) as number),
    );
  });
});

it("a conversation's figures all count from the gateway's start, its edits too", async () => {
  world = await openGatewayWorld({
    simulator: { responder: moves(), seed: 1 },
    contextTokens: 20_000,
    reduction: { recall: "off" },
  });
  const body = { model, max_tokens: 1_000, tools: [read] };
  const talk: object[] = [user("Look."), said("I look."), user("word ".repeat(30_000)), said("Read."), user("So?")];
  await (await post("/v1/messages", { ...body, messages: talk })).text();
  const figures = () => world.conversations.conversations().map(({ requests, edits }) => ({ requests, edits }));
  await expect.poll(figures).toEqual([{ requests: 1, edits: expect.any(Number) as number }]);
  await expect.poll(() => figures()[0]?.edits).toBeGreaterThan(0);
  await world.reopen();
  talk.push(said("Yes."), user("Really?"));
  await (await post("/v1/messages", { ...body, messages: talk })).text();
  await expect.poll(figures).toEqual([{ requests: 1, edits: 0 }]);
});

describe("a model whose price is not known", () => {
  it("costs and saves what is not known, not nothing", async () => {
    world = await openGatewayWorld({
      simulator: { responder: moves(), seed: 1, models: [{ id: "mystery-1" }] },
      contextTokens: 20_000,
      reduction: { recall: "off" },
    });
    const body = { model: "mystery-1", max_tokens: 1_000, tools: [read] };
    const talk = [user("Look."), said("I look."), user("word ".repeat(30_000)), said("Read."), user("So?")];
    await (await post("/v1/messages", { ...body, messages: talk.slice(0, 1) })).text();
    // Nothing was left out, which saves nothing at any price.
    expect(world.conversations.conversations()[0]?.savedUsd).toBe(0);
    await (await post("/v1/messages", { ...body, messages: talk })).text();
    expect(costs().map(({ nanos }) => nanos)).toEqual([null, null]);
    expect(world.conversations.conversations()[0]?.savedUsd).toBeNull();
  });
});

describe("a streamed chat completion", () => {
  const chat = { model: "gpt-5-mini", stream: true, messages: [user("Hi")] };
  const usageChunks = (text: string) => [...text.matchAll(/"prompt_tokens":/g)].length;

  it("is asked for its usage, which a client gets only if it asked too", async () => {
    world = await openGatewayWorld({ simulator: { responder: moves(), seed: 1 } });
    const quiet = await (await post("/v1/chat/completions", chat)).text();
    const asking = { ...chat, stream_options: { include_usage: true } };
    const loud = await (await post("/v1/chat/completions", asking)).text();
    expect([usageChunks(quiet), usageChunks(loud)]).toEqual([0, 1]);
    expect(quiet).toContain("data: [DONE]");
    expect(quiet).not.toContain('"usage"');
    expect(world.traffic.map(({ body }) => body["stream_options"])).toEqual([
      { include_usage: true },
      { include_usage: true },
    ]);
    expect(costs().map(({ source, nanos }) => [source, (nanos ?? 0) > 0])).toEqual([
      ["said", true],
      ["said", true],
    ]);
  });

  it.each([400, 422])("is not asked again by a server that refuses it (%s)", async (status) => {
    world = await openGatewayWorld({
      simulator: { responder: moves(), seed: 1 },
      answer: async (request) =>
        (await request.text()).includes("stream_options")
          ? Response.json(
              { error: { message: "Unknown field: stream_options", type: "invalid_request_error" } },
              { status },
            )
          : undefined,
    });
    const first = await (await post("/v1/chat/completions", chat)).text();
    expect(first).toContain("Yes.");
    const more = [...chat.messages, { role: "assistant", content: "Yes." }, user("And?")];
    expect((await post("/v1/chat/completions", { ...chat, messages: more })).status).toBe(200);
    expect(world.traffic.map((one) => one.status)).toEqual([status, 200, 200]);
    expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
    expect(costs().map(({ source }) => source)).toEqual(["estimated", "estimated"]);
  });
});
