import { describe, expect, it } from "vitest";
import type { JsonObject } from "../schema/json.ts";
import { parseSpent } from "./usage-split.ts";

/** Input, read, 5m write, 1h write, output of each run. */
const rows = (usage: JsonObject): readonly (readonly number[])[] =>
  parseSpent(usage).map(({ usage: split, outputTokens }) => [
    split.inputTokens,
    split.cacheReadTokens,
    split.cacheWrite5mTokens,
    split.cacheWrite1hTokens,
    outputTokens,
  ]);

describe("what is paid for a reply", () => {
  it.each<[string, JsonObject, readonly (readonly number[])[]]>([
    ["nothing said", {}, [[0, 0, 0, 0, 0]]],
    ["no cache", { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: null }, [[7, 0, 0, 0, 3]]],
    [
      "writes without a lifetime are of five minutes",
      { input_tokens: 1, cache_read_input_tokens: 2, cache_creation_input_tokens: 3, output_tokens: 4 },
      [[1, 2, 3, 0, 4]],
    ],
    [
      "writes of both lifetimes",
      {
        cache_creation_input_tokens: 10,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 },
      },
      [[0, 0, 4, 6, 0]],
    ],
    [
      "runs that the totals leave out",
      {
        input_tokens: 5,
        output_tokens: 6,
        iterations: [
          { type: "compaction", input_tokens: 100, output_tokens: 20 },
          { type: "message", input_tokens: 5, output_tokens: 6 },
        ],
      },
      [
        [100, 0, 0, 0, 20],
        [5, 0, 0, 0, 6],
      ],
    ],
    ["damage", { input_tokens: -1, output_tokens: "many", cache_read_input_tokens: 1.5 }, [[0, 0, 0, 0, 0]]],
  ])("%s", (_, usage, expected) => expect(rows(usage)).toEqual(expected));

  it("where and how fast it ran", () => {
    expect(parseSpent({ input_tokens: 1, speed: "fast", inference_geo: "us" })).toMatchObject([
      { speed: "fast", inferenceGeo: "us" },
    ]);
  });
});
