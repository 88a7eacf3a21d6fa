import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { RequestBody } from "../body/request-body.ts";
import { GatewayConversation } from "./gateway-conversation.ts";
import type { PreparedBody } from "./live-request.ts";
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
function createConversation() {
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
    refused: new RefusedAdditions(() => 0),
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

it("a request that goes on behind calls of ours, after a newer one, counts them as its own", async () => {
  const { conversation, open } = createConversation();
  open();
  const body = chatBody("First");
  const prepared = await prepare(conversation, body);
  await prepare(conversation, chatBody("Second"));
  const call = { id: "call_1", type: "function", function: { name: "recall", arguments: "{}" } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  await conversation.recordWhole(body, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  const clientTokens = 1_000 + prepared.moreTokens(1_000);
  const flawed = "What was looked for is not there. ".repeat(400);
  await conversation.answer(body, [{ id: "call_1", name: "recall", input: {}, after: 0, flawed }]);
  const addedTokens = flawed.length / 4;
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
