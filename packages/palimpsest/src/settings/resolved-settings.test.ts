import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import { policyNames } from "../schema/policy-names.ts";
import { switchNames } from "../schema/switch-rows.ts";
import { explainThresholds } from "./explain-thresholds.ts";
import { environmentValues } from "@palimpsest/cli/internal/settings/read-settings";
import { flagValues } from "@palimpsest/cli/internal/settings/flag-values";
import { type GivenSettings, resolveSettings } from "./resolve-settings.ts";
import { resolveForModel, type ModelKnowledge } from "./resolved-settings.ts";

const withEnv = (env: Record<string, string>, knowledge?: ModelKnowledge) =>
  resolveForModel(resolveSettings([environmentValues(env)]), knowledge);
const fileSays = (name: "contextTokens" | "outputTokensMax" | "model", value: unknown): GivenSettings => ({
  givenByName: new Map([[name, { value, source: "project" as const, from: "/p/settings.json" }]]),
  problems: [],
});

describe("the published numbers", () => {
  it("of a 200K window are 180K, 167K, 147K and 197K", () => {
    expect(withEnv({}).thresholds).toMatchObject({
      effective: 180_000,
      compact: 167_000,
      warning: 147_000,
      blocking: 197_000,
    });
  });
  it("a percentage is floored and can only lower the threshold", () => {
    const at = (percent: string): number => withEnv({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent }).thresholds.compact;
    expect(at("50")).toBe(90_000);
    expect(at("33.33333")).toBe(59_999);
    expect(at("99")).toBe(167_000);
    expect(at("150")).toBe(167_000);
  });
  it("without automatic compaction the limit is the effective window", () => {
    const { thresholds, autoCompact } = withEnv({ DISABLE_AUTO_COMPACT: "1" });
    expect(autoCompact).toBe("off");
    expect(thresholds).toMatchObject({ limit: 180_000, warning: 160_000, blocking: 197_000 });
  });
});

describe("the policy", () => {
  const by = (policy: string, env: Record<string, string> = {}, knowledge?: ModelKnowledge) =>
    withEnv({ PALIMPSEST_POLICY: policy, ...env }, knowledge);
  it.each<[string, number, number, number]>([
    ["palimpsest", 167_000, 147_000, 197_000],
    ["claude-code-2.0", 187_000, 167_000, Infinity],
    ["claude-code-2.1", 155_000, 135_000, 197_000],
    ["claude-code-2026", 167_000, 147_000, 197_000],
    ["claude-code-2026-all", 167_000, 147_000, 197_000],
    ["opencode", 168_000, Infinity, Infinity],
  ])("%s compacts at %i in a window of 200,000, warns at %i, blocks at %i", (policy, compact, warning, blocking) => {
    const { thresholds, autoCompact } = by(policy);
    expect(autoCompact).toBe("on");
    expect(thresholds).toMatchObject({ compact, limit: compact, warning, error: warning, blocking });
  });
  it("that never compacts uses all of the window, also where the switch is on", () => {
    for (const policy of ["none", "truncate", "mask", "api"]) {
      const { autoCompact, thresholds } = by(policy, { PALIMPSEST_FLAG_COMPACT_AUTO: "1" });
      expect([policy, autoCompact]).toEqual([policy, "off"]);
      expect(thresholds).toMatchObject({ limit: 200_000, warning: Infinity, blocking: Infinity });
    }
  });
  it("opencode compacts at the model's own input limit where that is the smaller one", () => {
    expect(by("opencode", {}, { model: "gpt-5" }).thresholds).toMatchObject({ window: 400_000, compact: 272_000 });
    expect(by("opencode", { PALIMPSEST_CONTEXT_TOKENS: "200000" }, { model: "gpt-5" }).thresholds.compact).toBe(
      168_000,
    );
  });
  it("the default keeps every threshold within the model's own input limit", () => {
    const { window, thresholds } = by("palimpsest", {}, { model: "gpt-5" });
    expect(window.tokens).toBe(400_000);
    expect(thresholds).toMatchObject({ effective: 272_000, compact: 259_000, warning: 239_000, blocking: 269_000 });
    expect(by("palimpsest", { PALIMPSEST_CONTEXT_TOKENS: "200000" }, { model: "gpt-5" }).thresholds.compact).toBe(
      167_000,
    );
  });
  it("where a policy knows of no input limit, one that an error named is its window", () => {
    const learned = { model: "gpt-5", learnedInputTokens: tokens(272_000) };
    expect(by("claude-code-2.0", {}, { model: "gpt-5" }).window.tokens).toBe(400_000);
    expect(by("claude-code-2.0", {}, learned).window).toMatchObject({ tokens: 272_000, source: "learned" });
    expect(by("palimpsest", {}, learned).window).toMatchObject({ tokens: 400_000, source: "registry" });
  });
  it("says what is on where nobody else does", () => {
    const asked = by("claude-code-2026-all", { PALIMPSEST_FLAG_COLLAPSE: "0" }).switches;
    expect([asked.snip.value, asked.snip.from]).toEqual([true, "the policy claude-code-2026-all"]);
    expect([asked.collapse.value, asked.collapse.source]).toEqual([false, "environment PALIMPSEST_FLAG_COLLAPSE"]);
    expect(by("opencode", { PALIMPSEST_FLAG_NOTES: "1" }).switches.notes.value).toBe(true);
    expect(by("claude-code-2026", { DISABLE_COMPACT: "1" }).switches["compact.auto"].value).toBe(false);
  });
});

