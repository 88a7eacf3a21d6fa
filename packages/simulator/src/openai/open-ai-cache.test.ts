import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { SimulatorOptions } from "../simulator-options.ts";
import { Simulator } from "../simulator.ts";

interface Figures {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly short: number | undefined;
  readonly long: number | undefined;
  readonly diagnosis: Json | undefined;
  readonly costUsd: number;
  readonly id: string;
}

function asking(options: SimulatorOptions = {}) {
  const simulator = new Simulator(options);
  const ask = async (body: JsonObject, headers: Record<string, string> = {}): Promise<Figures> => {
    const answer = await simulator.openai.responses({
      body,
      headers: new Headers({ authorization: "Bearer sk-test", ...headers }),
    });
    if (answer.kind !== "body" || answer.status !== 200) throw new Error(JSON.stringify(answer));
    const { usage, prompt_cache_diagnostics: diagnosis, id } = answer.body as Record<string, Json>;
    const { input_tokens: input, input_tokens_details: details } = usage as Record<string, Json>;
    const told = details as Record<string, number> & { cache_write_tokens_details?: Record<string, number> };
    return {
      input: Number(input),
      cached: told["cached_tokens"] ?? -1,
      written: told["cache_write_tokens"] ?? -1,
      short: told.cache_write_tokens_details?.["ttl_30m_tokens"],
      long: told.cache_write_tokens_details?.["ttl_12h_tokens"],
      diagnosis,
      costUsd: Number(answer.headers["x-simulator-cost-usd"]),
      id: typeof id === "string" ? id : "",
    };
  };
  return { simulator, ask };
}

const words = (count: number, word = "stone"): string => `${word} `.repeat(count);
const user = (text: string): JsonObject => ({ role: "user", content: text });
const marked = (text: string, ttl?: string): JsonObject => ({
  role: "user",
  content: [
    {
      type: "input_text",
      text,
      prompt_cache_breakpoint: { mode: "explicit", ...(ttl === undefined ? {} : { ttl }) },
    },
  ],
});
const minute = 60_000;

const withTool: JsonObject = { tools: [{ type: "function", name: "read" }] };

describe("the cache before GPT-5.6", () => {
  const body = (input: Json, more: JsonObject = {}): JsonObject => ({ model: "gpt-5", input, ...more });

  it("reads what two prompts begin with, in steps of 128 tokens, also inside one text; writes are free", async () => {
    const { ask } = asking();
    const first = await ask(body(words(3_000)));
    expect(first).toMatchObject({ cached: 0, written: 0, short: undefined });
    const next = await ask(body(`${words(2_000)}${words(500, "water")}`));
    expect(next.cached % 128).toBe(0);
    expect(next.cached).toBeGreaterThan(1_024);
    expect(next.cached).toBeLessThanOrEqual(2_100);
  });

  it("caches nothing under 1,024 tokens", async () => {
    const { ask } = asking();
    await ask(body(words(500)));
    expect((await ask(body(words(500)))).cached).toBe(0);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["another key of the cache", { prompt_cache_key: "a" }, { prompt_cache_key: "b" }],
    ["another effort", { reasoning: { effort: "low" } }, { reasoning: { effort: "high" } }],
    ["another verbosity", { text: { verbosity: "low" } }, {}],
    ["another tier", { service_tier: "flex" }, {}],
    ["tools", { tools: [{ type: "function", name: "read" }] }, {}],
    ["another model", { model: "gpt-5-mini" }, {}],
    ["other instructions", { instructions: "Be short." }, { instructions: "Be long." }],
  ])("%s is another prefix", async (_, one, other) => {
    const { ask } = asking();
    await ask(body(words(2_000), one));
    expect((await ask(body(words(2_000), other))).cached).toBe(0);
    expect((await ask(body(words(2_000), one))).cached).toBeGreaterThan(0);
  });

  it("another key of the account reads nothing; a lost cache is empty", async () => {
    const { ask } = asking();
    await ask(body(words(2_000)));
    expect((await ask(body(words(2_000)), { authorization: "Bearer sk-other" })).cached).toBe(0);
    expect((await ask(body(words(2_000)), { "x-simulator-fault": "cache-lost" })).cached).toBe(0);
  });

  it.each([
    ["in_memory", 9, 11],
    ["24h", 23 * 60, 25 * 60],
    [null, 23 * 60, 25 * 60],
  ])("kept %s, an entry lives so long from its last use", async (retention, within, over) => {
    const { ask, simulator } = asking();
    const asked = body(words(2_000), { prompt_cache_retention: retention });
    await ask(asked);
    for (const _ of [1, 2]) {
      simulator.clock.advance(within * minute);
      expect((await ask(asked)).cached).toBeGreaterThan(0);
    }
    simulator.clock.advance(over * minute);
    expect((await ask(asked)).cached).toBe(0);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["no tier, and the one that serves it", {}, { service_tier: "default" }],
    ["two names of one tier", { service_tier: "fast" }, { service_tier: "priority" }],
    ["another choice among the same tools", withTool, { ...withTool, tool_choice: "required" }],
  ])("%s are one prefix", async (_, one, other) => {
    const { ask } = asking();
    await ask(body(words(2_000), one));
    expect((await ask(body(words(2_000), other))).cached).toBeGreaterThan(0);
  });

  it("an entry keeps the longer of two lives", async () => {
    const { ask, simulator } = asking();
    await ask(body(words(2_000), { prompt_cache_retention: "24h" }));
    await ask(body(words(2_000), { prompt_cache_retention: "in_memory" }));
    simulator.clock.advance(60 * minute);
    expect((await ask(body(words(2_000)))).cached).toBeGreaterThan(0);
  });

  it("what is read costs less", async () => {
    const { ask } = asking();
    const cold = await ask(body(words(5_000)));
    const warm = await ask(body(words(5_000)));
    expect(cold.costUsd - warm.costUsd).toBeCloseTo((warm.cached * (1.25 - 0.125)) / 1e6, 10);
  });
});

