import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { formatMiss, toComparable, requestKey } from "./request-key.ts";

const keyOf = (json: Json, path = "/v1/messages"): string =>
  requestKey(toComparable({ method: "POST", path, body: { json } }));

const turned = (value: Json): Json => {
  if (isArray(value)) return value.map((one) => turned(one));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, turned(inner)] as const)
      .toReversed(),
  );
};

describe("the key of a request", () => {
  it("does not depend on the order of fields", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        expect(keyOf(turned(json as Json))).toBe(keyOf(json as Json));
      }),
    );
  });

  it.each<[string, Json, Json]>([
    ["the user in metadata", { model: "a", metadata: { user_id: "1" } }, { model: "a", metadata: { user_id: "2" } }],
    ["metadata of a user or none", { model: "a", metadata: { user_id: "1" } }, { model: "a" }],
    ["the kind of a masked secret", { a: "token=[secret: key]" }, { a: "token=[secret: token]" }],
    ["the user of the other form", { model: "a", user: "1" }, { model: "a", prompt_cache_key: "2" }],
  ])("does not depend on %s", (_, one, other) => {
    expect(keyOf(one)).toBe(keyOf(other));
  });

  it.each<[string, Json, Json]>([
    ["a field", { model: "a" }, { model: "b" }],
    ["the order of a list", { a: [1, 2] }, { a: [2, 1] }],
    ["other metadata", { metadata: { run: "1" } }, { metadata: { run: "2" } }],
    ["a list or an object", { a: [] }, { a: {} }],
    ["a user further inside", { a: { user: "1" } }, { a: { user: "2" } }],
  ])("depends on %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it("depends on path and query, but not on the order of the query", () => {
    expect(keyOf({}, "/v1/x?a=1&b=2")).toBe(keyOf({}, "/v1/x?b=2&a=1"));
    expect(keyOf({}, "/v1/x?a=1")).not.toBe(keyOf({}, "/v1/x"));
  });
});

describe("a request without a cassette", () => {
  const candidate = (file: string, json: Json) => ({
    file,
    request: toComparable({ method: "POST", path: "/v1/messages", body: { json } }),
  });
  const asked = toComparable({ method: "POST", path: "/v1/messages", body: { json: { a: "one", list: [1, 2, 3] } } });

  it.each<[string, Json[], string]>([
    ["a field that differs", [{ a: "two", list: [1, 2, 3] }], 'at a: recorded "two", asked "one".'],
    [
      "the nearest of several",
      [
        { a: "two", list: [] },
        { a: "one", list: [1, 2, 4] },
      ],
      "2.jsonl; the first difference is at list.2: recorded 4, asked 3.",
    ],
    [
      "of equals the first",
      [
        { a: "x", list: [1, 2, 3] },
        { a: "y", list: [1, 2, 3] },
      ],
      "is 1.jsonl",
    ],
    [
      "of equals the one with the most text in common",
      [
        { a: "two", list: [1, 2, 3] },
        { a: "on", list: [1, 2, 3] },
        { a: "o", list: [1, 2, 3] },
      ],
      "is 2.jsonl",
    ],
    [
      "of equals the one with the same end",
      [
        { a: "x", list: [1, 2, 3] },
        { a: "none", list: [1, 2, 3] },
      ],
      "is 2.jsonl",
    ],
    ["what is missing", [{ a: "one", list: [1, 2] }], "at list.2: recorded nothing, asked 3."],
    ["what is too much", [{ a: "one", list: [1, 2, 3], b: null }], "at b: recorded null, asked nothing."],
  ])("is told %s", (_, bodies, text) => {
    expect(
      formatMiss(
        asked,
        bodies.map((json, at) => candidate(`${at + 1}.jsonl`, json)),
      ),
    ).toContain(text);
  });

  it("is told of no difference that is only one of kinds of secrets", () => {
    const [recorded, now] = ["key", "token"].map((kind) => candidate("1.jsonl", { a: `x=[secret: ${kind}]`, b: kind }));
    expect(formatMiss(now?.request ?? asked, recorded === undefined ? [] : [recorded])).toContain(
      "difference is at b: ",
    );
  });

  it("is told what there is where nothing is near", () => {
    const other = toComparable({ method: "GET", path: "/v1/models", body: null });
    expect(formatMiss(other, [candidate("1.jsonl", {})])).toBe(
      "No cassette answers GET /v1/models. Recorded: POST /v1/messages.",
    );
    expect(formatMiss(other, [])).toBe("No cassette answers GET /v1/models. The folder holds none at all.");
  });
});
