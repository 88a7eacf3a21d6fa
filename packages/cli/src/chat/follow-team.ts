import { setTimeout as wait } from "node:timers/promises";
import type { Agent } from "../agent/agent.ts";
import { leaderGoneLooks, leaderLookMs } from "../team/limits.ts";
import { leaderBackText, leaderGoneText, readTeam, teamStatusText } from "../team/read-team.ts";

interface FollowTeamInput {
  readonly show: (status: string) => void;
  readonly tell: (text: string) => void;
  /** Aborted when the agent is left. */
  readonly signal: AbortSignal;
}

/** Keeps the status line of a member's chat as the team is, and tells its user when the leader goes and comes back. */
export async function followTeam(
  { mail }: Pick<Agent, "mail">,
  { show, tell, signal }: FollowTeamInput,
): Promise<void> {
  const membership = mail?.membership;
  if (membership === undefined) return show("");
  let shown = "";
  let told: "running" | "gone" | undefined;
  for (let gone = 0; !signal.aborted;) {
    const team = await readTeam(membership);
    if (signal.aborted) return;
    const status = teamStatusText(team);
    if (status !== shown) show(status);
    shown = status;
    gone = team.leader === "running" ? 0 : gone + 1;
    // The welcome has said so if there was none from the start.
    told ??= team.leader;
    if (told === "running" && gone >= leaderGoneLooks) {
      told = "gone";
      tell(leaderGoneText(team));
    } else if (told === "gone" && gone === 0) {
      told = "running";
      tell(leaderBackText(team));
    }
    await wait(leaderLookMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
