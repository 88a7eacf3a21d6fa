import { layers } from "../layers/layers.ts";
import type { Policy } from "../layers/policy.ts";
import { switchDefaults, type SwitchName } from "../schema/switch-rows.ts";

/** What is on under a policy where nobody says otherwise: the layers that it has, and what no policy speaks of as it is by default. */
export function switchesByPolicy(policy: Policy): { readonly [Name in SwitchName]: boolean } {
  const { clear, compact, summary } = policy;
  return {
    ...switchDefaults,
    ...toldByLayers(policy),
    offload: policy.offload !== undefined,
    "clear.size": clear.bySize !== undefined || clear.byPrice !== undefined,
    "clear.idle": clear.byIdleness !== undefined || clear.byPrice !== undefined,
    "clear.api": clear.byServer !== undefined,
    snip: policy.snip === "on",
    collapse: policy.collapse === "on",
    notes: policy.notes === "on",
    // Who turns notes on under a policy that has numbers for them wants them to be of use.
    notesCompact: policy.background?.notes !== undefined,
    // A sliding window is such a policy's compaction.
    "compact.auto": compact !== undefined || policy.truncate !== undefined,
    "compact.reactive": summary === undefined ? compact !== undefined : summary.failures.reactive !== "never",
    "compact.background": summary?.made === "ahead",
    extraction: policy.extraction === "on",
    dream: policy.dream === "on",
  };
}

/** Of layers that know by themselves whether a policy has them. */
function toldByLayers(policy: Policy): { readonly [Name in SwitchName]?: boolean } {
  const told: { [Name in SwitchName]?: boolean } = {};
  for (const { switches, inPolicy } of layers)
    if (inPolicy !== undefined) for (const name of switches) told[name] = inPolicy(policy) !== undefined;
  return told;
}

/** What changes nothing when it is on: the policy has no rule by which the API would be asked to clear. */
export const listUnusedSwitches = ({ clear }: Policy): ReadonlySet<SwitchName> =>
  new Set(clear.byServer === undefined ? ["clear.api"] : []);
