import type { Policy } from "../layers/policy.ts";
import { type PolicyName, policyNames, type SavingLevel, savingLevels } from "../schema/policy-names.ts";
import { ablationPolicies } from "./ablation-policies.ts";
import { claudeCode20, claudeCode2026, claudeCode2026All, claudeCode21 } from "./claude-code.ts";
import { api, comparisonPolicies, mask, none, truncate } from "./comparison-policies.ts";
import { opencode } from "./opencode.ts";
import { palimpsest, palimpsestAt } from "./palimpsest.ts";

const presetByName: { readonly [Name in PolicyName]: Policy } = {
  palimpsest,
  "claude-code-2.0": claudeCode20,
  "claude-code-2.1": claudeCode21,
  "claude-code-2026": claudeCode2026,
  "claude-code-2026-all": claudeCode2026All,
  opencode,
  none,
  truncate,
  mask,
  api,
};

/** Policies that settings can name. */
export const presetNames: readonly PolicyName[] = policyNames;

export const getPreset = (name: PolicyName): Policy => presetByName[name];

/** The preset, at a setting of the dial if it is ours: a published system has no dial. */
export const resolvePolicy = (name: PolicyName, saving: SavingLevel): Policy =>
  name === "palimpsest" ? palimpsestAt(saving) : getPreset(name);

/** All policies for comparisons: the presets, our own at every setting of the dial, then those that only replays use. */
export const policyCatalogue = (): readonly Policy[] => [
  ...presetNames.map(getPreset),
  ...savingLevels.map(palimpsestAt).filter((policy) => policy !== palimpsest),
  ...comparisonPolicies,
];

/** The default, and the default without one part each. */
export const ablationNames: readonly string[] = [palimpsest, ...ablationPolicies].map(({ name }) => name);

export const findPolicy = (name: string): Policy | undefined =>
  [...policyCatalogue(), ...ablationPolicies].find((policy) => policy.name === name);
