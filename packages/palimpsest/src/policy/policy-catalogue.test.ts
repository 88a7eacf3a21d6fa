import { describe, expect, it } from "vitest";
import type { Policy } from "../layers/policy.ts";
import { settingTable } from "../schema/setting-table.ts";
import { policyNames, savingLevels } from "../schema/policy-names.ts";
import { switchDefaults } from "../schema/switch-rows.ts";
import { findPolicy, policyCatalogue, presetNames, getPreset, resolvePolicy } from "./policy-catalogue.ts";
import { policyRows } from "./policy-rows.ts";
import { switchesByPolicy } from "./switches-by-policy.ts";

const presets = presetNames.map(getPreset);
const named = (name: string): Policy => {
  const found = findPolicy(name);
  if (found === undefined) throw new Error(`no policy ${name}`);
  return found;
};
const valueIn = (policy: Policy, row: string): string | undefined =>
  policyRows(policy).find(({ name }) => name === row)?.value;

describe("the catalogue", () => {
  it("has a preset for every name of the settings, under that name", () => {
    expect(presets.map(({ name }) => name)).toEqual([...policyNames]);
  });

  it("has every name once, and finds each; none that is not there", () => {
    const all = policyCatalogue().map(({ name }) => name);
    expect(new Set(all).size).toBe(all.length);
    for (const name of all) expect(findPolicy(name)?.name).toBe(name);
    expect(findPolicy("best")).toBeUndefined();
  });

  it("has the policies of the study behind the presets, all with forced compaction by a fork", () => {
    const studied = policyCatalogue().slice(presets.length);
    expect(studied.map(({ name }) => name)).toEqual([
      "palimpsest-careful",
      "palimpsest-thrifty",
      "never",
      "cold",
      "size",
      "prune",
      "every-round",
      "hide-10",
      "api-100k",
      "sliding-100k",
      "batches-9",
      "rule",
      "rule-half",
      "rule-2",
      "rule-compact",
      "rule-2-compact",
      "cold-compact",
      "palimpsest-clear",
    ]);
    for (const { name, compact, thresholds } of studied) {
      expect([name, compact?.call, compact?.restores]).toEqual([name, "fork", "files"]);
      expect(200_000 - thresholds.outputReserveTokensMax - thresholds.compactBufferTokens).toBe(167_000);
    }
  });

  it("is data: it survives being written as JSON", () => {
    for (const policy of policyCatalogue()) expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });
});

describe("only the default", () => {
  it.each<[string, (policy: Policy) => boolean]>([
    ["has the audit", ({ summary }) => summary?.check === "audited"],
    ["has the ledger", ({ summary }) => summary?.userMessages !== undefined],
    ["has the extractive rung", ({ compact }) => compact?.lastRung === "extract"],
    ["prepares summaries in the background", ({ summary }) => summary?.made === "ahead"],
    [
      "prices",
      ({ chooses, clear, compact }) =>
        chooses === "price" || clear.byPrice !== undefined || compact?.early !== undefined,
    ],
    ["has a least size of results", ({ clearable }) => (clearable?.tokensMin ?? 0) > 0],
    ["leaves headroom", ({ compact }) => compact?.headroomTokens !== undefined],
    ["limits calls for summaries", ({ summary }) => summary?.failures.callsMax !== undefined],
    ["tries again after failures", ({ summary }) => summary?.failures.breakerRestRounds !== undefined],
    ["shows the structure of what it offloads", ({ offload }) => offload?.preview.shows === "structure"],
    ["plans its marks", ({ marks }) => marks === "planned"],
  ])("%s", (_, has) => {
    expect(presets.filter(has).map(({ name }) => name)).toEqual(["palimpsest"]);
  });
});

describe("the dial of the default", () => {
  const [careful, balanced, thrifty] = savingLevels.map((saving) => resolvePolicy("palimpsest", saving));

  it("is balanced unless a setting says otherwise", () => {
    expect(balanced).toBe(getPreset("palimpsest"));
    expect(settingTable.saving.default).toBe("balanced");
  });

  it("compacts earlier and for less from one setting to the next", () => {
    const starts = [careful, balanced, thrifty].map((policy) => policy?.compact?.early);
    const shares = starts.map((early) => early?.fromWindowShare ?? NaN);
    const patiences = starts.map((early) => early?.patience.later ?? NaN);
    expect(shares).toEqual(shares.toSorted((one, other) => other - one));
    expect(patiences).toEqual(patiences.toSorted((one, other) => other - one));
  });

  it.each(savingLevels)("asks for room and for money whatever it is set to: %s", (saving) => {
    const { byPrice } = resolvePolicy("palimpsest", saving).clear;
    expect(byPrice?.worth?.savesMin).toBeGreaterThan(0);
    expect(byPrice?.worth?.windowShareMin.cold).toBeGreaterThan(0);
    expect(byPrice?.worth?.windowShareMin.warm).toBeGreaterThan(0);
    expect(byPrice?.riskWeight).toBeGreaterThan(1);
  });

  it("changes no published policy", () => {
    for (const saving of savingLevels) expect(resolvePolicy("opencode", saving)).toBe(getPreset("opencode"));
  });
});

