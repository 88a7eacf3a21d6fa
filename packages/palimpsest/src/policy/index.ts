/** The public names of `palimpsest/policy`: the default policy and every published system, as data. */
export type { Policy } from "../layers/policy.ts";
export type { PolicyName, SavingLevel } from "../schema/policy-names.ts";
export { findPolicy, policyCatalogue, presetNames, getPreset } from "./policy-catalogue.ts";