describe("the cache since GPT-5.6", () => {
  const body = (input: Json, more: JsonObject = {}): JsonObject => ({ model: "gpt-5.6-sol", input, ...more });

  it("writes the end of a request, and the next one reads to that exact token", async () => {
    const { ask } = asking();
    const first = await ask(body(words(2_000)));
    expect(first).toMatchObject({ cached: 0, written: first.input });
    const grown = [user(words(2_000)), { role: "assistant", content: "Well." }, user("More")];
    const next = await ask(body(grown));
    expect(next.cached).toBe(first.input);
    expect(next.written).toBe(next.input - next.cached);
  });

  it("says for how long it wrote only if the request controls its cache", async () => {
    const { ask } = asking();
    for (const [request, short] of [
      [body(words(2_000)), false],
      [body(words(3_000), { prompt_cache_options: {} }), true],
      [body([marked(words(4_000))]), true],
    ] as const)
      expect((await ask(request)).short !== undefined).toBe(short);
  });

  it("a text that only begins alike is not read: there is no breakpoint inside it", async () => {
    const { ask } = asking();
    await ask(body(words(3_000)));
    expect((await ask(body(`${words(3_000)}end`))).cached).toBe(0);
  });

  it("reads up to an explicit breakpoint, however far back it stands", async () => {
    const { ask } = asking();
    const begin = marked(words(2_000));
    const fill = Array.from({ length: 60 }, (_, at) => user(`filler ${at}`));
    const first = await ask(body([begin]));
    expect((await ask(body([begin, ...fill, user("another end")]))).cached).toBe(first.input);
  });

  it("is matched at the latest 80 breakpoints only", async () => {
    const { ask } = asking();
    const begin = marked(words(2_000));
    const marks = (count: number) => Array.from({ length: count }, (_, at) => marked(`mark ${at}`));
    const options = { prompt_cache_options: { mode: "explicit" } };
    const first = await ask(body([begin], options));
    expect((await ask(body([begin, ...marks(79)], options))).cached).toBe(first.input);
    const { ask: fresh } = asking();
    await fresh(body([begin], options));
    expect((await fresh(body([begin, ...marks(80)], options))).cached).toBe(0);
  });

  it.each([
    ["implicit", [1, 2, 3]],
    ["explicit", [0, 1, 2, 3]],
  ])("writes the latest ones: %s", async (mode, writtenAt) => {
    const options = { prompt_cache_options: { mode } };
    const parts = [0, 1, 2, 3].map((at) => marked(words(1_500, `part${at}`)));
    for (const at of [0, 1, 2, 3]) {
      const { ask } = asking();
      await ask(body([...parts, user("end")], options));
      const upTo = await ask(body([...parts.slice(0, at + 1), user(words(2_000, "other"))], options));
      expect(upTo.cached > 0).toBe(writtenAt.includes(at) || (at > 0 && writtenAt.includes(at - 1)));
    }
  });

  it("explicit without a breakpoint does not use the cache at all", async () => {
    const { ask } = asking();
    const asked = body(words(2_000), { prompt_cache_options: { mode: "explicit" } });
    await ask(asked);
    expect(await ask(asked)).toMatchObject({ cached: 0, written: 0 });
  });

  it.each([
    ["30m", 29, 31],
    ["12h", 11 * 60, 13 * 60],
  ])("an entry of %s lives that long from its last use, and is billed as such", async (ttl, within, over) => {
    const { ask, simulator } = asking();
    const asked = body(words(2_000), { prompt_cache_options: { ttl } });
    const first = await ask(asked);
    expect(ttl === "30m" ? first.short : first.long).toBe(first.input);
    for (const _ of [1, 2]) {
      simulator.clock.advance(within * minute);
      expect((await ask(asked)).cached).toBe(first.input);
    }
    simulator.clock.advance(over * minute);
    expect((await ask(asked)).cached).toBe(0);
  });

  it("a breakpoint's own lifetime counts for the stretch before it", async () => {
    const { ask } = asking();
    const told = await ask(body([marked(words(2_000), "12h"), user("tail")]));
    expect(told.long).toBeGreaterThan(1_900);
    expect(told.short).toBe(told.input - (told.long ?? 0));
  });

  it("what is read is not written again, at whatever lifetime", async () => {
    const { ask, simulator } = asking();
    const short = await ask(body([marked(words(2_000), "30m"), user("tail")]));
    const again = await ask(body([marked(words(2_000), "12h"), user("tail")]));
    expect(again).toMatchObject({ cached: short.input, short: 0, long: 0 });
    simulator.clock.advance(60 * minute);
    expect((await ask(body([marked(words(2_000), "30m"), user("tail")]))).cached).toBe(0);
  });

  it("a write costs a quarter more than input", async () => {
    const prices = { input: 4, cacheWrite5m: 4, cacheWrite1h: 4, cacheRead: 0.4, output: 0 };
    const { ask } = asking({ models: [{ id: "gpt-5.6-priced", prices }] });
    const told = await ask({ model: "gpt-5.6-priced", input: words(2_000) });
    expect(told.costUsd).toBeCloseTo((told.input * 5) / 1e6, 10);
  });

  it("prewarming writes and says nothing", async () => {
    const { ask } = asking();
    const asked = body(words(2_000));
    const warm = await ask({ ...asked, prompt_cache_options: { prewarm: true } });
    expect(warm.written).toBe(warm.input);
    expect((await ask(asked)).cached).toBe(warm.input);
  });

  it("reads and writes never exceed the prompt, and a repeated request reads what it wrote", async () => {
    const message = fc.record({
      text: fc.constantFrom("a ", "b ", "c "),
      count: fc.nat(1_500),
      isMarked: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 5 }), async (messages) => {
        const { ask } = asking();
        const input = messages.map(({ text, count, isMarked }) =>
          isMarked ? marked(`${text.repeat(count)}.`) : user(`${text.repeat(count)}.`),
        );
        const cold = await ask(body(input));
        const warm = await ask(body(input));
        expect(cold.cached + cold.written).toBeLessThanOrEqual(cold.input);
        expect(warm.cached).toBe(cold.cached + cold.written);
        expect(warm.written).toBe(0);
      }),
      { numRuns: 30 },
    );
  });
});

