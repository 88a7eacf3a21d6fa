import { describe, expect, it } from "vitest";
import { asyncLines } from "../../../test/fixture/trace.ts";
import { type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { isTooDeep } from "./refusal.ts";
import { simulatorFetch } from "./http/simulator-fetch.ts";
import { Simulator } from "./simulator.ts";
import { readTrace } from "./trace/read-trace.ts";
import { TraceWriter } from "./trace/trace-writer.ts";

const lists = (depth: number): Json => parseJson(`${"[".repeat(depth)}${"]".repeat(depth)}`);
const objects = (depth: number): JsonObject => parseJson(`${`{"a":`.repeat(depth)}1${"}".repeat(depth)}`) as JsonObject;

describe("depth", () => {
  it.each<[string, Json, boolean]>([
    ["a text", "a", false],
    ["500 lists", lists(500), false],
    ["501 lists", lists(501), true],
    ["500 objects", objects(500), false],
    ["501 objects", objects(501), true],
    ["a million lists", lists(1_000_000), true],
    ["a hundred thousand beside each other", Array.from({ length: 100_000 }, () => [{}]), false],
    ["one deep place behind many shallow ones", [...Array.from({ length: 1000 }, () => []), lists(600)], true],
  ])("%s", (_, value, expected) => expect(isTooDeep(value)).toBe(expected));
});

const request = (input: JsonObject): JsonObject => ({
  model: "claude-opus-5",
  max_tokens: 10,
  messages: [
    { role: "user", content: "Go" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "x", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "ok" }] },
  ],
});
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" };
const told = { type: "invalid_request_error", message: "The request body is nested more than 500 levels deep" };

describe("a request that is nested too deep is refused", () => {
  it.each([10_000, 200_000])("%i levels, by both paths and over HTTP, and the trace can be read", async (depth) => {
    const lines: string[] = [];
    const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
    const simulator = new Simulator({ trace });
    await trace.begin({ seed: 0, startedAt: simulator.clock.now() });
    const body: JsonObject = { ...request(objects(depth)), metadata: objects(depth) };
    const { max_tokens: _max, ...counted } = body;
    const call = { body, headers: new Headers(headers) };
    expect(await simulator.messages(call)).toMatchObject({ status: 400, body: { error: told } });
    expect(simulator.countTokens({ ...call, body: counted })).toMatchObject({ status: 400, body: { error: told } });
    const text = `{"messages":[{"content":["\\ud83d\\ude00",${"[".repeat(depth)}${"]".repeat(depth)}]}]}`;
    const response = await simulatorFetch(simulator)("http://x/v1/messages", { method: "POST", headers, body: text });
    expect([response.status, await response.json()]).toMatchObject([400, { error: told }]);
    const reading = await readTrace(asyncLines(lines));
    expect(reading).toMatchObject({ kind: "trace", trace: { requests: [{ n: 1 }, { n: 2 }, { n: 3 }] } });
  });

  it("400 levels are taken", async () => {
    const simulator = new Simulator();
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await simulator.messages({ body: request(objects(400)), headers: new Headers(headers) });
      expect(answer).toMatchObject({ kind: "body", status: 200 });
    }
  });
});
