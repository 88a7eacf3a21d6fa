import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AnthropicError,
} from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { ModelFailure } from "../../ports/model-port.ts";
import { millis } from "../../schema/brand.ts";
import type { ErrorType } from "../../schema/wire/reply-message.ts";
import { classifyError } from "./classify-error.ts";

const clock = { now: () => millis(Date.parse("2026-11-15T12:00:00Z")) };

interface Told {
  readonly type?: ErrorType;
  readonly message?: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function answer(status: number, { type, message = "Said so", code, headers = {} }: Told): APIError {
  const details = code === undefined ? {} : { details: { error_code: code } };
  const body = type === undefined ? undefined : { type: "error", error: { type, message, ...details } };
  return APIError.generate(status, body, message, new Headers({ "request-id": "req_1", ...headers }));
}

const inStream = (type: string, message = "Said so"): APIError =>
  new APIError(undefined, { type: "error", error: { type, message } }, undefined, new Headers());

type Expected = Pick<ModelFailure, "why" | "retry"> & Partial<ModelFailure>;

describe("a failure of the Messages API", () => {
  it.each<[string, unknown, Expected]>([
    ["400", answer(400, { type: "invalid_request_error" }), { why: "refused", retry: "never" }],
    ["401", answer(401, { type: "authentication_error" }), { why: "unauthorised", retry: "never" }],
    ["402", answer(402, { type: "billing_error" }), { why: "spend-limit", retry: "never" }],
    ["403", answer(403, { type: "permission_error" }), { why: "unauthorised", retry: "never" }],
    ["404", answer(404, { type: "not_found_error" }), { why: "not-found", retry: "never" }],
    ["409", answer(409, { type: "conflict_error" }), { why: "server", retry: "later" }],
    ["413", answer(413, { type: "request_too_large" }), { why: "too-long", retry: "never" }],
    ["429", answer(429, { type: "rate_limit_error" }), { why: "rate-limited", retry: "later" }],
    ["500", answer(500, { type: "api_error" }), { why: "server", retry: "later" }],
    ["504", answer(504, { type: "timeout_error" }), { why: "timeout", retry: "later" }],
    ["529", answer(529, { type: "overloaded_error" }), { why: "overloaded", retry: "later" }],
    ["a proxy's 401", answer(401, {}), { why: "unauthorised", retry: "never" }],
    ["a proxy's 402", answer(402, {}), { why: "spend-limit", retry: "never" }],
    ["a proxy's 404", answer(404, {}), { why: "not-found", retry: "never" }],
    ["a proxy's 408", answer(408, {}), { why: "timeout", retry: "later" }],
    ["a proxy's 409", answer(409, {}), { why: "server", retry: "later" }],
    ["a proxy's 413", answer(413, {}), { why: "too-long", retry: "never" }],
    ["a proxy's 422", answer(422, {}), { why: "refused", retry: "never" }],
    ["a proxy's 429", answer(429, {}), { why: "rate-limited", retry: "later" }],
    ["a proxy's 502", answer(502, {}), { why: "server", retry: "later" }],
    ["a proxy's 503", answer(503, {}), { why: "overloaded", retry: "later" }],
    ["a proxy's 529", answer(529, {}), { why: "overloaded", retry: "later" }],
    [
      "too long",
      answer(400, { type: "invalid_request_error", message: "prompt is too long: 208310 tokens > 200000 maximum" }),
      { why: "too-long", retry: "never", limitTokens: 200_000, usedTokens: 208_310 } as Expected,
    ],
    [
      "too long with its reply",
      answer(400, {
        type: "invalid_request_error",
        message: "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length",
      }),
      { why: "too-long", retry: "never", limitTokens: 200_000, usedTokens: 242_959 } as Expected,
    ],
    [
      "the monthly cap",
      answer(429, { type: "rate_limit_error", code: "enforced_spend_limit_reached" }),
      { why: "spend-limit", retry: "never" },
    ],
    [
      "a ramp",
      answer(429, { type: "rate_limit_error", code: "ramp_limit_exceeded" }),
      { why: "rate-limited", retry: "later" },
    ],
    [
      "the user's own cap",
      answer(400, {
        type: "invalid_request_error",
        message: "You have reached your specified API usage limits. You will regain access on 2026-12-01.",
      }),
      { why: "spend-limit", retry: "never" },
    ],
    [
      "no credit",
      answer(400, { type: "invalid_request_error", message: "Your credit balance is too low to access the API" }),
      { why: "spend-limit", retry: "never" },
    ],
    [
      "a rate limit that sounds like overflow",
      answer(429, { type: "rate_limit_error", message: "Too many tokens" }),
      { why: "rate-limited", retry: "later" },
    ],
    [
      "an overload that the server wants no retry of",
      answer(529, { type: "overloaded_error", headers: { "x-should-retry": "false" } }),
      { why: "overloaded", retry: "never" },
    ],
    ["overloaded in a stream", inStream("overloaded_error"), { why: "overloaded", retry: "later" }],
    ["a rate limit in a stream", inStream("rate_limit_error"), { why: "rate-limited", retry: "later" }],
    [
      "too long in a stream",
      inStream("invalid_request_error", "prompt is too long"),
      { why: "too-long", retry: "never" },
    ],
    ["refused in a stream", inStream("invalid_request_error"), { why: "refused", retry: "never" }],
    ["unknown in a stream", inStream("some_new_error"), { why: "server", retry: "later" }],
    ["an abort", new APIUserAbortError(), { why: "aborted", retry: "never" }],
    ["a timeout", new APIConnectionTimeoutError(), { why: "timeout", retry: "later" }],
    ["no connection", new APIConnectionError({}), { why: "network", retry: "later" }],
    [
      "a connection that is too slow",
      new APIConnectionError({ cause: failing("UND_ERR_BODY_TIMEOUT") }),
      { why: "timeout", retry: "later" },
    ],
    [
      "a certificate nobody trusts",
      new APIConnectionError({ cause: failing("SELF_SIGNED_CERT_IN_CHAIN") }),
      { why: "network", retry: "never" },
    ],
    [
      "no key",
      new AnthropicError("Could not resolve authentication method. Expected one of apiKey, authToken"),
      { why: "unauthorised", retry: "never" },
    ],
    ["anything else", "a string", { why: "network", retry: "later" }],
  ])("%s", (_, error, expected) => {
    expect(classifyError(clock, error)).toMatchObject(expected);
  });

  it.each([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["parts of a second", { "retry-after": "0.5" }, 500],
    ["no time at all", { "retry-after": "0" }, 0],
    ["milliseconds, which count more", { "retry-after-ms": "250", "retry-after": "7" }, 250],
    ["a date", { "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, 30_000],
    [
      "a date by the server's clock",
      { "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT", date: "Sun, 15 Nov 2026 12:00:20 GMT" },
      10_000,
    ],
    ["a date gone by", { "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, 0],
    ["nonsense", { "retry-after": "soon" }, undefined],
    ["nothing", {}, undefined],
  ])("tells how long to wait: %s", (_, headers, wait) => {
    expect(classifyError(clock, answer(429, { type: "rate_limit_error", headers })).retryAfterMs).toBe(wait);
  });

  it("tells the message, the status and the id under which the server knows the request", () => {
    const failure = classifyError(clock, answer(529, { type: "overloaded_error", message: "Over\n  loaded" }));
    expect(failure).toMatchObject({ message: "Over loaded", status: 529, requestId: "req_1" });
  });

  it("is one line, whatever page a proxy sends", () => {
    const page = answer(502, { message: "<html><body>Bad gateway</body></html>" });
    expect(classifyError(clock, page).message).toBe("The server answered 502.");
    expect(classifyError(clock, answer(503, { message: "Try\nlater" })).message).toBe("Try later");
    expect(classifyError(clock, answer(500, { type: "api_error", message: "x".repeat(10_000) })).message).toHaveLength(
      500,
    );
  });

  it("says what happened beneath the SDK", () => {
    const error = new APIConnectionError({ cause: new TypeError("fetch failed", { cause: failing("ECONNRESET") }) });
    expect(classifyError(clock, error).message).toBe("The connection failed: it failed with ECONNRESET");
  });
});

function failing(code: string): Error {
  return Object.assign(new Error(`it failed with ${code}`), { code });
}
