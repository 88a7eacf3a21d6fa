import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import { resolveWindow, type ResolvedWindow } from "./resolve-window.ts";

const resolved = (model: string | undefined, recorded: number, extra: object = {}): ResolvedWindow =>
  resolveWindow({ model, recordedTokens: tokens(recorded), ...extra });

describe("the window of a session whose log shows usage", () => {
  it.each([
    [150_000, 200_000, "fallback"],
    [200_000, 200_000, "fallback"],
    [286_513, 400_000, "recorded"],
    [534_859, 1_000_000, "recorded"],
    [1_200_000, 2_000_000, "recorded"],
    [30_000_000, 30_000_000, "recorded"],
  ])("of a model that nobody knows holds the %i tokens that were counted: %i, %s", (recorded, window, source) => {
    expect(resolved("a-model-of-somebody", recorded)).toEqual({ tokens: window, source });
    expect(resolved(undefined, recorded)).toEqual({ tokens: window, source });
  });

  it("is a million if a beta could have asked for it and more was counted than fits without", () => {
    expect(resolved("claude-sonnet-4-20250514", 534_859)).toEqual({ tokens: 1_000_000, source: "recorded" });
    expect(resolved("claude-sonnet-4-20250514", 150_000)).toEqual({ tokens: 200_000, source: "registry" });
  });

  it("of a known model stays the same, and the user's, the server's and an error's size override it", () => {
    expect(resolved("claude-opus-4-5", 300_000)).toEqual({ tokens: 200_000, source: "registry" });
    expect(resolved("unknown", 300_000, { flagTokens: tokens(100_000) }).source).toBe("flag");
    expect(resolved("unknown", 300_000, { serverTokens: tokens(128_000) }).source).toBe("server");
    expect(resolved("unknown", 300_000, { learnedTokens: tokens(250_000) }).source).toBe("learned");
  });
});
