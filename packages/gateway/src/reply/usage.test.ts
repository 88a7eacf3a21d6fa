import { tokens } from "palimpsest/internal/schema/brand";
import { describe, expect, it } from "vitest";
import { addInputTokens, joinUsage, usageChange } from "./usage.ts";

describe("addInputTokens", () => {
  it.each([
    {
      name: "counts tokens as read from the cache if the request used it",
      usage: { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 7 },
      more: 1_000,
      grown: { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 1_100, output_tokens: 7 },
    },
    {
      name: "counts them as read after a cold start too",
      usage: { input_tokens: 10, cache_creation_input_tokens: 50, cache_read_input_tokens: 0, output_tokens: 7 },
      more: 1_000,
      grown: { input_tokens: 10, cache_creation_input_tokens: 50, cache_read_input_tokens: 1_000, output_tokens: 7 },
    },
    {
      name: "counts them as input if the cache was not used",
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 },
      more: 1_000,
      grown: { input_tokens: 1_010, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 },
    },
    {
      name: "counts them as input if the server has no cache",
      usage: { input_tokens: 10, cache_read_input_tokens: null, output_tokens: 7 },
      more: 1_000,
      grown: { input_tokens: 1_010, cache_read_input_tokens: null, output_tokens: 7 },
    },
    {
      name: "takes from the input what the cache does not have",
      usage: { input_tokens: 50, cache_creation_input_tokens: 0, cache_read_input_tokens: 10, output_tokens: 7 },
      more: -30,
      grown: { input_tokens: 30, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 },
    },
    {
      name: "leaves a usage without an input side",
      usage: { output_tokens: 7 },
      more: 1_000,
      grown: { output_tokens: 7 },
    },
    {
      name: "grows the last message among the iterations",
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        iterations: [
          { type: "message", input_tokens: 4 },
          { type: "message", input_tokens: 6 },
          { type: "compaction", input_tokens: 90 },
        ],
      },
      more: 100,
      grown: {
        input_tokens: 110,
        output_tokens: 7,
        iterations: [
          { type: "message", input_tokens: 4 },
          { type: "message", input_tokens: 106 },
          { type: "compaction", input_tokens: 90 },
        ],
      },
    },
  ])("$name (anthropic)", ({ usage, more, grown }) => {
    expect(addInputTokens("anthropic", usage, more)).toEqual(grown);
  });

  it.each([
    { provider: "openai-chat" as const, input: "prompt_tokens", output: "completion_tokens" },
    { provider: "openai-responses" as const, input: "input_tokens", output: "output_tokens" },
  ])("grows input, cached part and total ($provider)", ({ provider, input, output }) => {
    const usage = (all: number, cached: number) => ({
      [input]: all,
      [`${input}_details`]: { cached_tokens: cached, audio_tokens: 0 },
      [output]: 20,
      total_tokens: all + 20,
    });
    expect(addInputTokens(provider, usage(100, 64), 900)).toEqual(usage(1_000, 964));
    expect(addInputTokens(provider, usage(100, 0), 900)).toEqual(usage(1_000, 0));
    expect(addInputTokens(provider, usage(100, 64), -80)).toEqual(usage(20, 0));
  });

  it("returns the same object if nothing is added", () => {
    const usage = { input_tokens: 1, output_tokens: 2 };
    expect(addInputTokens("anthropic", usage, 0)).toBe(usage);
  });
});

describe("usageChange", () => {
  it("changes nothing if the client is told what was used", () => {
    expect(usageChange("anthropic", { report: { kind: "used" }, writeDetails: "kept" })).toBeUndefined();
  });

  it("drops the details that a breakpoint of ours adds, and nothing else", () => {
    const change = usageChange("openai-responses", { report: { kind: "used" }, writeDetails: "dropped" });
    const details = { cached_tokens: 2, cache_write_tokens: 3 };
    const written = { ...details, cache_write_tokens_details: { ttl_30m_tokens: 3 } };
    expect(change?.({ input_tokens: 5, input_tokens_details: written })).toEqual({
      input_tokens: 5,
      input_tokens_details: details,
    });
    const usage = { prompt_tokens: 5, prompt_tokens_details: details };
    expect(change?.(usage)).toBe(usage);
  });

  it("asks for the tokens each time, since a continued reply has another request", () => {
    let more = tokens(5);
    const change = usageChange("anthropic", {
      report: { kind: "sent", omittedTokens: () => more },
      writeDetails: "kept",
    });
    expect(change?.({ input_tokens: 1 })).toEqual({ input_tokens: 6 });
    more = tokens(7);
    expect(change?.({ input_tokens: 1 })).toEqual({ input_tokens: 8 });
  });
});

describe("joinUsage", () => {
  it("has the input of the last reply and the output of all", () => {
    const earlier = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      output_tokens: 5,
      server_tool_use: { web_search_requests: 1 },
      iterations: [{ type: "message", output_tokens: 5 }],
      service_tier: "standard",
    };
    const last = {
      input_tokens: 12,
      cache_read_input_tokens: 110,
      output_tokens: 6,
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
      iterations: [{ type: "message", output_tokens: 6 }],
    };
    expect(joinUsage("anthropic", { earlier, last })).toEqual({
      input_tokens: 12,
      cache_read_input_tokens: 110,
      output_tokens: 11,
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 },
      iterations: [...earlier.iterations, ...last.iterations],
      service_tier: "standard",
    });
  });

  it("has a total that fits (openai)", () => {
    const usage = (input: number, output: number) => ({
      input_tokens: input,
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: input + output,
    });
    expect(joinUsage("openai-responses", { earlier: usage(10, 3), last: usage(20, 4) })).toEqual({
      input_tokens: 20,
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 27,
    });
  });
});
