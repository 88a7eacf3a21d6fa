import { describe, expect, it } from "vitest";
import { fakeSecrets } from "../../../../test/fixture/secrets.ts";
import { asyncLines } from "../../../../test/fixture/trace.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { Responder } from "../responder/responder.ts";
import type { SimulatorOptions } from "../simulator-options.ts";
import { Simulator } from "../simulator.ts";
import { pairWithEarlier, traceDiff } from "./trace-diff.ts";
import { readTrace, type Trace } from "./read-trace.ts";
import { TraceWriter } from "./trace-writer.ts";

const marker = { cache_control: { type: "ephemeral" } };
const words = (topic: string): string => `${topic} `.repeat(1500);
const said = (role: string, text: string): JsonObject => ({ role, content: [{ type: "text", text, ...marker }] });
const first = said("user", words("hello"));
const reply = { role: "assistant", content: "Yes?" };

const body = (more: JsonObject): Json => ({
  model: "claude-opus-5",
  max_tokens: 100,
  system: [{ type: "text", text: words("help"), ...marker }],
  messages: [first],
  ...more,
});

async function traced(
  bodies: readonly Json[],
  headers: Readonly<Record<string, string>> = {},
  options: SimulatorOptions = {},
): Promise<Trace> {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  const simulator = new Simulator({ ...options, trace });
  await trace.begin({ seed: 0, startedAt: simulator.clock.now() });
  const all = new Headers({ "x-api-key": "k", "anthropic-version": "2023-06-01", ...headers });
  for (const one of bodies) {
    const answer = await simulator.messages({ body: one, headers: all });
    if (answer.kind === "stream") for await (const _ of answer.events);
  }
  const reading = await readTrace(asyncLines(lines));
  if (reading.kind !== "trace") throw new Error(reading.message);
  return reading.trace;
}

it("a trace holds no secret that a request or a reply holds", async () => {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  const all = fakeSecrets.map(({ text }) => text).join("\n");
  const responder: Responder = {
    name: "careless",
    respond: () => ({ move: { kind: "say", blocks: [{ type: "text", text: all }] } }),
  };
  const headers = new Headers({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
  await new Simulator({ trace, responder }).messages({
    body: body({ messages: [said("user", all)], system: all }),
    headers,
  });
  const written = lines.join("\n");
  expect(written.match(/\[secret: github-token\]/g)?.length).toBeGreaterThan(2);
  for (const { secret } of fakeSecrets) expect(written).not.toContain(JSON.stringify(secret).slice(1, -1));
});

describe("a trace of the simulator", () => {
  it.each<[string, JsonObject, string]>([
    ["only more", { messages: [first, reply, said("user", "more")] }, "hit"],
    ["another system prompt", { system: [{ type: "text", text: words("kelp"), ...marker }] }, "system_changed"],
    ["an edited message", { messages: [said("user", words("bye"))] }, "messages_changed"],
    ["a parameter", { thinking: { type: "adaptive" } }, "parameters_changed"],
    ["another model", { model: "claude-opus-4-8" }, "model_changed"],
    ["another speed", { speed: "fast" }, "model_changed"],
    ["a stream", { stream: true }, "hit"],
  ])("says why the cache missed: %s", async (_, more, reason) => {
    const trace = await traced([body({}), body(more)], { "anthropic-beta": "fast-mode-2026-02-01" });
    const [from, to] = trace.requests;
    if (from === undefined || to === undefined) throw new Error("requests are missing");
    expect(to.reply).toMatchObject({ outcome: "delivered", status: 200 });
    const { cache } = traceDiff({ trace, from, to });
    expect(cache.reasons).toEqual([reason]);
    expect(cache.readTokens === cache.offeredTokens).toBe(reason === "hit");
    expect(cache.offeredTokens).toBe(from.blocks.tokensUpTo(from.blocks.length));
  });

  it("has what was refused, and compares nothing with it", async () => {
    const trace = await traced([body({}), body({ messages: [] }), body({})]);
    expect(trace.requests.map(({ reply }) => reply?.outcome)).toEqual(["delivered", "refused", "delivered"]);
    const pairs = [...pairWithEarlier(trace.requests)].map(({ request, before }) => [request.n, before?.n]);
    expect(pairs).toEqual([
      [1, undefined],
      [2, undefined],
      [3, 1],
    ]);
  });

  const tenfold = { input: 50, cacheWrite5m: 62.5, cacheWrite1h: 100, cacheRead: 5, output: 250 };
  it.each<[string, JsonObject, SimulatorOptions, number]>([
    ["as the model is known to cost", {}, {}, 6.25 - 0.5],
    ["fast", { speed: "fast" }, {}, 12.5 - 1],
    ["in one place", { inference_geo: "us" }, {}, 6.875 - 0.55],
    ["by other prices", {}, { models: [{ id: "claude-opus-5", prices: tenfold }] }, 62.5 - 5],
  ])("says what a full miss cost, %s", async (_, more, options, usdPerMTok) => {
    const kelp = { system: [{ type: "text", text: words("kelp"), ...marker }] };
    const headers = { "anthropic-beta": "fast-mode-2026-02-01" };
    const trace = await traced([body(more), body({ ...more, ...kelp })], headers, options);
    const [from, to] = trace.requests;
    if (from === undefined || to === undefined) throw new Error("requests are missing");
    const { readTokens, againTokens, extraUsd } = traceDiff({ trace, from, to }).cache;
    expect(readTokens).toBe(0);
    expect(againTokens).toBeGreaterThan(1500);
    expect(extraUsd).toBeCloseTo((againTokens * usdPerMTok) / 1e6, 9);
  });

  it.each(["0", "0.5", "1000"])(
    "reckons with what was billed, not with usage that a fault made wrong: %s",
    async (factor) => {
      const trace = await traced([body({}), body({})], { "x-simulator-fault": `wrong-usage factor=${factor}` });
      const [from, to] = trace.requests;
      if (from === undefined || to === undefined) throw new Error("requests are missing");
      const { offeredTokens, ...cache } = traceDiff({ trace, from, to }).cache;
      expect(offeredTokens).toBeGreaterThan(3000);
      expect(cache).toMatchObject({ reasons: ["hit"], readTokens: offeredTokens, againTokens: 0, extraUsd: 0 });
    },
  );
});
