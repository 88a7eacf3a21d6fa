import { describe, expect, it } from "vitest";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { modelTraits } from "../prompt/model-traits.ts";
import { checkSize } from "./check-max-tokens.ts";

const count: CountRequest = { model: "m", messages: [] };
const asking = (max_tokens: number): MessagesRequest => ({ ...count, max_tokens });

const size = (id: string, promptTokens: number, more: { maxTokens?: number; betas?: string[] } = {}) => {
  const known = findModel(id) ?? findModel("claude-haiku-4-5");
  if (known === undefined) throw new Error(`no model ${id}`);
  const model = { ...known, id };
  return checkSize({
    request: asking(more.maxTokens ?? 1),
    model,
    traits: modelTraits(model),
    betas: new Set(more.betas),
    promptTokens,
  });
};

describe("the size of a request", () => {
  it("is refused where the prompt alone is longer than the window", () => {
    expect(size("claude-haiku-4-5", 208_310)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: "prompt is too long: 208310 tokens > 200000 maximum",
    });
    expect(size("claude-haiku-4-5", 200_000)).toBeUndefined();
    expect(size("claude-opus-5", 208_310)).toBeUndefined();
    expect(size("claude-opus-5", 1_000_001)).toMatchObject({
      message: "prompt is too long: 1000001 tokens > 1000000 maximum",
    });
  });

  it("counts max_tokens on models before 4.5 only, unless a beta says otherwise", () => {
    const old = "claude-opus-4-1";
    expect(size(old, 178_959, { maxTokens: 64_000 })).toMatchObject({
      status: 400,
      message:
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
    });
    expect(size(old, 136_000, { maxTokens: 64_000 })).toBeUndefined();
    const betas = ["model-context-window-exceeded-2025-08-26"];
    expect(size(old, 178_959, { maxTokens: 64_000, betas })).toBeUndefined();
    expect(size("claude-haiku-4-5", 178_959, { maxTokens: 64_000 })).toBeUndefined();
  });

  it("is no matter of a count", () => {
    const model = findModel("claude-haiku-4-5");
    if (model === undefined) throw new Error("no model");
    const traits = modelTraits(model);
    expect(checkSize({ request: count, model, traits, betas: new Set(), promptTokens: 999_999 })).toBeUndefined();
  });
});
