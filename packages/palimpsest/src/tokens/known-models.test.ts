import { describe, expect, it } from "vitest";
import { findCheapestModel, findModel, findSmallFastModel, wireModel } from "./known-models.ts";

describe("the model that a name means", () => {
  it.each<[string, string | undefined]>([
    ["claude-opus-4-5-20251101", "claude-opus-4-5"],
    ["claude-opus-5-5", "claude-opus-5-5"],
    ["claude-opus-5[1m]", "claude-opus-5"],
    ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"],
    ["us.anthropic.claude-opus-5-20260101-v1:0", "claude-opus-5"],
    ["claude-sonnet-4.6", "claude-sonnet-4-6"],
    ["claude-opus-50", undefined],
    ["gpt-5.5", undefined],
    ["gpt-5-2025-08-07", "gpt-5"],
    ["openai/gpt-5-codex", "gpt-5"],
    ["gpt-4o-2024-08-06", "gpt-4o"],
    ["google/gemini-2.5-flash", "gemini-2.5-flash"],
    ["claude-sonnet-4-20250514", "claude-sonnet-4"],
    ["claude-opus-4-1-20250805", "claude-opus-4-1"],
    ["claude-opus-4-20250514", "claude-opus-4"],
    ["claude-3-7-sonnet-latest", "claude-3-7-sonnet"],
    ["claude-3-5-haiku-20241022", "claude-3-5-haiku"],
    ["claude-sonnet-4-9", undefined],
    ["claude-opus-4.9", undefined],
  ])("%s is %s", (name, id) => expect(findModel(name)?.id).toBe(id));

  it("an override changes what it names and leaves the rest", () => {
    const overrides = [{ id: "claude-opus-5", windowTokens: 500_000 }];
    expect(findModel("claude-opus-5", overrides)).toMatchObject({ windowTokens: 500_000, outputTokensMax: 128_000 });
  });

  it("for an unknown model a window is enough", () => {
    expect(findModel("qwen3-coder", [{ id: "qwen3", windowTokens: 32_000 }])).toMatchObject({ windowTokens: 32_000 });
  });
});

const beta = "context-1m-2025-08-07";

it.each([
  ["claude-sonnet-4-5[1m]", "claude-sonnet-4-5", [beta]],
  ["claude-sonnet-4-5-20250929[1M]", "claude-sonnet-4-5-20250929", [beta]],
  ["some-model[1m]", "some-model", [beta]],
  // It has the window without asking.
  ["claude-opus-5[1m]", "claude-opus-5", []],
  ["claude-sonnet-4-5", "claude-sonnet-4-5", []],
])("%s goes over the wire as %s with %j", (name, id, betas) => {
  expect(wireModel(name)).toEqual({ id, betas });
});

it.each<[string, string | undefined]>([
  ["claude-sonnet-5", "claude-haiku-5-5"],
  ["claude-opus-4-5-20251101", "claude-haiku-5-5"],
  ["gpt-5", "gpt-5-mini"],
  ["gemini-2.5-pro", "gemini-2.5-flash"],
  // It costs no more itself.
  ["claude-haiku-5-5", undefined],
  ["gpt-5-nano", undefined],
  // The gateway's name for another model is not known.
  ["anthropic/claude-sonnet-5", undefined],
  ["llama-4", undefined],
])("the small fast model beside %s is %s", (name, small) => {
  expect(findSmallFastModel(name)?.id).toBe(small);
});

it.each([
  ["claude-opus-5", "claude-haiku-5-5"],
  ["claude-haiku-5-5", "claude-haiku-5-5"],
  ["gpt-5", "gpt-5-nano"],
  ["gemini-2.5-pro", "gemini-2.5-flash-lite"],
  ["anthropic/claude-opus-5", undefined],
  ["mystery", undefined],
])("the cheapest model of the provider of %s is %s", (name, cheapest) => {
  expect(findCheapestModel(name)?.id).toBe(cheapest);
});

it("the user's own prices count for the cheapest model", () => {
  const prices = { input: 0.01, output: 1, cacheRead: 0, cacheWrite5m: 1, cacheWrite1h: 1 };
  expect(findCheapestModel("claude-opus-5", [{ id: "claude-sonnet-5", prices }])?.id).toBe("claude-sonnet-5");
});
