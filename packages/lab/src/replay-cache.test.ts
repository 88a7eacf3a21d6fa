import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { describe, expect, it } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { breakpointCache, prefixCache, type ReplayCache } from "./replay-cache.ts";

const minute = 60_000;

/** Blocks of 1,000 tokens, one a letter; marked where a digit follows: 5 for five minutes, 1 for an hour. */
function promptOf(text: string): Prompt {
  const letters = [...text.matchAll(/([a-z])([51])?/g)];
  let chain = "";
  const blocks = letters.map(([, letter = "", mark], at) => {
    chain += letter;
    const lifetime: Lifetime = mark === "1" ? "1h" : "5m";
    return {
      level: "messages" as const,
      path: `messages.${at}.content.0`,
      type: "text",
      hash: letter,
      chain,
      tokens: 1_000,
      tokensUpTo: 1_000 * (at + 1),
      ...(mark === undefined ? {} : { breakpoint: lifetime }),
    };
  });
  return { blocks, tokens: 1_000 * blocks.length, boundChain: "", salts: { tools: "", system: "", messages: "" } };
}

interface Row {
  readonly rule: string;
  /** Prompts, and how many minutes after the first each is sent. */
  readonly sent: readonly (readonly [prompt: string, minutes: number])[];
  /** Of the last, in thousands: read, written for five minutes, for an hour, uncached. */
  readonly marked: readonly [number, number, number, number];
  readonly prefix: readonly [number, number, number, number];
}

const caches: Readonly<Record<"marked" | "prefix", () => ReplayCache>> = {
  marked: () => breakpointCache(1_000),
  prefix: prefixCache,
};

const rows: readonly Row[] = [
  { rule: "the first request is written", sent: [["ab5", 0]], marked: [0, 2, 0, 0], prefix: [0, 2, 0, 0] },
  {
    rule: "what the one before marked is read",
    sent: [
      ["ab5", 0],
      ["abc5", 1],
    ],
    marked: [2, 1, 0, 0],
    prefix: [2, 1, 0, 0],
  },
  {
    rule: "a cut where no mark stands before it is read by formulas only",
    sent: [
      ["abcd5", 0],
      ["abxd5", 1],
    ],
    marked: [0, 4, 0, 0],
    prefix: [2, 2, 0, 0],
  },
  {
    rule: "a cut behind a mark reads up to the mark",
    sent: [
      ["a5bcd5", 0],
      ["a5bxd5", 1],
    ],
    marked: [1, 3, 0, 0],
    prefix: [2, 2, 0, 0],
  },
  {
    rule: "an older request is found by its mark, while formulas know the last only",
    sent: [
      ["ab5", 0],
      ["xyz5", 1],
      ["abc5", 2],
    ],
    marked: [2, 1, 0, 0],
    prefix: [0, 3, 0, 0],
  },
  {
    rule: "what follows the last mark is uncached",
    sent: [["a5b", 0]],
    marked: [0, 1, 0, 1],
    prefix: [0, 2, 0, 0],
  },
  {
    rule: "after five minutes it is gone",
    sent: [
      ["ab5", 0],
      ["abc5", 5],
    ],
    marked: [0, 3, 0, 0],
    prefix: [0, 3, 0, 0],
  },
  {
    rule: "within the hour that was paid for it is not",
    sent: [
      ["ab1", 0],
      ["abc1", 59],
    ],
    marked: [2, 0, 1, 0],
    prefix: [2, 0, 1, 0],
  },
];

describe.each(["marked", "prefix"] as const)("the %s cache", (name) => {
  it.each(rows)("$rule", ({ sent, [name]: expected }) => {
    const cache = caches[name]();
    const usages = sent.map(([prompt, minutes]) => cache.send(promptOf(prompt), millis(minutes * minute)));
    const [cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, inputTokens] = expected.map((one) => 1_000 * one);
    expect(usages.at(-1)).toMatchObject({ cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, inputTokens });
  });

  it.each([
    ["into an empty cache", [], 1],
    ["into one that has expired", [["abc5", 0]], 1],
    ["into one that holds more", [["abc5", 7]], 3],
  ] as const)("reads what another session sent just before, %s", (_, sent, read) => {
    const cache = caches[name]();
    for (const [prompt, minutes] of sent) cache.send(promptOf(prompt), millis(minutes * minute));
    cache.share(promptOf("a5"), millis(8 * minute));
    expect(cache.send(promptOf("abcd5"), millis(8 * minute)).cacheReadTokens).toBe(1_000 * read);
  });

  it("leaves nothing behind where it is only asked", () => {
    const cache = caches[name]();
    expect(cache.peek(promptOf("ab5"), millis(0)).cacheWrite5mTokens).toBe(2_000);
    expect(cache.peek(promptOf("ab5"), millis(1)).cacheReadTokens).toBe(0);
    cache.send(promptOf("ab5"), millis(0));
    expect(cache.peek(promptOf("ab5"), millis(4 * minute)).cacheReadTokens).toBe(2_000);
    // Nor does it let anything live longer.
    expect(cache.peek(promptOf("ab5"), millis(6 * minute)).cacheReadTokens).toBe(0);
  });
});
