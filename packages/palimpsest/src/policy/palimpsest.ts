import { residentTokensMin } from "../cache/limits.ts";
import type { EarlyCompactRule, Policy } from "../layers/policy.ts";
import type { PriceRule } from "../cache/clear-price.ts";
import type { SavingLevel } from "../schema/policy-names.ts";

/** What the dial sets: how readily the view is edited to save money. Everything else is the same in all three. */
interface SavingRule {
  readonly about: string;
  readonly clear: Pick<PriceRule, "patience"> & {
    readonly windowShareMin: { readonly warm: number; readonly cold: number };
  };
  readonly compact: EarlyCompactRule;
}

/** Chosen on recorded sessions: docs/benchmarks.md has what each saves, and how often each edits. */
const savingRules: { readonly [Name in SavingLevel]: SavingRule } = {
  careful: {
    about:
      "Edits as rarely as possible: before the threshold only large cold clears, and compaction from 65 % of the window.",
    clear: { patience: "never", windowShareMin: { warm: 0.1, cold: 0.05 } },
    compact: { patience: { first: 1.5, later: 1.5 }, fromWindowShare: 0.65, whenCold: "never" },
  },
  balanced: {
    about:
      "The default: clears only when the cache is cold, and compacts early only if that pays and 45 % of the window is used.",
    clear: { patience: "never", windowShareMin: { warm: 0.1, cold: 0.01 } },
    compact: { patience: { first: 1.5, later: 0.7 }, fromWindowShare: 0.45, whenCold: "never" },
  },
  thrifty: {
    about: "Saves most: clears and compacts as soon as that pays.",
    clear: { patience: 1, windowShareMin: { warm: 0.1, cold: 0.01 } },
    compact: { patience: { first: 0.5, later: 0.5 }, fromWindowShare: 0, whenCold: "if-it-pays" },
  },
};

/** The default policy, at a setting of the dial. */
export const palimpsestAt = (saving: SavingLevel): Policy => palimpsestBySaving[saving];

function withSaving(saving: SavingLevel) {
  const { about, clear, compact } = savingRules[saving];
  const { patience, windowShareMin } = clear;
  return {
    ...shared,
    name: saving === "balanced" ? "palimpsest" : `palimpsest-${saving}`,
    about,
    clear: {
      byPrice: { ...clearByPrice, patience, worth: { windowShareMin, savesMin: clearSavesMin } },
      inCache: { fromResults: 1, keepResults: 0 },
    },
    compact: {
      call: "fork",
      early: compact,
      lossCost: 40_000,
      headroomTokens: 10_000,
      restores: "files",
      lastRung: "extract",
    },
  } as const satisfies Policy;
}

/** The least that an unforced clear is expected to save: about one and a half cents at $3 a million input tokens. */
const clearSavesMin = 5_000;

const clearByPrice = { staleRounds: 3, agesFrom: "last-use", horizonRounds: 20, riskWeight: 2 } as const;

const shared = {
  chooses: "price",
  counting: "usage-and-calibrated-estimate",
  thresholds: {
    outputReserveTokensMax: 20_000,
    compactBufferTokens: 13_000,
    warningBufferTokens: 20_000,
    blockingBufferTokens: 3_000,
    inputLimit: "bounds",
  },
  offload: {
    resultCharsMax: 50_000,
    hardCharsMax: 400_000,
    toolsOwn: "counts",
    roundCharsMax: 200_000,
    preview: { of: "bytes", length: 2_000, shows: "structure" },
  },
  clearable: { tools: "rerunnable", tokensMin: residentTokensMin },
  snip: "off",
  collapse: "off",
  notes: "off",
  extraction: "on",
  dream: "on",
  summary: {
    call: "fork-then-plain",
    form: "nine-sections",
    analysis: "stripped",
    transcriptPath: "included",
    check: "audited",
    made: "ahead",
    restored: {
      files: { filesMax: 5, tokensMaxEach: 5_000, tokensMax: 50_000 },
      skills: { tokensMaxEach: 5_000, tokensMax: 25_000 },
      others: ["todos", "plan", "agents", "tools", "mcp"],
      order: "stable-first",
    },
    failures: {
      breakerFailures: 3,
      breakerRestRounds: 20,
      // A session that compacts more often than every fifth round pays more for summaries than for its work.
      callsMax: { calls: 6, inRounds: 30 },
      retriesMax: 3,
      reactive: "once",
    },
    userMessages: { messageTokensMax: 2_000, windowShareMax: 0.1 },
  },
  background: {
    notes: { firstTokens: 10_000, growthTokens: 5_000, callsMin: 3 },
    extraction: { turnsMax: 5, corrections: "at-once", atEnd: "while-warm" },
    dream: { hoursMin: 24, sessionsMin: 5 },
    recall: { filesMax: 5, scannedMax: 200, linesMax: 200, fileKbMax: 4, sessionKbMax: 60 },
  },
  marks: "planned",
} as const satisfies Omit<Policy, "name" | "about" | "clear" | "compact">;

/** The default: layers propose, and the engine does what pays. */
export const palimpsest = withSaving("balanced");

const palimpsestBySaving: { readonly [Name in SavingLevel]: Policy } = {
  careful: withSaving("careful"),
  balanced: palimpsest,
  thrifty: withSaving("thrifty"),
};
