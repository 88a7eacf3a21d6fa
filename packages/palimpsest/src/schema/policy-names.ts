/** Policies that settings can name. */
export const policyNames = [
  "palimpsest",
  "claude-code-2.0",
  "claude-code-2.1",
  "claude-code-2026",
  "claude-code-2026-all",
  "opencode",
  "none",
  "truncate",
  "mask",
  "api",
] as const;
export type PolicyName = (typeof policyNames)[number];
/** The dial of the default policy, from the fewest edits to the lowest cost. */
export const savingLevels = ["careful", "balanced", "thrifty"] as const;
export type SavingLevel = (typeof savingLevels)[number];
