import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { withContext } from "../../packages/palimpsest/src/adapter/anthropic/with-context.ts";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  parseJson,
} from "../../packages/palimpsest/src/schema/json.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";
import { playing, says } from "./support/simulated.ts";

/** A server that searches may pause its reply; its client sends the list again, with what came of the reply at its end. */
const model = "claude-sonnet-5-5";
const windowTokens = 60_000;
let world: GatewayWorld;
afterEach(() => world.close());

const search = [
  { type: "text", text: "I search." },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "gauge" } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
];
const usage = { input_tokens: 10, output_tokens: 10 };
const pausedReply = {
  id: "msg_paused",
  type: "message",
  role: "assistant",
  model,
  content: search,
  stop_reason: "pause_turn",
  stop_sequence: null,
  usage,
};

async function open(): Promise<void> {
  world = await openGatewayWorld({
    simulator: {
      responder: playing(says("Fine.")),
      seed: 1,
      models: [{ id: model, windowTokens, outputTokensMax: 1_000 }],
    },
    contextTokens: windowTokens,
    answer: async (request) => {
      const asked = parseJson(await request.text());
      const last = isObject(asked) ? listField(asked, "messages").at(-1) : undefined;
      return JSON.stringify(last).includes("Look it up.") ? Response.json(pausedReply) : undefined;
    },
  });
}

type Asked = (messages: readonly JsonObject[]) => Promise<JsonObject>;

const throughGateway = (): Asked => {
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url });
  return (messages) => client.post<JsonObject>("/v1/messages", { body: body(messages) });
};
const throughAdapter = (): Asked => {
  const plain = new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.upstreamUrl });
  const client = withContext(plain, { contextTokens: windowTokens, store: memoryStore() });
  return (messages) => client.post<JsonObject>("/v1/messages", { body: body(messages) });
};
const body = (messages: readonly JsonObject[]): JsonObject => ({
  model,
  max_tokens: 500,
  tools: [
    { name: "read", input_schema: { type: "object" } },
    { type: "web_search_20250305", name: "web_search" },
  ],
  messages: [...messages],
});

const sentList = (): readonly JsonObject[] => {
  const list = world.traffic.at(-1)?.body["messages"];
  return (isArray(list) ? list : []).filter(isObject);
};
/** Without marks for the cache: what carries one is a list of blocks, and else may be a string. */
const withoutMarks = ({ content = [], ...message }: JsonObject): string => {
  const blocks: Json = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return JSON.stringify({ ...message, content: blocks }, (key, inner: unknown) =>
    key === "cache_control" ? undefined : inner,
  );
};

describe.each([
  ["the gateway", throughGateway],
  ["the adapter of the SDK", throughAdapter],
] as const)("a reply that paused behind a compaction, through %s", (_, connect) => {
  it("goes on in the compacted conversation, with the paused reply as its end", async () => {
    await open();
    const ask = connect();
    const list: JsonObject[] = [];
    for (let at = 0; at < 12; at += 1) {
      list.push({ role: "user", content: `${at} question `.repeat(1500) });
      await ask(list);
      list.push({ role: "assistant", content: "Fine." });
    }
    list.push({ role: "user", content: "Look it up." });
    expect(await ask(list)).toMatchObject({ stop_reason: "pause_turn" });
    const before = sentList();
    expect(before.length).toBeLessThan(list.length - 10);
    list.push({ role: "assistant", content: search });
    expect(await ask(list)).toMatchObject({ content: [{ text: "Fine." }] });
    const goingOn = sentList();
    expect(goingOn.map(withoutMarks)).toEqual([...before, list.at(-1) ?? {}].map(withoutMarks));
    list.push({ role: "assistant", content: "Fine." }, { role: "user", content: "Thanks." });
    await ask(list);
    expect(sentList().map(withoutMarks)).toEqual([...goingOn, ...list.slice(-2)].map(withoutMarks));
    expect(world.traffic.map(({ status }) => status)).toEqual(world.traffic.map(() => 200));
    expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
  });
});
