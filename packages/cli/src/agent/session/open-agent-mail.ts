import { join } from "node:path";
import { contextDraft } from "palimpsest/internal/context/inputs";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { Mailboxes } from "palimpsest/internal/ports/mailbox";
import { openSocketServer, type SocketServer } from "palimpsest/internal/store/files/socket-mailbox";
import type { ReminderDeps } from "palimpsest/internal/context/deps";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { Session } from "palimpsest/internal/session/session";
import { announcementSetting } from "palimpsest/internal/transcript/draft";
import { sessionAddress } from "palimpsest/internal/schema/agent-address";
import { findOpenSessions } from "../../host/open-sessions.ts";
import { AgentMail } from "../../team/agent-mail.ts";
import { createTeamControl, createTeamTasks } from "../../team/team-control.ts";
import { findJoinRefusal, joinTeam, type TeamMembership, type TeamRefusal } from "../../team/team-membership.ts";
import { refuseMessages, sendMessageToolName } from "../../tool/send-message-tool.ts";
import { refuseTasks, taskToolName } from "../../tool/task-tool.ts";
import { noTeamText, refuseTeam, teamToolName } from "../../tool/team-tool.ts";
import type { Agent } from "../agent.ts";
import type { AgentOptions, AgentParts } from "../agent-options.ts";
import type { PermissionChoice } from "../tools/permission-choice.ts";
import type { TeamTools } from "../tools/toolbox.ts";

export type OpenMailOutcome = ({ readonly kind: "open" } & OpenMail) | TeamRefusal | WriteFailure;

export interface OpenMail {
  /** Undefined in a store without mailboxes. */
  readonly mail: AgentMail | undefined;
  /** Undefined if the session does not listen at a socket. */
  readonly socket?: SocketServer | undefined;
  /** Shown to the user when the session opens. */
  readonly warnings: readonly string[];
}

/** Asked before a session is opened: a refusal leaves no session behind. */
export async function checkTeam(
  home: string,
  { team }: Pick<AgentOptions, "team">,
  project: string,
): Promise<TeamRefusal | undefined> {
  if (team === undefined) return undefined;
  const message = await findJoinRefusal(home, { ...team, project });
  return message === undefined ? undefined : { kind: "team-refused", message };
}

/** Joins the team, if one is asked for. */
export async function openAgentMail(parts: AgentParts, agents: Agents | undefined): Promise<OpenMailOutcome> {
  const outcome = await openMail(parts);
  if (outcome.kind === "open" && agents !== undefined) outcome.mail?.reachAgents(agents);
  return outcome;
}

async function openMail(parts: AgentParts): Promise<OpenMailOutcome> {
  const { deps, workspace, options, session, root } = parts;
  const { mailboxes, taskLists } = deps;
  if (mailboxes === undefined || taskLists === undefined) return { kind: "open", mail: undefined, warnings: [] };
  const mailDeps = {
    ...deps,
    mailboxes,
    openSessions: async () => (await findOpenSessions(workspace.home)).map(({ id }) => id),
  };
  const listened = await listen(parts, mailboxes);
  if (options.team === undefined)
    return { kind: "open", ...listened, mail: new AgentMail(mailDeps, { session, membership: undefined }) };
  const teamDeps = { home: workspace.home, mailboxes, taskLists };
  const joined = await joinTeam(teamDeps, { ...options.team, project: root, session: session.id });
  if (joined.kind === "refused") return { kind: "team-refused", message: joined.message };
  if (joined.kind === "failed") return joined;
  const { membership } = joined;
  if (membership.role === "leader") await membership.settleEarlierRun();
  return { kind: "open", ...listened, mail: new AgentMail(mailDeps, { session, membership }) };
}

/** A socket that can't be opened leaves the session as it is without one; the user is told. */
async function listen(
  { deps, workspace, options, session }: AgentParts,
  mailboxes: Mailboxes,
): Promise<Omit<OpenMail, "mail">> {
  if (options.socket !== "on") return { warnings: [] };
  const opened = await mailboxes.open(sessionAddress(session.id));
  const server =
    opened.kind === "failed"
      ? opened
      : await openSocketServer({
          deps,
          folder: join(workspace.home, "sockets"),
          // Short: the whole path may have about a hundred bytes.
          name: session.id.slice(0, socketNameChars),
          deliver: (message) => mailboxes.send({ ...message, to: sessionAddress(session.id) }),
        });
  switch (server.kind) {
    case "open":
      return { socket: server.server, warnings: [`Messages reach this session at ${server.server.address}`] };
    case "busy":
      return { warnings: [`No socket: it is in use by ${server.holder}.`] };
    case "failed":
      return { warnings: [`No socket: ${server.message}`] };
  }
}

