import { residentTokensMin } from "../cache/limits.ts";
import type { Policy } from "../layers/policy.ts";

/** The default: layers propose, and the engine does what pays. */
export const palimpsest = {
  name: "palimpsest",
  about: "The default: every edit has a price in cache money, and what pays is done.",
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
  clear: {
    byPrice: { staleRounds: 3, agesFrom: "last-use", patience: 0.3, horizonRounds: 20, riskWeight: 1 },
    inCache: { fromResults: 1, keepResults: 0 },
  },
  snip: "off",
  collapse: "off",
  notes: "off",
  extraction: "on",
  dream: "on",
  compact: {
    call: "fork",
    patience: 1.5,
    lossCost: 40_000,
    headroomTokens: 10_000,
    restores: "files",
    lastRung: "extract",
  },
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
    extraction: { turnsMax: 5 },
    dream: { hoursMin: 24, sessionsMin: 5 },
    recall: { filesMax: 5, scannedMax: 200, linesMax: 200, fileKbMax: 4, sessionKbMax: 60 },
  },
  marks: "planned",
} as const satisfies Policy;