describe("the published table", () => {
  it.each<[string, string, string | undefined]>([
    ["claude-code-2.0", "counting", "last usage; budgets by characters / 4"],
    ["claude-code-2.0", "offload over", undefined],
    ["claude-code-2.0", "clear above", undefined],
    ["claude-code-2.0", "clear keeps", "3 newest results"],
    ["claude-code-2.0", "clear leaves", "a plain marker"],
    ["claude-code-2.0", "summary call", "plain, own system prompt"],
    ["claude-code-2.0", "summary", "nine sections, analysis kept"],
    ["claude-code-2.0", "reactive", "never"],
    ["claude-code-2.1", "offload over", "400,000 characters"],
    ["claude-code-2.1", "offload preview", "2,000 characters"],
    ["claude-code-2.1", "clear above", "the warning"],
    ["claude-code-2.1", "clear leaves", "a marker with the file's name"],
    ["claude-code-2.1", "summary call", "last block, with a breakpoint"],
    ["claude-code-2.1", "summary tells transcript path", "yes"],
    ["claude-code-2026", "offload over", "50,000 characters"],
    ["claude-code-2026", "offload, a round over", "200,000 characters"],
    ["claude-code-2026", "clear", "never"],
    ["claude-code-2026", "notes", "off"],
    ["claude-code-2026", "restored skills", "5,000 each ≤ 25,000 tokens"],
    ["claude-code-2026", "failures", "3 in a row stop it"],
    ["claude-code-2026", "dream", "on"],
    ["claude-code-2026-all", "clear when idle", "over 60 minutes"],
    ["claude-code-2026-all", "clear when idle keeps", "5 results"],
    ["claude-code-2026-all", "clear when idle leaves", "a plain marker"],
    ["claude-code-2.0", "summary model", "the provider's small fast model"],
    ["claude-code-2.1", "summary model", undefined],
    ["claude-code-2.1", "offload, a tool's own limit", "up to 400,000"],
    ["opencode", "clear results of", "every tool but skill"],
    ["mask", "clear results of", "tools that can be run again"],
    ["palimpsest", "clear results from", "100 tokens"],
    ["claude-code-2026-all", "clear in the cache", "from 12 results, keep 5"],
    ["claude-code-2026-all", "clear by the API from", "180,000 tokens"],
    ["claude-code-2026-all", "clear by the API at least", "140,000 tokens"],
    ["claude-code-2026-all", "notes", "on"],
    ["claude-code-2026-all", "snip", "on"],
    ["opencode", "clear by size", "after a turn"],
    ["opencode", "clear keeps", "2 newest turns"],
    ["opencode", "clear down to", "40,000 tokens"],
    ["opencode", "clear at least", "20,001 tokens"],
    ["opencode", "summary", "prose"],
    ["opencode", "restored", "nothing"],
    ["opencode", "cache marks", "first two system blocks, last two messages"],
    ["none", "clear", "never"],
    ["none", "compaction", "never"],
    ["truncate", "truncate over", "100,000 tokens"],
    ["mask", "clear keeps", "10 newest results"],
    ["api", "clear by the API from", "100,000 tokens"],
    ["api", "clear by the API keeps", "3 results"],
    [
      "palimpsest",
      "user messages, second compaction",
      "verbatim up to 5,000 tokens while all fit in 10% of the window, else cut to 2,000",
    ],
  ])("%s, %s: %s", (policy, row, value) => {
    expect(valueIn(named(policy), row)).toBe(value);
  });

  it("says of every preset which numbers are not from the published descriptions themselves", () => {
    const elsewhere = (name: string): readonly string[] =>
      policyRows(named(name)).flatMap((row) => (row.basis === "elsewhere" ? [row.name] : []));
    expect(elsewhere("claude-code-2.1")).toEqual([]);
    expect(elsewhere("opencode")).toEqual([]);
    expect(elsewhere("palimpsest")).toEqual([
      "offload over",
      "offload, a round over",
      "notes from",
      "notes again after",
      "extraction takes",
      "dream after",
      "recall, memories",
      "recall, each",
      "recall, a session",
    ]);
  });

  it("has each row once in a policy", () => {
    for (const policy of policyCatalogue()) {
      const names = policyRows(policy).map(({ name }) => name);
      expect(new Set(names).size, policy.name).toBe(names.length);
    }
  });
});

describe("switches", () => {
  it("under the default are the defaults of the table of settings", () => {
    expect(switchesByPolicy(getPreset("palimpsest"))).toEqual(switchDefaults);
  });

  it("are off for the layers that a policy does not have", () => {
    const on = Object.entries(switchesByPolicy(getPreset("none"))).flatMap(([name, isOn]) => (isOn ? [name] : []));
    expect(on).toEqual(["compact.manual", "agents", "progress"]);
  });

  it("are on for a sliding window as for a compaction", () => {
    expect(switchesByPolicy(getPreset("truncate"))["compact.auto"]).toBe(true);
  });
});
