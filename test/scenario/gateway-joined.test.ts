import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { type Provider, providers } from "../../packages/palimpsest/src/context/provider-formats.ts";
import {
  isArray,
  isObject,
  type JsonObject,
  listField,
  parseJson,
  textField,
} from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";
import { playing, says } from "./support/simulated.ts";

/** One reply of several: what each client makes of it, and sends back. */
let world: GatewayWorld;
afterEach(() => world.close());

const forms = ["streamed", "whole"] as const;
type Form = (typeof forms)[number];
type Ask = (url: string, list: List) => Promise<unknown>;

const schema = { type: "object" as const, properties: {} };
const question = { role: "user" as const, content: "Which gauge is red?" };
const messages = {
  model: "claude-sonnet-5-5",
  max_tokens: 500,
  tools: [{ name: "read", input_schema: schema }],
  messages: [question],
};
const chat = {
  model: "gpt-4o",
  tools: [{ type: "function" as const, function: { name: "read", parameters: schema } }],
  messages: [question],
};
const responses = {
  model: "gpt-4o",
  store: false,
  tools: [{ type: "function" as const, name: "read", parameters: schema, strict: false }],
  input: [question],
};

const asked: Readonly<Record<Provider, Readonly<Record<Form, Ask>>>> = {
  anthropic: {
    streamed: (url, list) => anthropic(url, list).messages.stream(messages).finalMessage(),
    whole: (url, list) => anthropic(url, list).messages.create(messages),
  },
  "openai-chat": {
    streamed: (url, list) => openAi(url, list).chat.completions.stream(chat).finalChatCompletion(),
    whole: (url, list) => openAi(url, list).chat.completions.create(chat),
  },
  "openai-responses": {
    streamed: (url, list) => openAi(url, list).responses.stream(responses).finalResponse(),
    whole: (url, list) => openAi(url, list).responses.create(responses),
  },
};

type List = readonly JsonObject[];

const anthropic = (url: string, list: List): Anthropic =>
  new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: url, fetch: sending(list) });
const openAi = (url: string, list: List): OpenAI =>
  new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: `${url}/v1`, fetch: sending(list) });

/** Sends this list in place of the question, so that it need not have the types of each SDK. */
const sending =
  (list: List): typeof fetch =>
  (input, init) => {
    const body = typeof init?.body === "string" ? parseJson(init.body) : undefined;
    if (!isObject(body)) return fetch(input, init);
    const name = "input" in body ? "input" : "messages";
    return fetch(input, { ...init, body: JSON.stringify({ ...body, [name]: list }) });
  };

/** The reply as its client appends it to its list. */
function replyElements(provider: Provider, reply: unknown): readonly JsonObject[] {
  const json = parseJson(JSON.stringify(reply));
  if (!isObject(json)) return expect.unreachable();
  if (provider === "anthropic") return [{ role: "assistant", content: json["content"] ?? [] }];
  if (provider === "openai-responses") return listField(json, "output").filter(isObject);
  const [choice] = listField(json, "choices");
  const message = isObject(choice) ? choice["message"] : undefined;
  if (!isObject(message)) return expect.unreachable();
  const { parsed: _, ...plain } = message;
  return [plain];
}

/** What the client goes on with: the results of its calls, or the next question. */
function following(provider: Provider, reply: readonly JsonObject[]): readonly JsonObject[] {
  const said = { role: "user", content: "Sure?" };
  if (provider === "anthropic") {
    const calls = reply.flatMap(({ content }) => (isArray(content) ? content : [])).filter(isObject);
    const results = calls
      .filter((block) => block["type"] === "tool_use")
      .map((block) => ({ type: "tool_result", tool_use_id: block["id"] ?? "", content: "alpha" }));
    return [results.length === 0 ? said : { role: "user", content: results }];
  }
  const results =
    provider === "openai-chat"
      ? reply
          .flatMap((message) => listField(message, "tool_calls"))
          .filter(isObject)
          .map((call) => ({ role: "tool", tool_call_id: call["id"] ?? "", content: "alpha" }))
      : reply
          .filter((item) => item["type"] === "function_call")
          .map((item) => ({ type: "function_call_output", call_id: item["call_id"] ?? "", output: "alpha" }));
  return results.length === 0 ? [said] : results;
}

const upstreamLists = (): readonly (readonly JsonObject[])[] =>
  world.traffic.map(({ body }) => {
    const list = body["messages"] ?? body["input"];
    return (isArray(list) ? list : []).filter(isObject);
  });

const lookUp: MoveBlock = { type: "tool_use", name: "recall", input: { query: "gauge" } };
const read: MoveBlock = { type: "tool_use", name: "read", input: { path: "a" } };

const cases: readonly (readonly [string, readonly (readonly MoveBlock[])[]])[] = [
  ["a text before the call and one behind it", [[...says("I look. "), lookUp], says("Red.")]],
  ["texts around two calls", [[...says("I look. "), lookUp], [...says("And again. "), lookUp], says("Red.")]],
  ["a text only behind the call", [[lookUp], says("Red.")]],
  ["a text only before the call", [[...says("I look."), lookUp], [read]]],
  [
    "a call of the client behind the second text",
    [
      [...says("I look. "), lookUp],
      [...says("I read. "), read],
    ],
  ],
  ["a call of the client beside ours", [[...says("I look. "), lookUp, read]]],
  ["a first text of space alone", [[...says("\n\n"), lookUp], says("Red.")]],
  ["the same text twice", [[...says("Hm."), lookUp], says("Hm.")]],
];

const table = providers.flatMap((provider) => forms.map((form) => [provider, form] as const));

describe.each(table)("a reply of %s (%s) that goes on behind a call of recall", (provider, form) => {
  it.each(cases)("with %s comes back as the same conversation, with the call at its place", async (_, moves) => {
    world = await openGatewayWorld({ simulator: { responder: playing(...moves, says("Done.")), seed: 1 } });
    const ask = async (list: readonly JsonObject[]): Promise<readonly JsonObject[]> => {
      const reply = replyElements(provider, await asked[provider][form](world.url, list));
      return [...list, ...reply, ...following(provider, reply)];
    };
    const second = await ask([question]);
    expect(JSON.stringify(second)).not.toContain("recall");
    const third = await ask(second);
    await world.reopen();
    await ask(third);
    expect(world.events.filter(({ kind }) => kind === "failed-open")).toEqual([]);
    expect(world.traffic.map(({ status }) => status)).toEqual(world.traffic.map(() => 200));
    const lists = upstreamLists();
    for (const [at, list] of lists.entries())
      expect(list.slice(0, lists[at - 1]?.length ?? 0), `request ${at}`).toEqual(lists[at - 1] ?? []);
    expect(textField(lists[0]?.[0] ?? {}, "content")).toBe(question.content);
  });
});
