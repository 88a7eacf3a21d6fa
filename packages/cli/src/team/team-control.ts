import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Mailboxes } from "palimpsest/internal/ports/mailbox";
import { isAgentName, parseReceiver, teammateAddress } from "palimpsest/internal/schema/agent-address";
import { envelopeId, millis } from "palimpsest/internal/schema/brand";
import { messageSummaryCharsMax, teamMembersMax } from "palimpsest/internal/schema/limits";
import {
  leaderName,
  type MemberLimits,
  stopMember,
  type TeamMember,
  withMember,
} from "palimpsest/internal/schema/team";
import { plural } from "palimpsest/internal/text/format-count";
import type { AssignTaskOutcome, TeamTasks } from "../tool/task-tool.ts";
import type { NewTeammate, TeamControl, TeamOutcome } from "../tool/team-tool.ts";
import type { AgentMail } from "./agent-mail.ts";
import { outputShownChars } from "./limits.ts";
import { findRunning } from "./team-store.ts";
import type { TeamLook, TeamMembership } from "./team-membership.ts";

/** `output`: a file for what it prints. `onEnd`: called once, with a few words, when its process has ended. */
export type StartTeammate = (teammate: {
  readonly team: string;
  readonly name: string;
  readonly output: number;
  readonly onEnd: (how: string) => void;
}) => void;

interface TeamControlDeps {
  readonly mail: AgentMail;
  readonly membership: TeamMembership;
  readonly mailboxes: Pick<Mailboxes, "open" | "send">;
  readonly project: string;
  /** What the leader may do now. */
  readonly limits: () => MemberLimits;
  /** Absent if this process can't start others. */
  readonly startTeammate: StartTeammate | undefined;
}

export function createTeamControl(deps: TeamControlDeps): TeamControl {
  const { mail, membership } = deps;
  /** Those whose processes this one has started and that have not ended. */
  const started = new Set<string>();
  return {
    list: async () => {
      const look = await membership.look();
      return "kind" in look ? look.message : lookText(look);
    },
    start: (teammate) => startMember({ ...deps, started }, teammate),
    shutdown: async (name, { reason, id }) => {
      const request = { type: "shutdown_request", requestId: id, ...(reason === undefined ? {} : { reason }) } as const;
      // By its full address: an agent of this session may have the same name.
      const outcome = await mail.send({ id, to: teammateAddress(name, membership.team), body: request });
      return outcome.kind === "sent"
        ? done(`${name} was asked to stop; its answer comes as a message.`)
        : refuse(outcome.message);
    },
  };
}

function lookText({ record, running, dead, released }: TeamLook): string {
  const lines = record.members.map(
    ({ name, state, way, project }) =>
      `${name} [${running.has(name) ? state : "stopped"}${way === "chat" ? ", a user talks with it" : ""}] ${project}`,
  );
  const died = dead.map(({ name }) => `${name} has died. Its mailbox is kept; start brings it back.`);
  const tasks = released.map(({ id }) => id).join(", ");
  const open =
    released.length === 0
      ? []
      : [`Open again: ${released.length} ${plural(released.length, "task")} of members that are gone (${tasks}).`];
  return [...lines, ...died, ...open].join("\n");
}

async function startMember(
  deps: TeamControlDeps & { readonly started: Set<string> },
  { name, prompt, id }: NewTeammate,
): Promise<TeamOutcome> {
  const { membership, mail, startTeammate } = deps;
  const { store, team } = membership;
  if (startTeammate === undefined) return refuse("This session can't start processes.");
  if (!isAgentName(name) || name === leaderName)
    return refuse(
      `${JSON.stringify(name)} can't be a teammate's name: use letters, digits, dots, dashes, underscores.`,
    );
  if (deps.started.has(name)) return refuse(`${name} is starting already, or is there: send it a message.`);
  const registered = await register(deps, name);
  if (registered !== undefined) return refuse(registered);
  const opened = await deps.mailboxes.open(teammateAddress(name, team));
  if (opened.kind === "failed") return refuse(opened.message);
  // The message is there before the teammate is: it survives whatever happens next.
  const to = teammateAddress(name, team);
  const sent = prompt === undefined ? undefined : await mail.send({ id, to, body: { type: "text", text: prompt } });
  if (sent?.kind === "refused") return refuse(`${name} was not started: ${sent.message}`);
  const outputPath = store.outputPath(team, name);
  const output = openSync(outputPath, "w", 0o600);
  deps.started.add(name);
  const onEnd = (how: string): void => {
    deps.started.delete(name);
    void reportEnd(deps, { name, how });
  };
  startTeammate({ team, name, output, onEnd });
  closeSync(output);
  return done(`${name} starts; it tells you when it is idle, and you are told if it ends.`);
}

