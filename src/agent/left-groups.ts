import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Session } from "../loop/session.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { LeftGroup, RunningGroups } from "../ports/running-groups.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { ToolUseId } from "../schema/brand.ts";
import { fileRunningGroups } from "../store/files/running-groups.ts";
import { groupLookMs, shellKillGraceMs } from "../tool/limits.ts";
import { signalGroup } from "../tool/process-group.ts";
import { endedLaterText } from "../transcript/repair.ts";

/** None in a store without paths. */
function groupsOf({ transcripts }: TranscriptsDep, session: Session): RunningGroups | undefined {
  const transcript = transcripts.whereIs(session.id);
  return transcript === undefined ? undefined : fileRunningGroups({ folder: dirname(transcript), session: session.id });
}

export type LeftSettled =
  | {
      readonly kind: "settled";
      /** For the commands to come. */
      readonly groups: RunningGroups | undefined;
      readonly warnings: readonly string[];
    }
  | WriteFailure;

/**
 * Commands that outlived an earlier run of the session, which was killed, are ended, and their calls answered with that.
 * Of a group without its leader nobody knows whose it is: it is told, as long as it is there.
 */
export async function settleLeft(deps: TranscriptsDep, session: Session): Promise<LeftSettled> {
  const groups = groupsOf(deps, session);
  const left = (await groups?.left()) ?? [];
  const warnings = left.flatMap(({ state, leader }) =>
    state === "leaderless" ? [`A command of the last run may still be running (group ${leader}).`] : [],
  );
  const ended = await endLeft(left);
  if (ended.length === 0) return { kind: "settled", groups, warnings };
  const settled = await session.settle(new Map(ended.map((toolUse) => [toolUse, endedLaterText])));
  if (settled.kind === "failed") return settled;
  const calls = ended.join(", ");
  return {
    kind: "settled",
    groups,
    warnings: [`Commands that an earlier run had left running were ended (${calls}).`, ...warnings],
  };
}

async function endLeft(left: readonly LeftGroup[]): Promise<readonly ToolUseId[]> {
  const ended = await Promise.all(
    left.map(async ({ leader, toolUse, state, forget }) => {
      if (state === "ours") await endGroup(leader);
      if (state !== "leaderless") await forget();
      return state === "ours" ? [toolUse] : [];
    }),
  );
  return ended.flat();
}

async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, "SIGTERM")) return;
  for (let waitedMs = 0; waitedMs < shellKillGraceMs; waitedMs += groupLookMs) {
    await wait(groupLookMs);
    if (!signalGroup(leader, 0)) return;
  }
  signalGroup(leader, "SIGKILL");
}
