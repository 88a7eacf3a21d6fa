import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { pickModel } from "./model-choice.ts";

test.each([
  ["gpt-5", {}, "no-key"],
  ["gpt-5", { OPENAI_API_KEY: "" }, "no-key"],
  ["gpt-5", { OPENAI_API_KEY: "key" }, "model"],
  ["gpt-5", { OPENAI_API_KEY: "", OPENAI_BASE_URL: "http://localhost:1234/v1" }, "model"],
  ["claude-sonnet-5-5", { ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "" }, "no-key"],
  ["claude-sonnet-5-5", { ANTHROPIC_API_KEY: "key" }, "model"],
])("an empty key counts as none: %s with %o is %s", (name, env, kind) => {
  expect(pickModel({ choice: { kind: "provider" }, name, env, now: () => millis(0) }).kind).toBe(kind);
});
