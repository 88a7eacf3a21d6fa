import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import { isSilentOverflow, detectOverflow, overflowRows, type OverflowInput } from "./overflow.ts";

type Row = readonly [provider: string, said: OverflowInput, limit: number | undefined, used: number | undefined];

const said: readonly Row[] = [
  ["Anthropic", { message: "prompt is too long: 208310 tokens > 200000 maximum", status: 400 }, 200_000, 208_310],
  [
    "Anthropic",
    {
      message:
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
    },
    200_000,
    242_959,
  ],
  ["Anthropic", { message: "Request exceeds the maximum size", code: "request_too_large" }, undefined, undefined],
  ["Bedrock", { message: "Input is too long for requested model." }, undefined, undefined],
  ["Claude Code gateway", { message: "capability_rejected: prompt_too_long" }, undefined, undefined],
  ["OpenAI", { message: "Please adjust your input.", code: "context_length_exceeded" }, undefined, undefined],
  [
    "OpenAI",
    { message: "Your input exceeds the context window of this model. Please adjust your input and try again." },
    undefined,
    undefined,
  ],
  [
    "OpenAI",
    { message: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens." },
    272_000,
    300_000,
  ],
  [
    "OpenRouter, vLLM",
    {
      message:
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages.",
    },
    8_192,
    9_000,
  ],
  [
    "OpenRouter, vLLM",
    { message: "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens" },
    131_072,
    150_000,
  ],
  [
    "OpenRouter, vLLM",
    { message: "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens." },
    32_768,
    40_000,
  ],
  ["vLLM", { message: "The prompt is longer than the model's context length" }, undefined, undefined],
  ["vLLM", { message: "The decoder prompt is too long to fit into the model" }, undefined, undefined],
  ["vLLM", { message: "max_tokens must be at least 1, got -500" }, undefined, undefined],
  [
    "Gemini",
    { message: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)" },
    1_048_575,
    1_196_265,
  ],
  ["Gemini", { message: "The prompt exceeds the maximum number of tokens allowed (32768)" }, 32_768, undefined],
  [
    "xAI",
    { message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
    131_072,
    537_812,
  ],
  ["Groq", { message: "Please reduce the length of the messages or completion." }, undefined, undefined],
  ["Copilot", { message: "prompt token count of 130000 exceeds the limit of 128000" }, 128_000, 130_000],
  [
    "llama.cpp",
    { message: "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it" },
    4_096,
    5_000,
  ],
  [
    "LM Studio",
    { message: "tokens to keep is greater than the context length (n_keep: 5000>= n_ctx: 4096)" },
    4_096,
    5_000,
  ],
  ["MiniMax", { message: "invalid params, context window exceeds limit (2013)" }, undefined, undefined],
  ["Kimi", { message: "Your request exceeded model token limit: 262144" }, 262_144, undefined],
  [
    "Mistral",
    { message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length" },
    32_768,
    40_000,
  ],
  ["Ollama", { message: "prompt too long; exceeded max context length by 100 tokens" }, undefined, undefined],
  [
    "TGI",
    {
      message:
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
    },
    4_096,
    5_100,
  ],
  ["Cerebras", { message: "Current length is 9000 while limit is 8192" }, 8_192, 9_000],
  ["Cerebras", { message: "", status: 400 }, undefined, undefined],
  ["others", { message: "context_length_exceeded" }, undefined, undefined],
  ["others", { message: "Too many tokens in the prompt" }, undefined, undefined],
  ["others", { message: "token limit exceeded" }, undefined, undefined],
  ["others", { message: "maximum input length is 60000 tokens" }, 60_000, undefined],
  ["others", { message: "Too long: the maximum is 272000 input tokens" }, 272_000, undefined],
  ["others", { message: "Payload Too Large", status: 413 }, undefined, undefined],
];

const rowsFor = (one: OverflowInput) =>
  overflowRows.filter(
    ({ pattern, code, statuses }) =>
      (pattern?.test(one.message) ?? true) &&
      (code === undefined || code === one.code) &&
      (statuses === undefined || statuses.includes(one.status ?? 0)),
  );

describe("a request that does not fit", () => {
  it.each(said)("is told by %s: %o", (provider, one, limitTokens, usedTokens) => {
    expect(detectOverflow(one)).toEqual({
      ...(limitTokens === undefined
        ? {}
        : { limitTokens, limitOf: /input tokens/i.test(one.message) && limitTokens === 272_000 ? "input" : "window" }),
      ...(usedTokens === undefined ? {} : { usedTokens }),
    });
    expect(rowsFor(one).map((row) => row.provider)).toContain(provider);
  });

  it("has an example for every row of the table", () => {
    const shown = new Set(said.flatMap(([, one]) => rowsFor(one)));
    expect(overflowRows.filter((row) => !shown.has(row))).toEqual([]);
  });

  it.each<OverflowInput>([
    { message: "Throttling error: Too many tokens, please slow down." },
    { message: "Service unavailable: too many tokens" },
    { message: "This request would exceed your organization's rate limit: too many tokens" },
    { message: "Too many requests, token limit exceeded" },
    { message: "Too many tokens, please wait before trying again." },
    { message: "Too many tokens", status: 429 },
    { message: "token limit exceeded (string_above_max_length)" },
    { message: "Invalid 'user': string too long, 413", status: 413 },
    { message: "Invalid 'temperature': must be at most 2" },
    { message: "", status: 500 },
    { message: "image exceeds the limit of 5242880 bytes", status: 400 },
  ])("is not meant by %o", (one) => {
    expect(detectOverflow(one)).toBeUndefined();
  });
});

describe("a reply to a request that did not fit", () => {
  const usage = (input: number, output: number, cacheRead = 0) => ({
    input: tokens(input),
    cacheWrite: tokens(0),
    cacheRead: tokens(cacheRead),
    output: tokens(output),
  });
  it.each([
    { rule: "fits", stopReason: "end_turn", usage: usage(100, 20), silent: false },
    { rule: "fills the window exactly", stopReason: "end_turn", usage: usage(1_000, 5), silent: false },
    { rule: "counts more than the window", stopReason: "end_turn", usage: usage(1_001, 5), silent: true },
    { rule: "counts more, mostly cached", stopReason: "end_turn", usage: usage(101, 5, 900), silent: true },
    { rule: "has no room for a word", stopReason: "max_tokens", usage: usage(990, 0), silent: true },
    { rule: "has room and says nothing", stopReason: "max_tokens", usage: usage(989, 0), silent: false },
    { rule: "says a word at the brim", stopReason: "max_tokens", usage: usage(995, 1), silent: false },
    { rule: "says nothing on purpose", stopReason: "end_turn", usage: usage(995, 0), silent: false },
  ])("$rule: $silent", ({ stopReason, usage, silent }) => {
    expect(isSilentOverflow({ stopReason, usage, windowTokens: tokens(1_000) })).toBe(silent);
  });
});
