import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import { setTimeout as wait } from "node:timers/promises";
import type { Envelope } from "palimpsest/internal/ports/mailbox";
import { type MemberLimits, leaderName } from "palimpsest/internal/schema/team";
import { messageSummaryCharsMax } from "palimpsest/internal/schema/limits";
import type { TurnEndEvent } from "palimpsest/internal/schema/loop-event";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { Agent, OpenAgentOutcome } from "../agent/agent.ts";
import type { AgentOptions, SessionChoice } from "../agent/agent-options.ts";
import { openAgent } from "../agent/open-agent.ts";
import { narrowerMode, type PermissionChoice } from "../agent/tools/permission-choice.ts";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { printProblems } from "../program/report-problems.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { type AgentMail, joinLines } from "../team/agent-mail.ts";
import { leaderGoneLooks, leaderLookMs } from "../team/limits.ts";
import type { TeamMembership } from "../team/team-membership.ts";
import { TeamStore } from "../team/team-store.ts";
import { serverConnector } from "../tool/mcp/server-connector.ts";
import { openNet } from "../tool/web/get-page.ts";
import { findMachineSandbox } from "./find-machine-sandbox.ts";
import { agentFailure } from "./session-failure.ts";

export interface ServeInput extends Pick<AgentOptions, "model" | "flags" | "tools"> {
  readonly team: string;
  readonly name: string;
}

/**
 * A teammate without a user, until it is shut down or its leader is gone.
 *
 *   waiting ──mail──▶ turn ──ends──▶ an idle notice to the leader ──▶ waiting
 *   waiting ──the leader asks it to stop, and it has no task──▶ approved, without a request to the model ──▶ ended
 *   turn ──its model approves, or leaves the request unanswered──▶ ended
 *   waiting ──the leader is gone──▶ ended             any ──a signal──▶ ended
 *
 * Waiting writes nothing and asks no model. When it ends, its tasks are open again; its mailbox and session stay.
 */
export async function serveTeammate(context: CommandContext, input: ServeInput): Promise<Outcome> {
  const opened = await openTeammate(context, input);
  if (opened.kind !== "agent") return agentFailure(opened, "End that process first: `palimpsest agents kill`.");
  const { mail } = opened;
  if (mail?.membership === undefined) throw new Error("a teammate without a team was opened");
  await printProblems(context, opened.settingsProblems);
  for (const warning of opened.warnings) await context.err.write(`warning: ${warning}\n`);
  const stop = stopSignal();
  try {
    const why = await new Teammate({ context, agent: opened, mail, membership: mail.membership }).run(stop.signal);
    await context.out.write(`${input.name} stops: ${why}\n`);
    return exitCode.fine;
  } finally {
    stop.release();
    await mail.membership.releaseOwnTasks();
    await opened.stopAside();
    await opened.close();
  }
}

async function openTeammate(context: CommandContext, input: ServeInput): Promise<OpenAgentOutcome> {
  const { env, cwd } = context;
  const { team, name, tools, ...choices } = input;
  const workspace = openWorkspace(context);
  const record = await new TeamStore(workspace.home).read(team);
  const member = record?.members.find((one) => one.name === name);
  const permissionLimit = toPermissionLimit(member?.limits);
  const mode =
    tools.mode === undefined || permissionLimit === undefined
      ? tools.mode
      : narrowerMode(tools.mode, permissionLimit.mode);
  const version = readOwnVersion();
  const open = async (session: SessionChoice): Promise<OpenAgentOutcome> =>
    openAgent({
      ...choices,
      session,
      env,
      cwd,
      version,
      tools: { ...tools, mode },
      permissionLimit,
      team: { team, name, way: "served" },
      net: openNet,
      connectServer: serverConnector({ version }),
      sandbox: await findMachineSandbox(context),
      jobs: "on",
      askSizes: "on",
      turns: "many",
    });
  if (member?.session === undefined) return open({ kind: "new" });
  const resumed = await open({ kind: "resume", id: sessionId(member.session) });
  // Nothing was said in it yet, it was deleted, or it belongs to another project.
  return resumed.kind === "missing" ? open({ kind: "new" }) : resumed;
}

/** A mode that this version does not know counts as the narrowest. */
function toPermissionLimit(limits: MemberLimits | undefined): PermissionChoice | undefined {
  if (limits === undefined) return undefined;
  const mode = (["default", "acceptEdits", "plan", "bypass"] as const).find((one) => one === limits.mode);
  return { ...limits, mode: mode ?? "plan" };
}

