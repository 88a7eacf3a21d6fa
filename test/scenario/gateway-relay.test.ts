import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type Provider, providers } from "palimpsest/internal/context/provider-formats";
import { isObject, type Json, type JsonObject, listField, parseJson } from "palimpsest/internal/schema/json";
import type { GatewayCall, RelayOptions } from "@palimpsest/gateway/internal/reply/relay";
import { StreamRelay } from "@palimpsest/gateway/internal/reply/stream-relay";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { describe, expect, it } from "vitest";
import { playing, says } from "./support/simulated.ts";

const schema = { type: "object" as const, properties: { query: { type: "string" } } };

/** Real requests and event sequences: the SDK asks, a small gateway adds a tool and answers it, the simulator replies. */
describe.each(providers)("a gateway in front of %s", (provider) => {
  it("answers its own tool within the client's request", async () => {
    const call = { type: "tool_use", name: "palimpsest_recall", input: { query: "port" } } as const;
    const simulator = new Simulator({ responder: playing([...says("Let me see."), call], says("It is 80.")) });
    const gateway = smallGateway(provider, simulatorFetch(simulator));
    expect(await askBySdk[provider](gateway.fetch)).toEqual(
      provider === "openai-chat" ? ["Let me see.It is 80."] : ["Let me see.", "It is 80."],
    );
    expect(gateway.calls).toMatchObject([{ name: "palimpsest_recall", input: { query: "port" } }]);
  });

  it("passes a reply without own calls as it is", async () => {
    const simulator = new Simulator({ responder: playing(says("A short answer: 東京.")) });
    const gateway = smallGateway(provider, simulatorFetch(simulator));
    expect(await askBySdk[provider](gateway.fetch)).toEqual(["A short answer: 東京."]);
    expect(gateway.calls).toEqual([]);
  });
});

function smallGateway(provider: Provider, upstream: typeof fetch): { fetch: typeof fetch; calls: GatewayCall[] } {
  const calls: GatewayCall[] = [];
  const options: RelayOptions = { provider, gatewayTools: new Set(["palimpsest_recall"]), onEvent: () => undefined };
  return {
    calls,
    fetch: async (input, init) => {
      const relay = new StreamRelay(options);
      const sent: unknown = init?.body;
      let body = addTool[provider](readBody(sent));
      const out: Uint8Array[] = [];
      for (;;) {
        const response = await upstream(input, { ...init, body: JSON.stringify(body) });
        if (!response.ok || response.body === null) return response;
        out.push(...relay.take(await response.bytes()));
        const { out: rest, end } = relay.end();
        out.push(...rest);
        if (end.kind === "gateway-calls") calls.push(...end.calls);
        if (end.kind !== "gateway-calls" || end.client === "complete")
          return new Response(Buffer.concat(out), { headers: { "content-type": "text/event-stream" } });
        body = addResults[provider](body, end.calls);
        relay.continue();
      }
    },
  };
}

function readBody(sent: unknown): JsonObject {
  const body = typeof sent === "string" ? parseJson(sent) : undefined;
  if (!isObject(body)) throw new Error("the SDK sent no object");
  return body;
}

const append = (body: JsonObject, key: string, more: readonly Json[]): JsonObject => ({
  ...body,
  [key]: [...listField(body, key), ...more],
});

const addTool: Readonly<Record<Provider, (body: JsonObject) => JsonObject>> = {
  anthropic: (body) => append(body, "tools", [{ name: "palimpsest_recall", input_schema: schema }]),
  "openai-chat": (body) =>
    append(body, "tools", [{ type: "function", function: { name: "palimpsest_recall", parameters: schema } }]),
  "openai-responses": (body) =>
    append(body, "tools", [{ type: "function", name: "palimpsest_recall", parameters: schema }]),
};

const addResults: Readonly<Record<Provider, (body: JsonObject, calls: readonly GatewayCall[]) => JsonObject>> = {
  anthropic: (body, calls) =>
    append(body, "messages", [
      { role: "assistant", content: calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })) },
      { role: "user", content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "80" })) },
    ]),
  "openai-chat": (body, calls) => {
    const made = calls.map(({ id, name, input }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }));
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "80" }));
    return append(body, "messages", [{ role: "assistant", content: null, tool_calls: made }, ...results]);
  },
  "openai-responses": (body, calls) =>
    append(
      body,
      "input",
      calls.flatMap(({ id, name, input }): JsonObject[] => [
        { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) },
        { type: "function_call_output", call_id: id, output: "80" },
      ]),
    ),
};

const sdk = { apiKey: "sk-test", maxRetries: 0 };
const messages = [{ role: "user" as const, content: "Which port?" }];

/** The texts of the reply. */
const askBySdk: Readonly<Record<Provider, (ask: typeof fetch) => Promise<readonly (string | null)[]>>> = {
  anthropic: async (ask) => {
    const stream = new Anthropic({ ...sdk, fetch: ask }).messages.stream({
      model: "claude-sonnet-5-5",
      max_tokens: 500,
      messages,
    });
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(reason).toBe("end_turn");
    return content.map((block) => (block.type === "text" ? block.text : block.type));
  },
  "openai-chat": async (ask) => {
    const options = { include_usage: true };
    const stream = new OpenAI({ ...sdk, fetch: ask }).chat.completions.stream({
      model: "gpt-4o",
      messages,
      stream_options: options,
    });
    const { choices, usage } = await stream.finalChatCompletion();
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? NaN) + (usage?.completion_tokens ?? NaN));
    return choices.map(({ message }) => message.content);
  },
  "openai-responses": async (ask) => {
    const stream = new OpenAI({ ...sdk, fetch: ask }).responses.stream({
      model: "gpt-4o",
      input: messages,
      store: false,
    });
    const { output, tools } = await stream.finalResponse();
    expect(tools).toEqual([]);
    return output.map((item) =>
      item.type === "message" ? item.content.map((part) => ("text" in part ? part.text : "")).join("") : item.type,
    );
  },
};
