import { ablationNames, policyCatalogue, presetNames } from "palimpsest/internal/policy/catalogue";
import type { KnownPolicies } from "./options.ts";

export const knownPolicies: KnownPolicies = {
  all: policyCatalogue().map(({ name }) => name),
  presets: presetNames,
  ablation: ablationNames,
};

export const policiesText = `Policies: ${knownPolicies.all.join(", ")}; presets: those that settings can name; all; ablation: the default, and the default with one part taken away or added each (docs/presets.md names them).`;