describe("why the cache was missed", () => {
  const long = words(2_000);
  const base: JsonObject = { model: "gpt-5.6-sol", input: [user(long)] };

  it.each<[string, JsonObject, object]>([
    ["nothing", { input: [user(long), { role: "assistant", content: "Yes." }, user("On")] }, { type: "cache_hit" }],
    ["the model", { model: "gpt-5.6-luna" }, { reason: "model_changed" }],
    ["the key", { prompt_cache_key: "k" }, { reason: "prompt_cache_key_changed" }],
    ["a tool", { tools: [{ type: "function", name: "read" }] }, { reason: "tools_changed" }],
    ["the format", { text: { format: { type: "json_object" } } }, { reason: "text_format_changed" }],
    ["the effort", { reasoning: { effort: "high" } }, { reason: "reasoning_effort_changed" }],
    ["the verbosity", { text: { verbosity: "low" } }, { reason: "verbosity_changed" }],
    ["the tier", { service_tier: "flex" }, { reason: "service_tier_changed" }],
    ["the input", { input: [user("Other")] }, { type: "cache_miss", reason: "input_changed" }],
  ])("%s", async (_, change, expected) => {
    const { ask } = asking();
    const first = await ask(base);
    const options = { prompt_cache_options: { comparison_response_id: first.id } };
    const { diagnosis } = await ask({ ...base, ...change, ...options });
    expect(diagnosis).toMatchObject(expected);
    if ("reason" in expected)
      expect(diagnosis).toMatchObject({ cache_missed_tokens: first.input, comparison_reusable_tokens: first.input });
  });

  it("says so where it knows nothing of the other response, or the entry is gone; and nothing unasked", async () => {
    const { ask, simulator } = asking();
    const compared = (id: string): JsonObject => ({ ...base, prompt_cache_options: { comparison_response_id: id } });
    expect((await ask(compared("resp_x"))).diagnosis).toEqual({ type: "comparison_response_not_found" });
    const first = await ask(base);
    simulator.clock.advance(60 * minute);
    expect((await ask(compared(first.id))).diagnosis).toEqual({ type: "unavailable" });
    expect((await ask(base)).diagnosis).toBeUndefined();
    const another = { authorization: "Bearer sk-other" };
    expect((await ask(compared(first.id), another)).diagnosis).toEqual({ type: "comparison_response_not_found" });
  });

  it("another choice among the same tools is no change of tools", async () => {
    const { ask } = asking();
    const first = await ask({ ...base, ...withTool });
    const options = { prompt_cache_options: { comparison_response_id: first.id } };
    const { diagnosis } = await ask({ ...base, ...withTool, ...options, tool_choice: "required" });
    expect(diagnosis).toEqual({ type: "cache_hit" });
  });
});
