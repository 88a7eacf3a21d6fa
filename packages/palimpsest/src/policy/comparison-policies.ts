import type { PriceRule } from "../cache/clear-price.ts";
import type { CompactRule, Policy, SizeRule } from "../layers/policy.ts";
import { palimpsest } from "./palimpsest.ts";

/**
 * What published systems are compared with: the simplest policies (presets, for the settings too), and the policies of
 * a study of clearing rules (for replays only), which differ in one thing each.
 */

const bare = {
  chooses: "first",
  counting: "usage",
  // Uses the whole window, without a warning and without a reserve.
  thresholds: { outputReserveTokensMax: 0, compactBufferTokens: 0, inputLimit: "ignored" },
  snip: "off",
  collapse: "off",
  notes: "off",
  extraction: "off",
  dream: "off",
  marks: "tools-system-and-rolling",
} as const satisfies Partial<Policy>;

const serverClearing: SizeRule = {
  when: "request",
  above: { tokens: 100_000, of: "sent" },
  keepResults: 3,
  keepTurns: 0,
  downToTokens: 0,
  savesTokensMin: 0,
  marker: "plain",
};

const allButNewest = (keepResults: number): SizeRule => ({
  when: "request",
  keepResults,
  keepTurns: 0,
  downToTokens: 0,
  savesTokensMin: 0,
  marker: "plain",
});

export const none: Policy = {
  ...bare,
  name: "none",
  about: "Everything is sent until the provider refuses it.",
  clear: {},
};

export const truncate: Policy = {
  ...bare,
  name: "truncate",
  about: "A sliding window: over 100,000 tokens the oldest rounds leave the view.",
  clear: {},
  truncate: { overTokens: 100_000 },
};

export const mask: Policy = {
  ...bare,
  name: "mask",
  about: "All but the newest 10 results are cleared before every request.",
  clear: { bySize: allButNewest(10) },
};

export const api: Policy = {
  ...bare,
  name: "api",
  about: "Only the provider's own clearing: from 100,000 tokens on, all but the newest 3 results.",
  clear: {
    byServer: { triggerTokens: 100_000, keepResults: 3, thinking: "left", modelledBy: serverClearing },
  },
};

const studied = {
  ...bare,
  chooses: "first",
  clearable: palimpsest.clearable,
  thresholds: {
    outputReserveTokensMax: 20_000,
    compactBufferTokens: 13_000,
    warningBufferTokens: 20_000,
    blockingBufferTokens: 3_000,
    inputLimit: "ignored",
  },
} as const satisfies Partial<Policy>;

/** If the cut moves each time, the cache is read only if the marks follow the cut. */
const planned = { ...studied, marks: "planned" } as const satisfies Partial<Policy>;

const forced: CompactRule = { call: "fork", headroomTokens: 10_000, restores: "files", lastRung: "none" };
const whenItPays: CompactRule = {
  ...forced,
  early: { patience: { first: 2, later: 2 }, fromWindowShare: 0, whenCold: "if-it-pays" },
};

const createPriceRule = (patience: PriceRule["patience"]): PriceRule => ({
  staleRounds: 3,
  agesFrom: "birth",
  patience,
  horizonRounds: 10,
  riskWeight: 0,
});

const coldOnly = createPriceRule("never");

/** In the order of the study's tables, with the default's own clearing after them. */
export const comparisonPolicies: readonly Policy[] = [
  { ...studied, name: "never", about: "Nothing is cleared; compaction at 167,000.", clear: {}, compact: forced },
  {
    ...planned,
    name: "cold",
    about: "The same, and what is stale goes when the cache is cold.",
    chooses: "price",
    clear: { byPrice: coldOnly },
    compact: forced,
  },
  {
    ...studied,
    name: "size",
    about: "Above 147,000 all but the newest 3 results, down to 40,000, at least 20,000.",
    clear: {
      bySize: {
        when: "request",
        above: { tokens: 147_000, of: "shown" },
        keepResults: 3,
        keepTurns: 0,
        downToTokens: 40_000,
        savesTokensMin: 20_000,
        marker: "plain",
      },
    },
    compact: forced,
  },
  {
    ...studied,
    name: "prune",
    about: "opencode's clearing, with compaction at 167,000.",
    clear: {
      bySize: {
        when: "turn",
        keepResults: 0,
        keepTurns: 2,
        downToTokens: 40_000,
        // Its rule is "more than 20,000".
        savesTokensMin: 20_001,
        marker: "plain",
      },
    },
    compact: forced,
  },
  {
    ...studied,
    name: "every-round",
    about: "All but the newest 3 results, every round.",
    clear: { bySize: allButNewest(3) },
    compact: forced,
  },
  {
    ...studied,
    name: "hide-10",
    about: "All but the newest 10 results, every round.",
    clear: { bySize: allButNewest(10) },
    compact: forced,
  },
  {
    ...studied,
    name: "api-100k",
    about: "As the provider clears: from 100,000 tokens on, all but the newest 3 results.",
    clear: { bySize: serverClearing },
    compact: forced,
  },
  {
    ...studied,
    name: "sliding-100k",
    about: "Over 100,000 tokens the oldest rounds leave the view.",
    clear: {},
    truncate: { overTokens: 100_000 },
    compact: forced,
  },
  {
    ...planned,
    name: "batches-9",
    about: "All but the newest 3 results, every 9 rounds.",
    clear: { bySize: { ...allButNewest(3), everyRounds: 9 } },
    compact: forced,
  },
  {
    ...planned,
    name: "rule",
    about: "The online rule: by rent, with a patience of 0.3.",
    chooses: "price",
    clear: { byPrice: createPriceRule(0.3) },
    compact: forced,
  },
  {
    ...planned,
    name: "rule-half",
    about: "By rent, with a patience of 0.5, as in the study.",
    chooses: "price",
    clear: { byPrice: createPriceRule(0.5) },
    compact: forced,
  },
  {
    ...planned,
    name: "rule-2",
    about: "By rent, with a patience of 2.",
    chooses: "price",
    clear: { byPrice: createPriceRule(2) },
    compact: forced,
  },
  {
    ...planned,
    name: "rule-compact",
    about: "By rent, with a patience of 0.5; compaction when it pays, with a patience of 2.",
    chooses: "price",
    clear: { byPrice: createPriceRule(0.5) },
    compact: whenItPays,
  },
  {
    ...planned,
    name: "rule-2-compact",
    about: "By rent, clearing and compaction with a patience of 2.",
    chooses: "price",
    clear: { byPrice: createPriceRule(2) },
    compact: whenItPays,
  },
  {
    ...planned,
    name: "cold-compact",
    about: "Cleared only when the cache is cold; compaction when it pays, with a patience of 2.",
    chooses: "price",
    clear: { byPrice: coldOnly },
    compact: whenItPays,
  },
  {
    ...palimpsest,
    name: "palimpsest-clear",
    about: "The default, compacted only when it must be.",
    compact: { ...forced, lastRung: "extract" },
  },
];
