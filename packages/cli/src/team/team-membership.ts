import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Mailboxes } from "palimpsest/internal/ports/mailbox";
import type { TaskLists, TeamTask } from "palimpsest/internal/ports/task-list";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import type { MailboxAddress, SessionId } from "palimpsest/internal/schema/brand";
import {
  type JoinPlan,
  leaderAddress,
  leaderName,
  planJoin,
  stopDead,
  stopMember,
  type TeamMember,
  type TeamRecord,
  withMember,
} from "palimpsest/internal/schema/team";
import { currentProcess, findRunning, isRunning, TeamStore } from "./team-store.ts";

export interface TeamDeps {
  readonly home: string;
  readonly mailboxes: Mailboxes;
  readonly taskLists: TaskLists;
}

interface JoinTeamInput {
  readonly team: string;
  /** Undefined: the leader. */
  readonly name: string | undefined;
  readonly way: TeamMember["way"];
  readonly project: string;
  readonly session: SessionId;
}

export type JoinTeamOutcome =
  | { readonly kind: "joined"; readonly membership: TeamMembership }
  | { readonly kind: "refused"; readonly message: string }
  | WriteFailure;

/** A session can't have the place in the team that was asked for. `message` is one line for the user. */
export interface TeamRefusal {
  readonly kind: "team-refused";
  readonly message: string;
}

/** The first process of a team is its leader. Must not reject. */
export async function joinTeam(deps: TeamDeps, { session, ...input }: JoinTeamInput): Promise<JoinTeamOutcome> {
  const store = new TeamStore(deps.home);
  const process = await currentProcess();
  type Answer = { readonly kind: "joined"; readonly member: TeamMember } | Extract<JoinPlan, { kind: "refused" }>;
  const joined = await store.change<Answer>(input.team, async (record) => {
    // The same process may have had the place already, with another session.
    const others = (record?.members ?? []).filter((member) => member.process?.pid !== process.pid);
    const running = await findRunning({ members: others });
    const plan = planJoin(record, { ...input, process, now: Date.now(), running });
    if (plan.kind === "refused") return { record: undefined, answer: plan };
    const member = { ...plan.member, session };
    return { record: withMember(plan.record, member), answer: { kind: "joined", member } };
  });
  if (joined.kind === "failed") return joined;
  const { answer } = joined;
  if (answer.kind === "refused") return answer;
  const membership = new TeamMembership({ ...deps, store }, { team: input.team, member: answer.member });
  const opened = await deps.mailboxes.open(membership.self);
  return opened.kind === "failed" ? opened : { kind: "joined", membership };
}

/** Whether a process may join, without changing anything. Undefined: it may. */
export async function findJoinRefusal(
  home: string,
  input: Pick<JoinTeamInput, "team" | "name" | "way" | "project">,
): Promise<string | undefined> {
  const record = await new TeamStore(home).read(input.team);
  const process = await currentProcess();
  const others = (record?.members ?? []).filter((member) => member.process?.pid !== process.pid);
  const plan = planJoin(record, { ...input, process, now: 0, running: await findRunning({ members: others }) });
  return plan.kind === "refused" ? plan.message : undefined;
}

/** What a look at the team found. */
export interface TeamLook {
  readonly record: TeamRecord;
  readonly running: ReadonlySet<string>;
  /** Members whose processes had died since the last look. */
  readonly dead: readonly TeamMember[];
  readonly released: readonly TeamTask[];
}

/** A session's place in a team. */
export class TeamMembership {
  readonly team: string;
  readonly name: string;
  readonly role: TeamMember["role"];
  readonly self: MailboxAddress;
  readonly leader: MailboxAddress;
  readonly store: TeamStore;
  readonly #taskLists: TaskLists;
  readonly #session: string | undefined;

  constructor(
    deps: Pick<TeamDeps, "taskLists"> & { readonly store: TeamStore },
    { team, member }: { readonly team: string; readonly member: TeamMember },
  ) {
    this.store = deps.store;
    this.#taskLists = deps.taskLists;
    this.#session = member.session;
    this.team = team;
    this.name = member.name;
    this.role = member.role;
    this.self = teammateAddress(member.name, team);
    this.leader = leaderAddress(team);
  }

  get tasks() {
    return this.#taskLists.open(this.team);
  }

  /** Only a state that others look at: if it can't be written, the turn goes on. Must not reject. */
  async setState(state: "idle" | "working"): Promise<void> {
    await this.#changeOwn((member) => ({ ...member, state }));
  }

  /** Its mailbox and its tasks stay. Must not reject. */
  async leave(): Promise<void> {
    await this.#changeOwn(stopMember);
  }

  /** Gives back every task that the member has not done. Must not reject. */
  async releaseOwnTasks(): Promise<readonly TeamTask[]> {
    return releaseTasks(this.tasks, (task) => task.owner === this.self && task.state === "claimed");
  }

  /**
   * Finds members whose processes are gone. Their tasks are open again, their mailboxes stay for a restart. Of members
   * that stopped in order only claimed tasks are released: others may wait for their next start.
   */
  async look(): Promise<TeamLook | WriteFailure> {
    const looked = await this.store.change(this.team, async (record = emptyRecord(this.team)) => {
      const running = await findRunning(record);
      const { record: stopped, dead } = stopDead(record, running);
      return { record: dead.length === 0 ? undefined : stopped, answer: { record: stopped, running, dead } };
    });
    if (looked.kind === "failed") return looked;
    const { answer } = looked;
    const addressOf = ({ name }: TeamMember): MailboxAddress => teammateAddress(name, this.team);
    const died = new Set(answer.dead.map(addressOf));
    const away = new Set(answer.record.members.filter(({ name }) => !answer.running.has(name)).map(addressOf));
    const released = await releaseTasks(
      this.tasks,
      ({ owner, state }) =>
        owner !== undefined && (died.has(owner) || (state === "claimed" && away.has(owner))) && owner !== this.self,
    );
    return { ...answer, released };
  }

  /** What an earlier process of the leader left: teammates that died with it, and those that it never got to start. */
  async settleEarlierRun(): Promise<void> {
    await this.store.change(this.team, (record) => {
      const unstarted = record?.members.filter(({ state }) => state === "starting") ?? [];
      // One that is still loading joins a moment later, and is idle then.
      const settled = record && unstarted.reduce((team, member) => withMember(team, stopMember(member)), record);
      return { record: unstarted.length === 0 ? undefined : settled, answer: undefined };
    });
    await this.look();
  }

  async isLeaderRunning(): Promise<boolean> {
    const record = await this.store.read(this.team);
    const leader = record?.members.find(({ name }) => name === leaderName);
    return leader !== undefined && (await isRunning(leader));
  }

  async #changeOwn(change: (member: TeamMember) => TeamMember): Promise<void> {
    await this.store.change(this.team, (record) => {
      const own = record?.members.find(({ name }) => name === this.name);
      // Another session of this process, or a later process, may have the place by now.
      if (record === undefined || own === undefined || own.session !== this.#session)
        return { record: undefined, answer: undefined };
      return { record: withMember(record, change(own)), answer: undefined };
    });
  }
}

async function releaseTasks(
  tasks: TeamMembership["tasks"],
  isLeft: (task: TeamTask) => boolean,
): Promise<readonly TeamTask[]> {
  const left = (await tasks.list()).filter((task) => task.state !== "done" && isLeft(task));
  for (const { id, owner } of left) if (owner !== undefined) await tasks.release(id, owner);
  return left;
}

const emptyRecord = (team: string): TeamRecord => ({ team, createdAt: 0, members: [] });
