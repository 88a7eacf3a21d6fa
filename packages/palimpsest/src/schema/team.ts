import { z } from "zod";
import { isAgentName, isTeamName, teammateAddress } from "./agent-address.ts";
import type { MailboxAddress } from "./brand.ts";
import { teamMembersMax } from "./limits.ts";

/**
 * A team: a leader and teammates, each a process with a session of its own. States of a member:
 *
 *   starting ──its process joins──▶ idle ──a turn──▶ working ──the turn ends──▶ idle
 *   idle, working ──leaves in order──▶ stopped ──starts again──▶ idle: the same mailbox, the same session if it is served
 *   idle, working ──its process dies──▶ found dead at the leader's next look: stopped, its tasks are released
 *
 * The first process of a team is its leader. A team without a living leader can be taken over by the next one.
 */
const processShape = z.object({
  pid: z.int().positive(),
  /** Tells it from a later process with the same pid; null if the system does not provide it. */
  started: z.string().nullable(),
  host: z.string(),
});

/** What its starter may do: the member can do at most this. */
const limitsShape = z.object({
  mode: z.string(),
  allow: z.array(z.string()),
  ask: z.array(z.string()),
  deny: z.array(z.string()),
});

const memberShape = z.object({
  name: z.string().refine(isAgentName),
  role: z.enum(["leader", "teammate"]),
  state: z.enum(["starting", "idle", "working", "stopped"]),
  /** `chat`: a user talks with it. `served`: it works on what it is sent. */
  way: z.enum(["chat", "served"]),
  /** The project's folder. */
  project: z.string(),
  /** Its newest conversation. */
  session: z.string().optional(),
  /** Absent: none runs. */
  process: processShape.optional(),
  limits: limitsShape.optional(),
});

export const teamShape = z.object({
  team: z.string().refine(isTeamName),
  createdAt: z.number(),
  members: z.array(memberShape),
});

export type MemberProcess = Readonly<z.infer<typeof processShape>>;
export type MemberLimits = Readonly<z.infer<typeof limitsShape>>;
export type TeamMember = Readonly<z.infer<typeof memberShape>>;
export type TeamRecord = Readonly<Omit<z.infer<typeof teamShape>, "members">> & {
  readonly members: readonly TeamMember[];
};

/** The name of every team's leader. */
export const leaderName = "leader";

export const leaderAddress = (team: string): MailboxAddress => teammateAddress(leaderName, team);

interface JoinRequest {
  readonly team: string;
  /** Undefined: the leader. */
  readonly name: string | undefined;
  readonly way: TeamMember["way"];
  readonly project: string;
  readonly process: MemberProcess;
  readonly now: number;
  /** Names of the members whose processes run, apart from this one. */
  readonly running: ReadonlySet<string>;
}

export type JoinPlan =
  | { readonly kind: "join"; readonly record: TeamRecord; readonly member: TeamMember }
  /** `message` is one line for the user. */
  | { readonly kind: "refused"; readonly message: string };

/** What a process that wants to be a member writes, or why it can't be one. */
export function planJoin(record: TeamRecord | undefined, request: JoinRequest): JoinPlan {
  const { team, name = leaderName, way, project, process, now, running } = request;
  if (!isTeamName(team)) return refuse(`${JSON.stringify(team)} can't be the name of a team: ${namesText}`);
  if (!isAgentName(name)) return refuse(`${JSON.stringify(name)} can't be the name of an agent: ${namesText}`);
  if (record === undefined && name !== leaderName)
    return refuse(`There is no team ${team} yet: its leader starts it, with palimpsest --team ${team}.`);
  const members = record?.members ?? [];
  const known = members.find((member) => member.name === name);
  if (known !== undefined && running.has(name)) return refuse(runningText(known, team));
  if (known === undefined && members.length >= teamMembersMax)
    return refuse(`The team ${team} has ${teamMembersMax} members already.`);
  const member: TeamMember = {
    ...(known?.limits === undefined || way === "chat" ? {} : { limits: known.limits }),
    ...(known?.session === undefined ? {} : { session: known.session }),
    name,
    role: name === leaderName ? "leader" : "teammate",
    state: "idle",
    way,
    project,
    process,
  };
  return { kind: "join", member, record: withMember(record ?? { team, createdAt: now, members: [] }, member) };
}

/** Replaces the member of the same name. */
export const withMember = (record: TeamRecord, member: TeamMember): TeamRecord => ({
  ...record,
  members: record.members.some(({ name }) => name === member.name)
    ? record.members.map((one) => (one.name === member.name ? member : one))
    : [...record.members, member],
});

/** The members as they are once those whose processes are gone count as stopped. */
export function stopDead(
  record: TeamRecord,
  running: ReadonlySet<string>,
): { readonly record: TeamRecord; readonly dead: readonly TeamMember[] } {
  const dead = record.members.filter(({ name, process }) => process !== undefined && !running.has(name));
  return { dead, record: dead.reduce((team, member) => withMember(team, stopMember(member)), record) };
}

export const stopMember = ({ process: _process, ...member }: TeamMember): TeamMember => ({
  ...member,
  state: "stopped",
});

const runningText = ({ name, process }: TeamMember, team: string): string => {
  const pid = process === undefined ? "" : ` (process ${process.pid})`;
  return name === leaderName
    ? `The team ${team} has a leader${pid}; join it with --name <name>.`
    : `${name} of the team ${team} is running${pid}; choose another name, or end it with palimpsest agents kill ${name}@${team}.`;
};

const namesText = "use letters, digits, dots, dashes and underscores.";

const refuse = (message: string): JoinPlan => ({ kind: "refused", message });
