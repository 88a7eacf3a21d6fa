import { readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { isArray, isObject, type Json, type JsonObject, parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { recallTool } from "../../packages/gateway/src/conversation/tools/recall-tool.ts";
import { wireFormats } from "../../packages/gateway/src/conversation/request/wire-format.ts";
import { canonicalJson } from "../../packages/palimpsest/src/schema/canonical-json.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { realClients } from "../../scripts/real-clients/clients.ts";
import { clientScenario } from "../../scripts/real-clients/scenario.ts";
import { readRecordedClient, type RecordedClient, restoreRequest } from "../fixture/gateway-clients/recorded-client.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";
import { replayClient } from "./support/replay-client.ts";

/**
 * What real clients sent in a task of ten rounds, replayed through the gateway. scripts/gateway-clients.ts runs the clients
 * themselves (docs/gateway-clients.md).
 */
const folder = resolve(import.meta.dirname, "../fixture/gateway-clients");
const clients = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => basename(file, ".json"));

interface ReplayOptions {
  readonly windowTokens: number;
  readonly wrap?: (responder: Responder) => Responder;
  readonly extra?: number;
}

let world: GatewayWorld;
afterEach(() => world.close());

const identity = (responder: Responder): Responder => responder;

/** `wrap`: what the model does besides. `extra`: requests that only the upstream gets. */
async function replay(recorded: RecordedClient, { windowTokens, wrap = identity, extra = 0 }: ReplayOptions) {
  const { model } = recorded;
  const client = realClients.find(({ name }) => name === recorded.client);
  if (client === undefined) return expect.unreachable();
  const scenario = clientScenario({ client, model, kind: "compaction", rounds: 10, linesOfResult: 110 });
  world = await openGatewayWorld({
    simulator: { responder: wrap(scriptResponder(scenario)), seed: 1, models: [{ id: model, windowTokens }] },
    contextTokens: windowTokens,
    reduction: { cacheMarks: "added" },
  });
  const sent = await replayClient(recorded, world.url);
  const failures = world.events.filter(({ kind }) => kind === "failed-open" || kind === "bug");
  expect({ statuses: new Set(sent.map(({ status }) => status)), failures }).toEqual({
    statuses: new Set([200]),
    failures: [],
  });
  expect(world.traffic.map(({ status }) => status)).toEqual(Array.from({ length: sent.length + extra }, () => 200));
  return sent;
}

const listOf = (body: Json): readonly JsonObject[] => {
  const list = isObject(body) ? (body["messages"] ?? body["input"]) : undefined;
  return (isArray(list) ? list : []).filter(isObject);
};

/** What the cache sees of an element: a string is one text block, marks do not count. */
const seen = (element: JsonObject): string => {
  const { content } = element;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return canonicalJson(
    parseJson(
      JSON.stringify({ ...element, ...(content === undefined ? {} : { content: blocks }) }, (key, value: unknown) =>
        key === "cache_control" ? undefined : value,
      ),
    ),
  );
};

const startsWith = (list: readonly JsonObject[], beginning: readonly JsonObject[]): boolean =>
  beginning.every((element, at) => seen(element) === seen(list[at] ?? {}));

/** Tools in front of the list have ours behind them, the same bytes in each request. */
const withRecall = (element: JsonObject): JsonObject => {
  const { type, tools } = element;
  if (type !== "additional_tools" || !isArray(tools)) return element;
  return { ...element, tools: [...tools, wireFormats["openai-responses"].writeTool(recallTool.definition)] };
};

/** Where the loop's requests are among all: titles have no tools. */
const isLoop = (body: Json): boolean =>
  isObject(body) && (isArray(body["tools"]) || JSON.stringify(body).includes("additional_tools"));

/** So that the last requests do not fit. */
const windowTokensPerChar = 0.22;

describe.each(clients)("recorded traffic of %s", (name) => {
  const recorded = readRecordedClient(name);

  it("in a large window is one conversation, whose messages go upstream byte for byte", async () => {
    const sent = await replay(recorded, { windowTokens: 400_000 });
    const requests = world.conversations.conversations().map((row) => row.requests);
    const loop = sent.filter(({ body }) => isLoop(parseJson(body))).length;
    expect(Math.max(...requests)).toBe(loop);
    expect(requests.reduce((sum, count) => sum + count, 0)).toBe(sent.length);
    for (const [at, { body }] of sent.entries()) {
      const upstream = Buffer.from(world.traffic[at]?.bytes ?? []).toString();
      const list = listOf(parseJson(body)).map(withRecall);
      expect(upstream.includes(JSON.stringify(list)), `request ${at}`).toBe(true);
    }
  });

  it("in a small window is reduced, and stays a prefix of itself between two edits", async () => {
    const largest = Math.max(...recorded.requests.keys());
    const { length } = restoreRequest(recorded, { at: largest, values: {} }).body;
    const sent = await replay(recorded, { windowTokens: Math.round(length * windowTokensPerChar) });
    const own = listOf(parseJson(sent[largest]?.body ?? "null"));
    const { body: last = {} } = world.traffic[largest] ?? {};
    expect(world.traffic[largest]?.bytes.length).toBeLessThan((sent[largest]?.body.length ?? 0) * 0.9);
    expect(listOf(last).slice(-2).map(seen)).toEqual(own.slice(-2).map(seen));
    const lists = world.traffic.filter(({ body }) => isLoop(body)).map(({ body }) => listOf(body));
    const rewritten = lists.slice(1).filter((list, at) => !startsWith(list, lists[at] ?? [])).length;
    const [row] = world.conversations.conversations().toSorted((one, other) => other.requests - one.requests);
    expect(rewritten).toBeGreaterThan(0);
    // They are counted when the last reply is stored.
    await expect.poll(() => row?.edits ?? 0).toBeGreaterThanOrEqual(rewritten);
  });
});

/** Looks something up before its third and its seventh reply, if it can. */
function lookingUp(responder: Responder): Responder {
  let asked = 0;
  return {
    ...responder,
    respond: (input) => {
      asked += 1;
      const isOffered = input.request.tools?.some((tool) => "name" in tool && tool.name === "recall") === true;
      if (!isOffered || (asked !== 3 && asked !== 8)) return responder.respond(input);
      const thinking = { type: "thinking" as const, thinking: "What was it?" };
      const call = { type: "tool_use" as const, name: "recall", input: { query: "gauge" } };
      return { move: { kind: "say", blocks: [thinking, call] } };
    },
  };
}

describe.each(["codex", "codex-built-in", "openai-responses"])("a model that %s asks calls recall", (name) => {
  it("without the client seeing it, and with the call at its place in every later request", async () => {
    const recorded = readRecordedClient(name);
    const sent = await replay(recorded, { windowTokens: 400_000, wrap: lookingUp, extra: 2 });
    for (const { reply } of sent) expect(reply).not.toMatch(/"name": ?"recall"/);
    const lists = world.traffic.map(({ body }) => listOf(body));
    for (const [at, list] of lists.entries()) expect(startsWith(list, lists[at - 1] ?? []), `request ${at}`).toBe(true);
    const calls = (list: readonly JsonObject[]): number => list.filter((item) => item["name"] === "recall").length;
    expect(lists.map(calls)).toEqual(lists.map((_, at) => (at < 3 ? 0 : at < 8 ? 1 : 2)));
  });
});
