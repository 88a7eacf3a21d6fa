import { APIError as AnthropicError, APIUserAbortError } from "@anthropic-ai/sdk";
import { APIError as OpenAIError } from "openai";
import { expect, test } from "vitest";
import { millis } from "../schema/brand.ts";
import { anthropicRules, classifyThrown, openaiRules } from "./failure.ts";

const now = () => millis(0);
const anthropic = { rules: anthropicRules, now };
const tooLong = {
  type: "error",
  error: { type: "invalid_request_error", message: "prompt is too long: 205000 tokens > 200000 maximum" },
};

test("an error of an SDK says what it means, by its fields alone", () => {
  const error = AnthropicError.generate(400, tooLong, undefined, new Headers());
  expect(classifyThrown(anthropic, error)).toMatchObject({ why: "too-long", limitTokens: 200_000, status: 400 });
  const copy = { status: error.status, error: error.error, headers: error.headers, message: error.message };
  expect(classifyThrown(anthropic, copy)).toMatchObject({ why: "too-long", limitTokens: 200_000 });
  const limited = OpenAIError.generate(
    429,
    { error: { code: "rate_limit_exceeded", message: "Slow down" } },
    undefined,
    new Headers({ "retry-after": "7" }),
  );
  expect(classifyThrown({ rules: openaiRules, now }, limited)).toMatchObject({
    why: "rate-limited",
    retry: "later",
    retryAfterMs: 7_000,
  });
});

test("so do a status and a body, as text too", () => {
  expect(classifyThrown(anthropic, { status: 400, body: tooLong })).toMatchObject({ why: "too-long" });
  expect(classifyThrown(anthropic, { status: 400, body: JSON.stringify(tooLong) })).toMatchObject({ why: "too-long" });
  expect(classifyThrown(anthropic, { status: 529, body: "" })).toMatchObject({ why: "overloaded", retry: "later" });
});

test("what came from no server is the connection's failure", () => {
  expect(classifyThrown(anthropic, new TypeError("fetch failed"))).toMatchObject({ why: "network" });
  expect(classifyThrown(anthropic, new APIUserAbortError())).toMatchObject({ why: "aborted" });
  expect(classifyThrown(anthropic, new DOMException("stop", "AbortError"))).toMatchObject({ why: "aborted" });
});