interface TeammateParts {
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly mail: AgentMail;
  readonly membership: TeamMembership;
}

class Teammate {
  readonly #parts: TeammateParts;
  #turns = 0;

  constructor(parts: TeammateParts) {
    this.#parts = parts;
  }

  /** Why it ended, for the log. */
  async run(signal: AbortSignal): Promise<string> {
    const { mail } = this.#parts;
    // A process before this one may have been killed between the mail and its answer.
    let isDue = mail.isUnanswered;
    while (!signal.aborted) {
      const arrived = await mail.drain();
      if (await this.#mayStopAtOnce(arrived)) await this.#approveStops();
      else if (arrived.length > 0 || isDue) await this.#work(signal);
      isDue = false;
      if ((await mail.state()).phase === "stopping") return "its leader asked for it";
      if (arrived.length > 0) continue;
      if ((await this.#waitForMail(signal)) === "leader-gone") return "its leader is gone";
    }
    return "it was told to";
  }

  /** Nothing is left to do but to answer the leader. */
  async #mayStopAtOnce(arrived: readonly Envelope[]): Promise<boolean> {
    const { mail, membership } = this.#parts;
    const isStop = ({ from, body }: Envelope): boolean =>
      body.type === "shutdown_request" && from === membership.leader;
    if (arrived.length === 0 || !arrived.every(isStop)) return false;
    const own = (await membership.tasks.list()).filter(({ owner }) => owner === mail.self);
    return own.every(({ state }) => state === "done");
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { context, agent, membership } = this.#parts;
    const since = Date.now();
    let reply = "";
    let end: TurnEndEvent | undefined;
    for await (const event of agent.turn(undefined, signal)) {
      if (event.kind === "reply-start") reply = "";
      if (event.kind === "text-delta") reply += event.text;
      if (event.kind === "turn-end") end = event;
      if (event.kind === "warning") await context.out.write(`${event.message}\n`);
      if (event.kind === "call-start") await context.out.write(`calls ${event.tool}\n`);
    }
    this.#turns += 1;
    await this.#approveStops();
    await context.out.write(`idle: ${end?.reason ?? "failed"}\n`);
    const own = (await membership.tasks.list()).filter(
      ({ owner, state, changedAt }) => owner === membership.self && state === "done" && changedAt >= since,
    );
    await this.#sendIdleNotice({ end, reply, taskId: own.at(-1)?.id });
  }

  async #sendIdleNotice({ end, reply, taskId }: TurnResult): Promise<void> {
    const { agent, mail, membership } = this.#parts;
    const why = end?.reason === "answered" ? "available" : end?.reason === "aborted" ? "interrupted" : "failed";
    const text = joinLines(reply.trim() === "" ? (end?.message ?? "") : reply).slice(0, messageSummaryCharsMax);
    await mail.send({
      // A process that is started again counts on from another place of its conversation.
      id: `idle-${agent.session.fold.path.length}-${process.pid}-${this.#turns}`,
      // By its full address: an agent of this session may be called like it.
      to: teammateAddress(leaderName, membership.team),
      body: {
        type: "idle_notice",
        why,
        ...(text === "" ? {} : { summary: text }),
        ...(taskId === undefined ? {} : { taskId }),
      },
    });
  }

  /** Of the leader: a turn that has ended has nothing left to refuse with. */
  async #approveStops(): Promise<void> {
    const { mail, membership } = this.#parts;
    const { askedById } = await mail.state();
    for (const [requestId, { kind, peer }] of askedById)
      if (kind === "shutdown" && peer === membership.leader)
        await mail.send({
          id: `stop-${requestId}`,
          to: peer,
          body: { type: "shutdown_response", requestId, approve: true },
        });
  }

  async #waitForMail(signal: AbortSignal): Promise<"news" | "leader-gone" | "aborted"> {
    const { mail } = this.#parts;
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const waited = await Promise.race([mail.waitForNews(either), this.#waitForLeaderGone(either)]);
    done.abort();
    return waited;
  }

  async #waitForLeaderGone(signal: AbortSignal): Promise<"leader-gone" | "aborted"> {
    for (let gone = 0; !signal.aborted;) {
      gone = (await this.#parts.membership.isLeaderRunning()) ? 0 : gone + 1;
      if (gone >= leaderGoneLooks) return "leader-gone";
      await wait(leaderLookMs, undefined, { signal }).catch(() => undefined);
    }
    return "aborted";
  }
}

interface TurnResult {
  readonly end: TurnEndEvent | undefined;
  readonly reply: string;
  readonly taskId: string | undefined;
}
