import type { AgentOptions, SessionChoice } from "../agent/agent-options.ts";
import type { Agent, AgentOpened, SessionEndReason } from "../agent/agent.ts";
import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { FlagInput } from "../settings/flags.ts";
import type { PermissionMode } from "../tool/permission/decide.ts";
import type { ChatCommandOutcome } from "./chat-command.ts";
import { closeMillisMax } from "./limits.ts";
import { refusalOf } from "./refusal.ts";
import { unlessLate } from "./unless-late.ts";

/** What an agent of a chat is opened with; everything else of it stays the same. */
export interface Opening extends Pick<AgentOptions, "startedBy" | "carriedMode" | "signal"> {
  readonly session: SessionChoice;
  readonly flags: readonly FlagInput[];
  /** Of the same session, which was open before. */
  readonly jobs?: Jobs;
}

export interface CurrentAgentDeps {
  readonly open: (opening: Opening) => Promise<AgentOpened>;
}

export type NotOpened = Exclude<AgentOpened, { kind: "agent" }>;

export type Reopened =
  /** The same session under other flags. */
  | { readonly kind: "same" }
  /** `jobsEnded`: how many ran in the session that was left. */
  | { readonly kind: "other"; readonly jobsEnded: number }
  /** As it was before. */
  | { readonly kind: "kept"; readonly instead: NotOpened }
  /** The one before could not be opened again either. */
  | { readonly kind: "lost"; readonly instead: NotOpened };

export interface Reopening {
  readonly asked: Extract<ChatCommandOutcome, { kind: "open" }>;
  readonly signal: AbortSignal;
}

interface OpenAgent {
  readonly agent: Agent;
  readonly flags: readonly FlagInput[];
  /** The widest permission mode that keys reach: as the first one was opened. */
  readonly widest: PermissionMode;
}

/**
 * The agent that a chat talks to: one at a time, and another after it.
 *
 *   none ──open──▶ open ──reopen──▶ changing ──▶ open: another, or the one before again      open ──close──▶ changing
 */
export class CurrentAgent {
  readonly #deps: CurrentAgentDeps;
  #open: OpenAgent | undefined;
  #state: "open" | "changing" = "changing";
  /** Sessions whose close was late: until it is over, they have their lock. */
  readonly #closing = new Map<SessionId, Promise<void>>();

  constructor({ open }: CurrentAgentDeps) {
    this.#deps = { open };
  }

  /** Whether there is one, or was: until the first is opened nobody is talked to. */
  get isThere(): boolean {
    return this.#open !== undefined;
  }

  /** Whether something may be written into its session. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  get agent(): Agent {
    return this.#now.agent;
  }

  /** For messages that reach the turn that runs. */
  get queue(): string[] | undefined {
    return this.#open?.agent.queue;
  }

  get widest(): PermissionMode {
    return this.#now.widest;
  }

  async open(opening: Opening): Promise<AgentOpened> {
    if (opening.session.kind !== "new") await this.#closing.get(opening.session.id);
    const opened = await tried(() => this.#deps.open(opening));
    if (opened.kind !== "agent") return opened;
    const widest = this.#open?.widest ?? opened.mode.current();
    this.#open = { agent: opened, flags: opening.flags, widest };
    this.#state = "open";
    return opened;
  }

  /** The other one takes the place of this one; where it can't, this one is opened again. The mode in force goes along. */
  async reopen({ asked: { session, flags: changed = [] }, signal }: Reopening): Promise<Reopened> {
    const { agent, flags } = this.#now;
    const isSame = session.kind === "resume" && session.id === agent.session.id;
    const same: SessionChoice = isEmpty(agent) ? { kind: "new" } : { kind: "resume", id: agent.session.id };
    const carried = { carriedMode: agent.mode.current(), signal };
    const jobs = agent.handOverJobs();
    const own = { ...carried, ...(jobs === undefined ? {} : { jobs }), session: same };
    await this.close({ why: session.kind === "new" ? "clear" : isSame ? "other" : "resume", leaves: "nothing" });
    const opened = await this.open({
      ...(isSame ? own : { ...carried, session }),
      flags: [...flags.filter(({ flag }) => !changed.some((one) => one.flag === flag)), ...changed],
      ...(session.kind === "new" ? { startedBy: "clear" } : {}),
    });
    if (opened.kind === "agent") return isSame ? { kind: "same" } : { kind: "other", jobsEnded: await ended(jobs) };
    const again = await this.open({ ...own, flags });
    if (again.kind === "agent") return { kind: "kept", instead: opened };
    await ended(jobs);
    return { kind: "lost", instead: again };
  }

  /** Within a few seconds: what does not end by then ends with the process. */
  async close(closing: Closing): Promise<void> {
    if (!this.isOpen) return;
    this.#state = "changing";
    const { agent } = this.#now;
    const over = closed(agent, closing).finally(() => this.#closing.delete(agent.session.id));
    this.#closing.set(
      agent.session.id,
      over.catch(() => undefined),
    );
    await unlessLate(over, closeMillisMax);
  }

  get #now(): OpenAgent {
    if (this.#open === undefined) throw new Error("no agent was opened yet");
    return this.#open;
  }
}

export interface Closing {
  readonly why: SessionEndReason;
  /** `input`: what was typed lies beside the log and is found by it, so the log stays even where nothing was said. */
  readonly leaves: "input" | "nothing";
}

async function closed(agent: Agent, { why, leaves }: Closing): Promise<void> {
  await agent.stopAside();
  await (leaves === "nothing" ? agent.discard(why) : agent.close(why));
}

async function tried(open: () => Promise<AgentOpened>): Promise<AgentOpened> {
  try {
    return await open();
  } catch (error) {
    const message = refusalOf(error);
    if (message === undefined) throw error;
    return { kind: "failed", why: "io", message };
  }
}

/** They belong to a session that is left. */
async function ended(jobs: Jobs | undefined): Promise<number> {
  const running = jobs?.list().filter(({ state }) => state.kind === "running") ?? [];
  await jobs?.close();
  return running.length;
}

/** Nothing was ever said in it: a new one is the same, and knows of no header that was never sent. */
const isEmpty = ({ session }: Agent): boolean =>
  !session.fold.path.everyBranch.some(({ kind }) => kind === "user" || kind === "assistant");
