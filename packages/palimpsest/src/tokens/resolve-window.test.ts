import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import { resolveWindow, type ResolvedWindow, parseNamedLimit } from "./resolve-window.ts";

const resolved = (model: string | undefined, recorded: number, extra: object = {}): ResolvedWindow =>
  resolveWindow({ model, recordedTokens: tokens(recorded), ...extra });

describe("the window of a session whose log shows usage", () => {
  it.each([
    [150_000, 200_000, "fallback"],
    [200_000, 200_000, "fallback"],
    [286_513, 400_000, "recorded"],
    [534_859, 1_000_000, "recorded"],
    [1_200_000, 2_000_000, "recorded"],
    [30_000_000, 30_000_000, "recorded"],
  ])("of a model that nobody knows holds the %i tokens that were counted: %i, %s", (recorded, window, source) => {
    expect(resolved("a-model-of-somebody", recorded)).toEqual({ tokens: window, source });
    expect(resolved(undefined, recorded)).toEqual({ tokens: window, source });
  });

  it("is a million if a beta could have asked for it and more was counted than fits without", () => {
    expect(resolved("claude-sonnet-4-20250514", 534_859)).toEqual({ tokens: 1_000_000, source: "recorded" });
    expect(resolved("claude-sonnet-4-20250514", 150_000)).toEqual({ tokens: 200_000, source: "registry" });
  });

  it("of a known model stays the same, and the user's, the server's and an error's size override it", () => {
    expect(resolved("claude-opus-4-5", 300_000)).toEqual({ tokens: 200_000, source: "registry" });
    expect(resolved("unknown", 300_000, { flagTokens: tokens(100_000) }).source).toBe("flag");
    expect(resolved("unknown", 300_000, { serverTokens: tokens(128_000) }).source).toBe("server");
    expect(resolved("unknown", 300_000, { learnedTokens: tokens(250_000) }).source).toBe("learned");
  });
});

describe("the window that an error names", () => {
  it.each<[string, number]>([
    ["prompt is too long: 208310 tokens > 200000 maximum", 200_000],
    ["prompt is too long: 208310 tokens > 199999 maximum", 199_999],
    [
      '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1,208,310 tokens > 1,000,000 maximum"}}',
      1_000_000,
    ],
    [
      "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
      200_000,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages.",
      8_192,
    ],
    ["This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens", 131_072],
    ["This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.", 32_768],
    ["The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)", 1_048_575],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
    ["prompt token count of 130000 exceeds the limit of 128000", 128_000],
    ["Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768],
    ["request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4_096],
    ["tokens to keep is greater than the context length (n_keep: 5000>= n_ctx: 4096)", 4_096],
    ["Your request exceeded model token limit: 262144", 262_144],
    ["`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 4_096],
    ["Current length is 9000 while limit is 8192", 8_192],
    ["Your tokens exceed the configured limit of 131072 tokens.", 131_072],
    ["maximum input length is 60000 tokens", 60_000],
    ["The context is too long: the maximum is 65536 tokens", 65_536],
    ["Your input is too long, maximum is 100_000", 100_000],
  ])("%s", (message, window) => {
    expect(parseNamedLimit(message)).toEqual({ of: "window", tokens: window });
  });

  it.each<[string, number]>([
    ["Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272_000],
    ["The prompt is too long: the maximum is 272,000 input tokens", 272_000],
    ["This model takes at most 272000 input tokens, your prompt has 300000", 272_000],
  ])("not the window, but the most that may be sent: %s", (message, limit) => {
    expect(parseNamedLimit(message)).toEqual({ of: "input", tokens: limit });
  });

  it.each([
    "",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context window exceeds limit (2013)",
    "capability_rejected: prompt_too_long",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "Throttling error: Too many tokens, maximum context length is 8192 tokens",
    "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Invalid 'user': string too long. Expected a string with maximum length 64 (string_above_max_length)",
    "prompt is too long: 5 tokens > 4 maximum",
    "input: at most 20 images, the maximum is 20",
    "max_tokens must be at least 1, got -500",
    "prompt is too long: 5 tokens > 99999999999 maximum",
  ])("none in: %s", (message) => {
    expect(parseNamedLimit(message)).toBeUndefined();
  });
});