const socketNameChars = 8;

/** What the model is told of the session's place in a team. */
export const describePlace = ({ team, name, role }: TeamMembership): string =>
  role === "leader" ? leaderText(team) : teammateText(`${name}@${team}`);

/** Once for each place, and again on a branch that has lost it. If it can't be written, the turn meets the same disk. */
async function announcePlace(session: Session, membership: TeamMembership): Promise<void> {
  const setting = announcementSetting("team");
  if (session.fold.projection.settings.get(setting) === membership.self) return;
  const announcement = contextDraft(describePlace(membership));
  await session.append(announcement, { type: "setting", name: setting, value: membership.self });
}

const leaderText = (team: string): string =>
  `You lead the team ${team}. Start teammates with the tool ${teamToolName}, share work with ${taskToolName}, talk with ${sendMessageToolName}. Their messages come to you by themselves, so end your turn when there is nothing left for you to do. Teammates can do no more than you can, and only you approve plans.`;

const teammateText = (place: string): string =>
  `You are ${place}, a teammate. Your leader is the agent "leader". Your plain replies are not read: what others must know, send with ${sendMessageToolName}. Claim a task with ${taskToolName} before you begin with it, and complete it with its result. When you end your turn, the leader learns that you are idle, with the beginning of your reply.`;

/** The tools for other agents, as far as the session has any to talk to. A tool that it has had stays, and refuses. */
export function createTeamTools(
  { deps, options, session, root }: AgentParts,
  {
    mail,
    known,
    choice,
  }: {
    readonly mail: AgentMail | undefined;
    readonly known: ReadonlySet<string>;
    readonly choice: () => PermissionChoice;
  },
): TeamTools {
  const { mailboxes } = deps;
  const membership = mail?.membership;
  const kept: TeamTools = {
    messages: known.has(sendMessageToolName) ? refuseMessages(noTeamText) : undefined,
    teamTasks: known.has(taskToolName) ? refuseTasks(noTeamText, sessionAddress(session.id)) : undefined,
    team: known.has(teamToolName) ? refuseTeam(noTeamText) : undefined,
  };
  if (mail === undefined || mailboxes === undefined) return kept;
  const messages = mail.hasPeers || kept.messages !== undefined ? mail : undefined;
  if (membership === undefined) return { ...kept, messages };
  const limits = () => ({ ...choice(), allow: [...choice().allow], ask: [...choice().ask], deny: [...choice().deny] });
  const startTeammate = options.team?.startTeammate;
  const control = { mail, membership, mailboxes, project: root, limits, startTeammate };
  return {
    messages,
    teamTasks: createTeamTasks({ mail, membership }),
    team: membership.role === "leader" ? createTeamControl(control) : kept.team,
  };
}

/** New mail is in the transcript before each request. */
export const withMail =
  (
    mail: AgentMail | undefined,
    reminders: NonNullable<ReminderDeps["reminders"]>,
  ): NonNullable<ReminderDeps["reminders"]> =>
  async (conversation) => {
    const drafts = await reminders(conversation);
    // A fork gets none: it would be in the fork alone.
    if (conversation.line.editable !== undefined) await mail?.drain();
    return drafts;
  };

/** A turn of a member: its model knows its place, and others see that it works. */
export async function* markWork(
  { mail, session }: { readonly mail: AgentMail | undefined; readonly session: Session },
  turn: AsyncIterable<LoopEvent>,
): AsyncGenerator<LoopEvent> {
  const membership = mail?.membership;
  if (membership !== undefined) await announcePlace(session, membership);
  await membership?.setState("working");
  try {
    yield* turn;
  } finally {
    await membership?.setState("idle");
  }
}

/** The place in the team is left, and the socket closed, with the session. */
export const withLeave = <Ends extends Pick<Agent, "close" | "discard">>(
  { mail, socket }: OpenMail,
  { close, discard, ...rest }: Ends,
): Omit<Ends, "close" | "discard"> & Pick<Agent, "close" | "discard"> => {
  const leave = async (): Promise<void> => {
    await socket?.close();
    await mail?.membership?.leave();
  };
  return {
    ...rest,
    close: async (why) => {
      await mail?.close();
      await close(why);
      await leave();
    },
    discard: async (why) => {
      await mail?.close();
      await discard(why);
      await leave();
    },
  };
};
