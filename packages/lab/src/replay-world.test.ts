import { describe, expect, it } from "vitest";
import { madeRecording, type MadeOptions, markerTokens } from "../../../test/fixture/replay/made-recording.ts";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import { summaryMessage } from "palimpsest/internal/layers/4-compact/summary-message";
import { createReplayWorld } from "./replay-world.ts";

const worldOf = (options: MadeOptions = {}) =>
  createReplayWorld(madeRecording([{ thinking: 40 }, { results: [900] }], options));
const named = (name: string) => {
  const policy = findPolicy(name);
  if (policy === undefined) throw new Error(`no policy ${name}`);
  return policy;
};

describe("what all runs over a recording share", () => {
  it.each([
    ["claude-opus-4-5", "claude-opus-4-5"],
    ["gpt-5-codex", "claude-sonnet-4-5"],
    [undefined, "claude-sonnet-4-5"],
  ])("a session of %s is priced and checked as %s", (model, as) => {
    const world = worldOf(model === undefined ? {} : { model });
    expect(world.model.id).toBe(as);
    const read: unknown = expect.closeTo(0.1, 12);
    expect(world.rates).toEqual({ "5m": { read, write: 1.25, output: 5 }, "1h": { read, write: 2, output: 5 } });
  });

  it("clears here what a server would clear, and leaves other policies as they are", () => {
    const world = worldOf();
    const api = world.policyFor(named("api"));
    expect(api.clear).toEqual({ bySize: named("api").clear.byServer?.modelledBy });
    expect(world.policyFor(named("api"))).toBe(api);
    expect(world.policyFor(named("palimpsest"))).toBe(named("palimpsest"));
  });

  it("makes every summary another one, of the size asked for", () => {
    const world = worldOf();
    const one = world.standIn({ alone: 3_000, within: 4_000, behindBoundary: 11_000 });
    const other = world.standIn({ alone: 1, within: 2, behindBoundary: 3 });
    const count = (text: string): number => world.tokensOf({ type: "text", text });
    expect([one, `Notes: ${one}`, summaryMessage({ summary: one, trigger: "auto" })].map(count)).toEqual([
      3_000, 4_000, 11_000,
    ]);
    expect(count(other)).toBe(1);
    expect(one).not.toEqual(other);
  });

  it("knows by round which results are needed, and what markers and thinking come to", () => {
    const world = worldOf({ needed: { t1_0: [4, 6], t2_0: [6] } });
    expect([3, 4, 6].map(world.neededIn)).toEqual([[], ["t1_0"], ["t1_0", "t2_0"]]);
    expect(world.markerTokens).toBe(markerTokens);
    expect(world.thinkingTokens).toBe(40);
  });

  it.each([
    ["claude-sonnet-5-5", "palimpsest", "left-out"],
    ["claude-sonnet-5-5", "truncate", "left-out"],
    ["claude-sonnet-5-5", "api", "left-out"],
    ["claude-sonnet-5-5", "none", "kept"],
    ["claude-opus-5", "palimpsest", "kept"],
  ])("thinking of %s under %s is %s", (model, policy, thinking) => {
    expect(worldOf({ model }).thinkingUnder(named(policy))).toBe(thinking);
  });
});
