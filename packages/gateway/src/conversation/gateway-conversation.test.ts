import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { RequestBody } from "../body/request-body.ts";
import { GatewayConversation } from "./gateway-conversation.ts";
import type { PreparedBody } from "./request/live-request.ts";
import { RefusedAdditions } from "./request/refused-additions.ts";

const tools = [{ type: "function", function: { name: "read", parameters: { type: "object" } } }];

function chatBody(content: string, fields: JsonObject = {}): RequestBody {
  const messages = [{ role: "user", content }];
  const text = JSON.stringify({ model: "gpt-5.6-sol", tools, messages, ...fields });
  return RequestBody.read(Buffer.from(text), { list: "messages" }) ?? expect.unreachable();
}

const { signal } = new AbortController();
const prepare = (conversation: GatewayConversation<"openai-chat">, body: RequestBody): Promise<PreparedBody> =>
  conversation.prepare({ body, previous: undefined, files: "separate", signal });

const isOffered = ({ bytes }: PreparedBody): boolean => Buffer.concat(bytes).includes('"recall"');

/** A conversation whose session opens when `open` is called. */
function createConversation(refused = new RefusedAdditions(() => 0)) {
  const opened = Promise.withResolvers<void>();
  const store = memoryStore();
  const conversation = new GatewayConversation({
    provider: "openai-chat",
    session: "00000000-0000-4000-8000-000000000001",
    store: {
      open: async () => {
        await opened.promise;
        return await store.open();
      },
    },
    reduction: { recall: "on", memory: "off", deferTools: "off", cacheMarks: "client" },
    refused,
    summarizer: "none",
    now: () => 0,
  });
  return { conversation, open: () => opened.resolve() };
}

describe("what a refused request changes does not reach one that is prepared meanwhile", () => {
  const changes = {
    "an addition that is left out": (conversation: GatewayConversation<"openai-chat">) =>
      conversation.leaveOut(chatBody("First"), { addition: "usage", sign: "named" }),
    "one that is added again": (conversation: GatewayConversation<"openai-chat">) =>
      conversation.addAgain(chatBody("First"), "usage"),
  };

  it.each(Object.entries(changes))("%s", async (_, change) => {
    const { conversation, open } = createConversation();
    // Of several choices, calls of ours can't be hidden.
    const prepared = prepare(conversation, chatBody("Second", { n: 2 }));
    await new Promise((resolve) => setImmediate(resolve));
    const changed = change(conversation);
    open();
    expect(isOffered(await prepared)).toBe(false);
    await changed;
    const again = await prepare(conversation, chatBody("Third"));
    expect(isOffered(again)).toBe(true);
    await conversation.close();
  });

  it.each(Object.entries(changes))("nor what is sent of it later: %s", async (_, change) => {
    const { conversation, open } = createConversation();
    open();
    const body = chatBody("Second", { n: 2 });
    await prepare(conversation, body);
    await change(conversation);
    expect(isOffered(await conversation.next(body, signal))).toBe(false);
    await conversation.close();
  });
});

/** The reply to a request: one call of recall. */
function replyWithCall(): JsonObject {
  const call = { id: "call_1", type: "function", function: { name: "recall", arguments: '{"query":"tide"}' } };
  return {
    choices: [
      { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" },
    ],
  };
}

describe("a call is answered by the tools that its request offered", () => {
  const meanwhile = {
    "a newer request can have none": (conversation: GatewayConversation<"openai-chat">) =>
      prepare(conversation, chatBody("Second", { n: 2 })),
    "the upstream takes none any more": (conversation: GatewayConversation<"openai-chat">) =>
      conversation.leaveOut(chatBody("Second"), { addition: "gateway-tools", sign: "guessed" }),
  };

  it.each(Object.entries(meanwhile))("although %s", async (_, change) => {
    const { conversation, open } = createConversation();
    open();
    const body = chatBody("First");
    await prepare(conversation, body);
    await change(conversation);
    await conversation.recordWhole(body, replyWithCall());
    await conversation.answer(body, [{ id: "call_1", name: "recall", input: { query: "tide" }, after: 0 }]);
    const next = await conversation.next(body, signal);
    expect(Buffer.concat(next.bytes).toString("utf8")).not.toContain("There is no tool");
    await conversation.close();
  });
});

it("a request names the tools that it has, also if another conversation left them out meanwhile", async () => {
  const refused = new RefusedAdditions(() => 0);
  const { conversation, open } = createConversation(refused);
  open();
  const body = chatBody("First");
  const prepared = await prepare(conversation, body);
  refused.add(
    { provider: "openai-chat", model: "gpt-5.6-sol", operation: "create", addition: "gateway-tools" },
    "named",
  );
  const next = await conversation.next(body, signal);
  for (const one of [prepared, next])
    expect(one.gatewayTools.some(({ definition }) => definition.name === "recall")).toBe(isOffered(one));
  expect(isOffered(next)).toBe(false);
  await conversation.close();
});

it("a request that was given up while it was prepared is not kept", async () => {
  // At every step of its preparation.
  for (let steps = 0, isPrepared = false; !isPrepared; steps += 1) {
    const { conversation, open } = createConversation();
    open();
    const body = chatBody("First");
    const client = new AbortController();
    const preparing = conversation
      .prepare({ body, previous: undefined, files: "separate", signal: client.signal })
      .then(() => (isPrepared = !client.signal.aborted))
      .catch(() => undefined);
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    client.abort();
    conversation.end(body);
    await preparing;
    await expect(conversation.answer(body, []), `after ${steps} steps`).rejects.toThrow("closed");
    await conversation.close();
  }
});

it("a request that goes on behind calls of ours, after a newer one, counts them as its own", async () => {
  const { conversation, open } = createConversation();
  open();
  const body = chatBody("First");
  const prepared = await prepare(conversation, body);
  await prepare(conversation, chatBody("Second"));
  await conversation.recordWhole(body, replyWithCall());
  const clientTokens = 1_000 + prepared.moreTokens(1_000);
  const flawed = "What was looked for is not there: 潮汐の高さ. ".repeat(400);
  await conversation.answer(body, [{ id: "call_1", name: "recall", input: {}, after: 0, flawed }]);
  const addedTokens = Buffer.byteLength(flawed) / 4;
  const next = await conversation.next(body, signal);
  expect(Buffer.concat(next.bytes).toString("utf8")).toContain("What was looked for");
  expect(next.list.length - prepared.list.length).toBe(2);
  expect(next.changes).toContain("messages");
  expect(Math.abs(next.tokens - prepared.tokens - addedTokens)).toBeLessThan(addedTokens / 10);
  // The client's own list is as large as before: the upstream counted more for the calls alone.
  const usedTokens = 1_000 + addedTokens;
  expect(Math.abs(usedTokens + next.moreTokens(usedTokens) - clientTokens)).toBeLessThan(addedTokens / 2);
  await conversation.close();
});