describe("the window", () => {
  const million = { model: "claude-sonnet-5-5" };
  it.each<[string, GivenSettings[], ModelKnowledge, number, string, string]>([
    ["nothing is known", [], {}, 200_000, "fallback", "no model is set"],
    ["the model is not known", [], { model: "x" }, 200_000, "fallback", "x is not in the registry"],
    ["the registry knows", [], million, 1_000_000, "registry", "the registry's claude-sonnet-5-5"],
    [
      "the server says",
      [],
      { ...million, serverTokens: tokens(400_000) },
      400_000,
      "server",
      "what the server declares",
    ],
    [
      "a suffix asks",
      [],
      { model: "x[1m]", serverTokens: tokens(400_000) },
      1_000_000,
      "model-suffix",
      "the suffix [1m] of x[1m]",
    ],
    ["a beta asks", [], { model: "x", betas: ["context-1m-2025-08-07"] }, 1_000_000, "beta", "the 1M beta header"],
    ["a file says", [fileSays("contextTokens", 90_000)], million, 90_000, "setting", "/p/settings.json"],
    [
      "the environment says",
      [fileSays("contextTokens", 90_000), environmentValues({ PALIMPSEST_CONTEXT_TOKENS: "80000" })],
      million,
      80_000,
      "environment",
      "PALIMPSEST_CONTEXT_TOKENS",
    ],
    [
      "a flag says",
      [
        environmentValues({ PALIMPSEST_CONTEXT_TOKENS: "80000" }),
        flagValues([{ flag: "context-tokens", text: "70000" }]),
      ],
      million,
      70_000,
      "flag",
      "--context-tokens",
    ],
    [
      "an error taught less",
      [flagValues([{ flag: "context-tokens", text: "70000" }])],
      { ...million, learnedTokens: tokens(60_000), learnedFrom: "/h/learned-windows.json" },
      60_000,
      "learned",
      "/h/learned-windows.json",
    ],
    [
      "an error taught more",
      [flagValues([{ flag: "context-tokens", text: "70000" }])],
      { ...million, learnedTokens: tokens(160_000) },
      70_000,
      "flag",
      "--context-tokens",
    ],
  ])("%s", (_, places, knowledge, count, source, from) => {
    expect(resolveForModel(resolveSettings(places), knowledge).window).toEqual({ tokens: count, source, from });
  });

  it("the output limit comes from environment, registry or fallback", () => {
    expect(withEnv({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: "8000" }, million).outputTokensMax).toEqual({
      tokens: 8_000,
      source: "environment",
      from: "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    });
    expect(withEnv({}, million).outputTokensMax).toMatchObject({ tokens: 128_000, source: "registry" });
    expect(withEnv({}).outputTokensMax).toMatchObject({ tokens: 64_000, source: "fallback" });
  });
});

describe("switches", () => {
  it("are off where what stands above them is, and say so", () => {
    const settings = resolveSettings([environmentValues({ PALIMPSEST_AUTO_MEMORY_ENABLED: "0" })]);
    const { switches } = resolveForModel(settings);
    expect(switches.extraction).toEqual({
      value: false,
      source: "environment PALIMPSEST_AUTO_MEMORY_ENABLED",
      from: "PALIMPSEST_AUTO_MEMORY_ENABLED",
    });
    expect(switches.dream.value).toBe(true);
  });
  it("each can be switched on its own", () => {
    for (const name of switchNames) {
      const { switches } = resolveForModel(resolveSettings([flagValues([{ flag: "off", text: name }])]));
      expect(switches[name].value).toBe(false);
      for (const other of switchNames)
        if (other !== name) expect(switches[other].source, `${name} ${other}`).toBe("default");
    }
  });
});

const anySettings = fc
  .record({
    window: fc.integer({ min: 8_000, max: 1_000_000 }),
    output: fc.option(fc.integer({ min: 1, max: 200_000 }), { nil: undefined }),
    percent: fc.option(fc.double({ min: 0.01, max: 100, noNaN: true }), { nil: undefined }),
    auto: fc.boolean(),
    policy: fc.constantFrom(...policyNames),
    model: fc.constantFrom("gpt-5", "nobody-knows"),
  })
  .map(({ window, output, percent, auto, policy, model }) => {
    const given = new Map<string, unknown>([["contextTokens", window]]);
    if (output !== undefined) given.set("outputTokensMax", output);
    if (percent !== undefined) given.set("compactPercent", percent);
    given.set("autoCompactEnabled", auto);
    given.set("policy", policy);
    given.set("model", model);
    const givenByName = new Map([...given].map(([name, value]) => [name, { value, source: "user", from: "" }]));
    return resolveForModel(resolveSettings([{ givenByName: givenByName as unknown as GivenSettings["givenByName"] }]));
  });

describe("any window from 8K to 1M", () => {
  it("has thresholds that are never negative and never cross", () => {
    fc.assert(
      fc.property(anySettings, ({ thresholds: t }) => {
        const order = [0, t.warning, t.limit, t.effective, t.window].filter(Number.isFinite);
        expect(order).toEqual(order.toSorted((one, other) => one - other));
        expect(t.compact).toBeGreaterThanOrEqual(0);
        expect(t.compact).toBeLessThanOrEqual(t.effective);
        expect(t.compact).toBeLessThan(t.blocking);
        if (Number.isFinite(t.blocking)) {
          expect(t.compact).toBeLessThan(t.effective);
          expect(t.blocking).toBeLessThan(t.window);
        }
        for (const count of Object.values(t) as number[])
          expect(Number.isInteger(count) || count === Infinity).toBe(true);
      }),
    );
  });

  it("has an arithmetic that gives the thresholds when it is reckoned out", () => {
    fc.assert(
      fc.property(anySettings, (settings) => {
        for (const [name, line] of Object.entries(explainThresholds(settings))) {
          expect([name, reckoned(line)]).toEqual([name, settings.thresholds[name as keyof typeof settings.thresholds]]);
        }
      }),
    );
  });
});

const reckoned = (line: string): unknown =>
  runInNewContext(
    line
      .replaceAll(/(?<=\d),(?=\d{3})/g, "")
      .replaceAll("−", "-")
      .replaceAll("×", "*")
      .replaceAll(/min|max|floor/g, "Math.$&")
      .replaceAll("none", "Infinity"),
  );
