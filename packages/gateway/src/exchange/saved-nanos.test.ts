import { describe, expect, it } from "vitest";
import { savedNanos } from "./saved-nanos.ts";

/** $2 for a million input tokens, $2.5 written, $0.2 read. */
const model = "claude-sonnet-5-5";
const input = {
  prices: [{ id: model, prices: { input: 2, cacheWrite5m: 2.5, cacheWrite1h: 4, cacheRead: 0.2, output: 10 } }],
};
const usd = (nanos: number): number => nanos / 1e9;
const million = 1_000_000;

describe("what the client's own request would have cost more", () => {
  it("is its larger rest at the price of input, if nothing is cached", () => {
    const usage = { input_tokens: million };
    const saved = savedNanos({ model, usage }, { ...input, wholeTokens: 3 * million, lastSent: undefined, now: 0 });
    expect(usd(saved)).toBeCloseTo(4);
  });

  it("is only what would have been read from the cache, if that was in use", () => {
    const usage = { cache_read_input_tokens: million, input_tokens: 0 };
    const lastSent = { tokens: 3 * million, at: 0 };
    expect(usd(savedNanos({ model, usage }, { ...input, wholeTokens: 3 * million, lastSent, now: 1 }))).toBeCloseTo(
      0.4,
    );
  });

  it("is below 0 when an edit makes the provider write anew what it would have read", () => {
    const usage = { cache_creation_input_tokens: million };
    const lastSent = { tokens: 2 * million, at: 0 };
    const saved = savedNanos({ model, usage }, { ...input, wholeTokens: 2 * million, lastSent, now: 1_000 });
    expect(usd(saved)).toBeCloseTo(0.4 - 2.5);
    // Much later nothing would have been read either.
    const later = savedNanos({ model, usage }, { ...input, wholeTokens: 2 * million, lastSent, now: 3_600_000 });
    expect(usd(later)).toBeCloseTo(2.5);
  });

  it("is below 0 for a request that the client did not make", () => {
    const usage = { input_tokens: million };
    expect(usd(savedNanos({ model, usage }, { ...input, wholeTokens: 0, lastSent: undefined, now: 0 }))).toBeCloseTo(
      -2,
    );
  });
});
