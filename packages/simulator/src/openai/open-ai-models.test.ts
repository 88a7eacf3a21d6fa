import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { OpenAiModels } from "./open-ai-models.ts";

const models = new OpenAiModels([
  { id: "gpt-5.6-small", windowTokens: 9_000 },
  { id: "house", windowTokens: 5_000 },
  { id: "claude-house" },
]);

describe("a model of this face", () => {
  it.each([
    ["gpt-5", "gpt-5"],
    ["gpt-5-2025-08-07", "gpt-5"],
    ["gpt-5-mini", "gpt-5-mini"],
    ["gpt-5.6-sol", "gpt-5.6-sol"],
    ["gpt-5-chat-latest", "gpt-5-chat"],
    ["house", "house"],
    ["gpt-5.9", undefined],
    ["gpt-5-nonsense", undefined],
    ["claude-opus-5", undefined],
    ["claude-house", undefined],
    ["gemini-2.5-pro", undefined],
  ])("%s", (name, id) => {
    expect(models.find(name)?.id).toBe(id);
  });

  it.each([
    ["gpt-4o", "automatic", "answers", 128_000],
    ["gpt-5", "automatic", "thinks", 272_000],
    ["gpt-5-chat", "automatic", "answers", 128_000],
    ["gpt-5.5", "automatic", "thinks", 272_000],
    ["gpt-5.6-sol", "breakpoints", "thinks", 272_000],
    ["gpt-5.3-chat-latest", "automatic", "answers", 128_000],
    ["gpt-5.5-pro", "automatic", "thinks", 272_000],
    ["gpt-6-cyber", "breakpoints", "thinks", 272_000],
    ["gpt-6-astra", "breakpoints", "thinks", 272_000],
    ["gpt-5.6-small", "breakpoints", "thinks", 9_000],
    ["house", "automatic", "answers", 5_000],
  ] as const)("%s: %s caching, %s", (name, caching, reasoning, inputTokensMax) => {
    expect(models.find(name)).toMatchObject({ caching, reasoning, inputTokensMax });
  });

  it("is every one since GPT-5 that the official client names with its version", () => {
    const types = readFileSync(new URL("shared.d.ts", import.meta.resolve("openai/resources/shared")), "utf8");
    const names = [...types.matchAll(/'(gpt-[5-9][^']*)'/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(30);
    // The client itself says of it that it is none.
    expect(new Set(names.filter((name) => models.find(name) === undefined))).toEqual(new Set(["gpt-5.1-mini"]));
  });

  it("has a price only where one is known", () => {
    expect(models.find("gpt-5")?.priced?.prices).toMatchObject({ input: 1.25, cacheWrite5m: 1.25 });
    expect(models.find("gpt-5.6-sol")?.priced).toBeUndefined();
    expect(models.find("house")?.priced).toBeUndefined();
  });
});
