import { layers } from "../layers/layers.ts";
import type { Policy } from "../layers/policy.ts";
import { switchDefaults, type SwitchName } from "../schema/switch-rows.ts";

/**
 * The switches under a policy if nothing else sets them: on for the layers that it has, and the defaults for what no
 * policy decides.
 */
export function switchesByPolicy(policy: Policy): { readonly [Name in SwitchName]: boolean } {
  const { clear, compact, summary } = policy;
  return {
    ...switchDefaults,
    ...switchesOfLayers(policy),
    offload: policy.offload !== undefined,
    "clear.size": clear.bySize !== undefined || clear.byPrice !== undefined,
    "clear.idle": clear.byIdleness !== undefined || clear.byPrice !== undefined,
    "clear.api": clear.byServer !== undefined,
    snip: policy.snip === "on",
    collapse: policy.collapse === "on",
    notes: policy.notes === "on",
    // A user who turns notes on under a policy with numbers for them wants them to be used.
    notesCompact: policy.background?.notes !== undefined,
    // A sliding window counts as the policy's compaction.
    "compact.auto": compact !== undefined || policy.truncate !== undefined,
    "compact.reactive": summary === undefined ? compact !== undefined : summary.failures.reactive !== "never",
    "compact.background": summary?.made === "ahead",
    extraction: policy.extraction === "on",
    dream: policy.dream === "on",
  };
}

/** Switches of layers that decide themselves whether a policy has them. */
function switchesOfLayers(policy: Policy): { readonly [Name in SwitchName]?: boolean } {
  const isOnByName: { [Name in SwitchName]?: boolean } = {};
  for (const { switches, inPolicy } of layers)
    if (inPolicy !== undefined) for (const name of switches) isOnByName[name] = inPolicy(policy) !== undefined;
  return isOnByName;
}

/** Switches that have no effect when they are on: the policy has no rule for clearing by the API. */
export const listUnusedSwitches = ({ clear }: Policy): ReadonlySet<SwitchName> =>
  new Set(clear.byServer === undefined ? ["clear.api"] : []);
