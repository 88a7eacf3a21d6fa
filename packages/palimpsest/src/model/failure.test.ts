import { describe, expect, it, test } from "vitest";
import { findRefusedBeside, findRefusedPart, anthropicRules, classifyThrown, openaiRules } from "./failure.ts";
import { APIError as AnthropicError, APIUserAbortError } from "@anthropic-ai/sdk";
import { APIError as OpenAIError } from "openai";
import { millis } from "../schema/brand.ts";

test.each([
  ["thinking", "messages.1.content.0: Invalid `signature` in `thinking` block"],
  [
    "thinking",
    "messages.5.content.0: Invalid `signature` in `redacted_thinking` block. The block is bound to a different conversation.",
  ],
  [
    "thinking",
    "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
  ],
  ["thinking", "Corrupted thought signature."],
  ["media", "messages: too many images in this request"],
  ["media", "messages.0.content.0.image.source.base64: Could not process image"],
  ["media", "messages.0.content.1: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"],
  ["media", "At most 1 image(s) may be provided in one request."],
  ["media", "Invalid content type. image_url is only supported by certain models."],
  ["media", "This model does not support image input."],
  ["media", "A maximum of 600 PDF pages may be provided."],
  ["media", "The PDF specified was not valid: password protected"],
  ["server-summary", "compaction_signature_invalid The compaction block is not ours"],
  [
    "other-blocks",
    "messages.1.content.0: Input tag 'server_tool_use' found using 'type' does not match any of the expected tags",
  ],
  [
    undefined,
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
  ],
  [undefined, "messages: roles must alternate"],
  [undefined, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"],
] as const)("%s: %s", (part, message) => {
  expect(findRefusedPart({ message, status: 400 })).toBe(part);
});

describe("a refusal names a part", () => {
  it("also with the status of a proxy that found no model for it, or of a server that will never take it", () => {
    expect(findRefusedPart({ message: "No endpoints found that support image input", status: 404 })).toBe("media");
    expect(findRefusedPart({ message: "image input is not supported", status: 500 })).toBe("media");
  });

  it("but not where the server is in trouble", () => {
    expect(findRefusedPart({ message: "Could not process image", status: 500 })).toBeUndefined();
    expect(findRefusedPart({ message: "Could not process image", status: 503 })).toBeUndefined();
  });
});

test.each([
  ["tools", "tools.3.custom.input_schema: JSON schema is invalid"],
  ["tools", "400 tools: Tool names must be unique."],
  ["tools", "Invalid schema for function 'a': schema must be an object"],
  ["settings", "system.0.text: text content blocks must be non-empty"],
  ["settings", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"],
  ["settings", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"],
  [undefined, "messages.1.content.0: Invalid `signature` in `thinking` block"],
  [undefined, "messages: tools are named that nobody knows"],
  [undefined, "Bad Request"],
] as const)("beside the messages %s: %s", (beside, message) => {
  expect(findRefusedBeside(message)).toBe(beside);
});

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
