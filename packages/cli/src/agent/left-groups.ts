import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { LeftGroup, RunningGroups } from "palimpsest/internal/ports/running-groups";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import { endGroup } from "../tool/process-group.ts";
import { endedLaterText } from "palimpsest/internal/transcript/repair";
import type { AgentOptions } from "./agent-options.ts";
import type { Assembling } from "./assembling.ts";

interface Left extends Pick<Assembling, "session"> {
  readonly jobs: AgentOptions["jobs"];
}

export type LeftSettled =
  | {
      readonly kind: "settled";
      /** For the commands to come. Undefined in a store that keeps no record of them. */
      readonly groups: RunningGroups | undefined;
      readonly warnings: readonly string[];
    }
  | WriteFailure;

/**
 * Commands that outlived an earlier run of the session, which was killed, are ended, and their calls answered with that.
 * Of a group without its leader nobody knows whose it is: it is told, as long as it is there.
 */
export async function settleLeft(deps: SessionFiles, { session, jobs }: Left): Promise<LeftSettled> {
  const groups = deps.runningGroupsFor?.(session.id);
  // Jobs that were handed over run on, and are on record; whoever had them has settled what was left before.
  if (typeof jobs === "object") return { kind: "settled", groups, warnings: [] };
  const left = (await groups?.left()) ?? [];
  const warnings = left.flatMap(({ state, leader }) =>
    state === "leaderless" ? [`A command of the last run may still be running (group ${leader}).`] : [],
  );
  const ended = await endLeft(left);
  // Servers of tools that were left running are nobody's call, and are started anew.
  const calls = ended.flatMap(({ toolUse }) => toolUse ?? []);
  if (calls.length === 0) return { kind: "settled", groups, warnings };
  const settled = await session.settle(new Map(calls.map((toolUse) => [toolUse, endedLaterText])));
  if (settled.kind === "failed") return settled;
  return {
    kind: "settled",
    groups,
    warnings: [`Commands that an earlier run had left running were ended (${calls.join(", ")}).`, ...warnings],
  };
}

async function endLeft(left: readonly LeftGroup[]): Promise<readonly LeftGroup[]> {
  await Promise.all(
    left.map(async ({ leader, state, forget }) => {
      if (state === "ours") await endGroup(leader);
      if (state !== "leaderless") await forget();
    }),
  );
  return left.filter(({ state }) => state === "ours");
}
