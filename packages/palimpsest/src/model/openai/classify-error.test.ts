import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { describe, expect, it } from "vitest";
import type { ModelFailure } from "../../ports/model-port.ts";
import { millis } from "../../schema/brand.ts";
import { classifyError } from "./classify-error.ts";

const clock = { now: () => millis(0), baseUrl: "https://api.openai.com/v1" };

interface Told {
  readonly message?: string;
  readonly type?: string;
  readonly code?: string | number;
}

const answer = (status: number, told: Told | undefined, headers: Readonly<Record<string, string>> = {}): APIError =>
  APIError.generate(
    status,
    told === undefined ? undefined : { error: { message: "Said so", ...told } },
    undefined,
    new Headers({ "x-request-id": "req_1", ...headers }),
  );

const inStream = (told: Told): APIError =>
  new APIError(undefined, { message: "Said so", ...told }, undefined, new Headers());

describe("a failure of chat completions", () => {
  it.each<[string, unknown, object]>([
    ["400", answer(400, { type: "invalid_request_error" }), { why: "refused", retry: "never" }],
    ["401", answer(401, { code: "invalid_api_key" }), { why: "unauthorised", retry: "never" }],
    ["402", answer(402, { message: "Insufficient credits" }), { why: "spend-limit", retry: "never" }],
    ["403", answer(403, {}), { why: "unauthorised", retry: "never" }],
    ["404", answer(404, { code: "model_not_found" }), { why: "not-found", retry: "never" }],
    ["408", answer(408, {}), { why: "timeout", retry: "later" }],
    ["409", answer(409, {}), { why: "server", retry: "later" }],
    ["413", answer(413, { code: "rate_limit_exceeded" }), { why: "too-long", retry: "never" }],
    ["422", answer(422, {}), { why: "refused", retry: "never" }],
    ["429", answer(429, { code: "rate_limit_exceeded" }), { why: "rate-limited", retry: "later" }],
    ["429 of tokens", answer(429, { message: "Too many tokens" }), { why: "rate-limited", retry: "later" }],
    ["429 of money", answer(429, { code: "insufficient_quota" }), { why: "spend-limit", retry: "never" }],
    ["429 of money by type", answer(429, { type: "insufficient_quota" }), { why: "spend-limit", retry: "never" }],
    ["500", answer(500, {}), { why: "server", retry: "later" }],
    ["502", answer(502, {}), { why: "server", retry: "later" }],
    ["503", answer(503, {}), { why: "overloaded", retry: "later" }],
    ["504", answer(504, {}), { why: "timeout", retry: "later" }],
    ["529", answer(529, {}), { why: "overloaded", retry: "later" }],
    ["too long", answer(400, { code: "context_length_exceeded" }), { why: "too-long", retry: "never" }],
    [
      "too long, in numbers",
      answer(400, {
        message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      }),
      { why: "too-long", limitTokens: 8_192, usedTokens: 9_000 },
    ],
    ["too long, without a word", answer(400, undefined), { why: "too-long", retry: "never" }],
    [
      "a server that fails without a word",
      answer(500, undefined),
      { why: "server", message: "The server answered 500." },
    ],
    ["a filter", answer(400, { code: "content_filter" }), { why: "refused", retry: "never" }],
    ["a status in a stream", inStream({ code: 502 }), { why: "server", retry: "later", status: 502 }],
    ["an overload in a stream", inStream({ code: 503 }), { why: "overloaded", retry: "later" }],
    ["a code in a stream", inStream({ code: "rate_limit_exceeded" }), { why: "rate-limited", retry: "later" }],
    ["too long in a stream", inStream({ code: "context_length_exceeded" }), { why: "too-long", retry: "never" }],
    ["anything in a stream", inStream({}), { why: "server", retry: "later" }],
    ["an abort", new APIUserAbortError(), { why: "aborted", retry: "never" }],
    ["a timeout", new APIConnectionTimeoutError(), { why: "timeout", retry: "later" }],
    ["no connection", new APIConnectionError({}), { why: "network", retry: "later" }],
    [
      "a port that is never asked",
      new APIConnectionError({ cause: new TypeError("fetch failed", { cause: new Error("bad port") }) }),
      { why: "network", retry: "never" },
    ],
  ])("%s", (_, error, expected) => {
    expect(classifyError(clock, error)).toMatchObject(expected);
  });

  it.each([
    ["http://127.0.0.1:8080", {}, "names /v1", /^Said so \(.*http:\/\/127\.0\.0\.1:8080\/v1\)$/],
    ["http://127.0.0.1:8080/", undefined, "names /v1", /^The server answered 404\. \(.*:8080\/v1\)$/],
    ["http://127.0.0.1:8080/v1", {}, "says what the server said", /^Said so$/],
    ["http://127.0.0.1:8080", { code: "model_not_found" }, "says what the server said", /^Said so$/],
  ])("a 404 at %s with %j %s", (baseUrl, told, _, message) => {
    expect(classifyError({ ...clock, baseUrl }, answer(404, told)).message).toMatch(message);
  });

  it("tells the message without the status, the wait, and the server's id", () => {
    const failure: ModelFailure = classifyError(clock, answer(429, { message: "Slow down" }, { "retry-after": "2" }));
    expect(failure).toEqual({
      why: "rate-limited",
      retry: "later",
      message: "Slow down",
      retryAfterMs: 2_000,
      status: 429,
      requestId: "req_1",
    });
  });
});