/**
 * A teammate that ended without having left, or never joined: the leader gets a message in its name, so that it does not
 * wait for it. Its tasks are open again. Must not reject.
 */
async function reportEnd(
  { membership, mailboxes }: TeamControlDeps,
  { name, how }: { readonly name: string; readonly how: string },
): Promise<void> {
  const { store, team } = membership;
  const member = (await store.read(team))?.members.find((one) => one.name === name);
  if (member === undefined || member.state === "stopped") return;
  if ((await findRunning({ members: [member] })).has(name)) return;
  await store.change(team, (record) => {
    const own = record?.members.find((one) => one.name === name);
    const isSame = own?.state === "starting" && member.state === "starting";
    return { record: record && own && isSame ? withMember(record, stopMember(own)) : undefined, answer: undefined };
  });
  await membership.look();
  const printed = member.state === "starting" ? ` ${await readEnd(store.outputPath(team, name))}` : "";
  const text = `Its process ended (${how}); its mailbox and its conversation are kept.${printed}`;
  await mailboxes.send({
    id: envelopeId(randomUUID()),
    from: teammateAddress(name, team),
    to: membership.self,
    at: millis(Date.now()),
    body: { type: "idle_notice", why: "failed", summary: text.slice(0, messageSummaryCharsMax) },
  });
}

/** Its place and what it may do are on record before it runs. Undefined: it is registered. */
async function register({ membership, project, limits }: TeamControlDeps, name: string): Promise<string | undefined> {
  const outcome = await membership.store.change(membership.team, async (record) => {
    if (record === undefined) return { record: undefined, answer: `There is no team ${membership.team} any more.` };
    const known = record.members.find((member) => member.name === name);
    if (known !== undefined && (await findRunning({ members: [known] })).has(name))
      return { record: undefined, answer: `${name} is there already: send it a message.` };
    if (known === undefined && record.members.length >= teamMembersMax)
      return { record: undefined, answer: `The team has ${teamMembersMax} members, and no more can join.` };
    const { session } = known ?? {};
    const member: TeamMember = {
      name,
      role: "teammate",
      state: "starting",
      way: "served",
      project,
      ...(session === undefined ? {} : { session }),
      limits: limits(),
    };
    return { record: withMember(record, member), answer: undefined };
  });
  return outcome.kind === "failed" ? outcome.message : outcome.answer;
}

const readEnd = async (path: string): Promise<string> =>
  (await readFile(path, "utf8").catch(() => "")).trim().slice(-outputShownChars);

/** The shared tasks as the tool uses them. */
export function createTeamTasks({
  mail,
  membership,
}: {
  readonly mail: AgentMail;
  readonly membership: TeamMembership;
}): TeamTasks {
  const { tasks, self } = membership;
  return {
    self,
    list: async () => {
      // A look of the leader finds tasks whose owners are gone.
      if (membership.role === "leader") await membership.look();
      return tasks.list();
    },
    create: (draft) => tasks.create(draft),
    claim: (id, by) => tasks.claim(id, by),
    release: (id, by) => tasks.release(id, by),
    complete: (id, completion) => tasks.complete(id, completion),
    assign: async (id, { to, messageId }): Promise<AssignTaskOutcome> => {
      const receiver = parseReceiver(to);
      if (receiver.kind !== "name") return refuse(`${JSON.stringify(to)} is no teammate's name.`);
      const record = await membership.store.read(membership.team);
      const names = record?.members.map(({ name }) => name) ?? [];
      if (!names.includes(to)) return refuse(`There is no ${to} in the team. It has ${names.join(", ")}.`);
      const outcome = await tasks.assign(id, teammateAddress(to, membership.team));
      if (outcome.kind !== "changed") return outcome;
      const { subject, description } = outcome.task;
      const body = {
        type: "task_assignment",
        taskId: id,
        subject,
        ...(description === undefined ? {} : { description }),
      } as const;
      const address = teammateAddress(to, membership.team);
      const told: AssignTold =
        to === membership.name ? toldItself : await mail.send({ id: messageId, to: address, body });
      return { kind: "assigned", task: outcome.task, told };
    },
  };
}

type AssignTold = Extract<AssignTaskOutcome, { kind: "assigned" }>["told"];
const toldItself: AssignTold = { kind: "sent", message: "" };

const done = (message: string): TeamOutcome => ({ kind: "done", message });
const refuse = (message: string) => ({ kind: "refused", message }) as const;
