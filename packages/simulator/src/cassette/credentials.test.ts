import { describe, expect, it } from "vitest";
import { credentialsMax } from "../limits.ts";
import {
  Credentials,
  findCredentials,
  upstreamRequestHeaders,
  pickRequestHeaders,
  pickResponseHeaders,
} from "./credentials.ts";

const keyed = (key: string): Headers => new Headers({ "x-api-key": key });

describe("the credentials of a recorder", () => {
  it("are those of this message and of all before it", () => {
    const credentials = new Credentials();
    credentials.seenWith(keyed("the-first-of-the-keys"));
    expect(credentials.seenWith(keyed("the-second-of-the-keys"))).toEqual([
      "the-first-of-the-keys",
      "the-second-of-the-keys",
    ]);
  });

  it("are so many at most; one that comes again and again is not forgotten", () => {
    const credentials = new Credentials();
    const seeMany = (turn: string): void => {
      for (let number = 1; number < credentialsMax; number += 1)
        credentials.seenWith(keyed(`number-${number}-of-the-${turn}-keys`));
    };
    for (const turn of ["first", "second"]) {
      credentials.seenWith(keyed("the-key-of-every-request"));
      seeMany(turn);
    }
    const seen = credentials.seenWith(new Headers());
    expect(seen).toHaveLength(credentialsMax);
    expect(seen).toContain("the-key-of-every-request");
    expect(seen).not.toContain("number-1-of-the-first-keys");
  });
});

describe("headers", () => {
  it.each([
    "authorization",
    "x-api-key",
    "api-key",
    "cookie",
    "anthropic-organization-id",
    "openai-organization",
    "x-anything",
    "user-agent",
  ])("a request's %s is passed on, but not kept", (name) => {
    const headers = new Headers({ [name]: "value", "anthropic-version": "2023-06-01" });
    expect(pickRequestHeaders(headers)).toEqual({ "anthropic-version": "2023-06-01" });
    expect(upstreamRequestHeaders(headers).get(name)).toBe("value");
  });

  it.each(["set-cookie", "anthropic-organization-id", "openai-organization", "cf-ray", "date"])(
    "a response's %s is not kept",
    (name) => {
      const headers = new Headers({
        [name]: "value",
        "anthropic-ratelimit-requests-remaining": "3",
        "retry-after": "1",
      });
      expect(pickResponseHeaders(headers)).toEqual({
        "anthropic-ratelimit-requests-remaining": "3",
        "retry-after": "1",
      });
    },
  );

  it("of one connection are not passed on, nor what it names as such", () => {
    const headers = new Headers({
      connection: "close, X-Hop",
      "x-hop": "1",
      te: "gzip",
      host: "a",
      "accept-encoding": "br",
    });
    expect([...upstreamRequestHeaders(headers)]).toEqual([["accept-encoding", "identity"]]);
  });

  it("credentials are what keys, bearers and cookies hold, and who asks; short ones are words", () => {
    const headers = new Headers({
      authorization: "Bearer a-bearer-of-some-length",
      "x-api-key": "any",
      cookie: "session=a-cookie-of-length; b=short",
      "x-other": "nothing-that-is-a-secret",
      "anthropic-ratelimit-tokens-reset": "2026-11-16T00:00:00Z",
      "anthropic-organization-id": "0b5c6a1e-organisation",
      "openai-organization": "The Company of Somebody",
      "openai-project": "proj_of-somebody",
    });
    expect(new Set(findCredentials(headers))).toEqual(
      new Set([
        "session=a-cookie-of-length",
        "a-bearer-of-some-length",
        "a-cookie-of-length",
        "0b5c6a1e-organisation",
        "The Company of Somebody",
        "proj_of-somebody",
      ]),
    );
  });

  it("of a new cookie the credential is its value, not where it is valid", () => {
    const headers = new Headers();
    headers.append("set-cookie", "a=first-cookie-of-length; Domain=api.example-service.com; Path=/a/path/of/length");
    headers.append("set-cookie", "b=other-cookie-of-length; Expires=Wed, 16-Nov-2026-00:00:00 GMT");
    expect(findCredentials(headers)).toEqual([
      "a=first-cookie-of-length",
      "first-cookie-of-length",
      "b=other-cookie-of-length",
      "other-cookie-of-length",
    ]);
  });
});
