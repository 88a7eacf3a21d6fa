import type { Policy } from "../layers/policy.ts";

export const opencode: Policy = {
  name: "opencode",
  about: "opencode: after a turn the older results go if they are many; a summary in prose when the window is full.",
  chooses: "first",
  counting: "usage-without-writes",
  thresholds: { outputReserveTokensMax: 32_000, compactBufferTokens: 0, inputLimit: "compacts" },
  clearable: { tools: "all-but-skills", tokensMin: 0 },
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
  snip: "off",
  collapse: "off",
  notes: "off",
  extraction: "off",
  dream: "off",
  compact: { call: "plain", restores: "nothing", lastRung: "none" },
  summary: {
    call: "plain",
    form: "prose",
    analysis: "none",
    transcriptPath: "omitted",
    check: "none",
    made: "when-due",
    restored: { others: [], order: "as-listed" },
    failures: { retriesMax: 0, reactive: "once" },
  },
  marks: "two-system-and-last-two",
};
