import { parseReceiver } from "palimpsest/internal/schema/agent-address";
import { leaderName, type TeamMember } from "palimpsest/internal/schema/team";
import type { TeamTask } from "palimpsest/internal/ports/task-list";
import { plural } from "palimpsest/internal/text/format-count";
import { joinLines } from "./agent-mail.ts";
import { findRunning } from "./team-store.ts";
import type { TeamMembership } from "./team-membership.ts";

/** A member of a team for somebody who looks. `died`: its process is gone without having left. */
interface MemberView {
  readonly member: TeamMember;
  readonly state: TeamMember["state"] | "died";
}

/** A team as one of its members sees it. */
export interface TeamView extends Pick<TeamMembership, "team" | "name" | "role"> {
  readonly leader: "running" | "gone";
  /** All members but this one, in the order in which they joined. */
  readonly others: readonly MemberView[];
}

/** Changes nothing: what died is released by the leader's next look. */
export async function readTeam({ store, team, name, role }: TeamMembership): Promise<TeamView> {
  const members = (await store.read(team))?.members ?? [];
  const running = await findRunning({ members });
  const others = members
    .filter((member) => member.name !== name)
    .map((member) => ({ member, state: memberState(member, running) }));
  return { team, name, role, leader: role === "leader" || running.has(leaderName) ? "running" : "gone", others };
}

const memberState = (
  { name, state, process }: TeamMember,
  running: ReadonlySet<string>,
): TeamMember["state"] | "died" => (state === "stopped" || running.has(name) || process === undefined ? state : "died");

const isRunning = ({ state }: MemberView): boolean => state !== "stopped" && state !== "died";

/** `docs (leader) · 2 teammates`, for the status line. */
export function teamStatusText({ team, name, role, leader, others }: TeamView): string {
  const count = others.filter(isRunning).length;
  const rest = role === "leader" ? `${count} ${plural(count, "teammate")}` : leader === "gone" ? "no leader" : "";
  return [`${team} (${name})`, rest].filter((part) => part !== "").join(" · ");
}

/** What a user is told who opens a chat of the team. */
export function teamWelcomeText({ team, name, role, leader, others }: TeamView): string {
  const count = others.filter(isRunning).length;
  const whose =
    role === "leader"
      ? `you talk with its leader; ${count === 0 ? "no teammate runs yet" : `${count} ${plural(count, "teammate")} ${count === 1 ? "runs" : "run"}`}.`
      : `you talk with ${name}${leader === "gone" ? "; its leader does not run." : "."}`;
  return `Team ${team}: ${whose} /agents lists the members, /tasks the tasks they share.`;
}

export const leaderGoneText = ({ team }: Pick<TeamView, "team">): string =>
  `The leader of ${team} is gone. You can go on; messages to it wait. \`palimpsest --team ${team}\` in another terminal takes its place.`;

export const leaderBackText = ({ team }: Pick<TeamView, "team">): string => `${team} has a leader again.`;

/** `ann  working · teammate, in ~/weir`, for a list. */
export const memberFacts = ({ member: { role, way, project }, state }: MemberView): string =>
  `${state} · ${role}${way === "chat" ? " with a chat" : ""}, in ${joinLines(project)}`;

/** `task-1a2b  claimed by ann  Write the tests` without its id. */
export function taskFacts({ state, owner, subject }: TeamTask): string {
  const receiver = owner === undefined ? undefined : parseReceiver(owner);
  const who = receiver?.kind === "teammate" ? receiver.name : (owner ?? "");
  const how = who === "" ? state : state === "assigned" ? `assigned to ${who}` : `${state} by ${who}`;
  return `${how}  ${joinLines(subject)}`;
}
