import type { AgentOptions, SessionChoice } from "../agent/agent-options.ts";
import type { Agent, OpenAgentOutcome, SessionEndReason } from "../agent/agent.ts";
import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { SessionId, Millis } from "palimpsest/internal/schema/brand";
import type { FlagInput } from "../settings/flag-values.ts";
import type { PermissionMode } from "../tool/permission/decide-permission.ts";
import type { ChatCommandOutcome } from "./chat-command.ts";
import { closeMillisMax, leaveMillisMax } from "./limits.ts";
import { isSaid } from "palimpsest/internal/transcript/attachment-text";
import { errorCode, refusalText } from "palimpsest/internal/store/files/disk";
import { setTimeout as wait } from "node:timers/promises";

/** What changes from one agent of a chat to the next; everything else stays the same. */
export interface OpenAgentRequest extends Pick<AgentOptions, "startedBy" | "carriedMode" | "signal"> {
  readonly session: SessionChoice;
  readonly flags: readonly FlagInput[];
  /** From the previous agent of the same session. */
  readonly jobs?: Jobs | undefined;
}

interface CurrentAgentDeps {
  readonly open: (opening: OpenAgentRequest) => Promise<OpenAgentOutcome>;
}

export type AgentNotOpened = Exclude<OpenAgentOutcome, { kind: "agent" }>;

type ReopenOutcome =
  /** The same session under other flags. */
  | { readonly kind: "same" }
  /** `jobsEnded`: how many ran in the session that was left. */
  | { readonly kind: "other"; readonly jobsEnded: number }
  /** The previous session, unchanged. */
  | { readonly kind: "kept"; readonly instead: AgentNotOpened }
  /** The previous session could not be opened again either. */
  | { readonly kind: "lost"; readonly instead: AgentNotOpened };

export interface ReopenRequest {
  readonly asked: Extract<ChatCommandOutcome, { kind: "open" }>;
  readonly signal: AbortSignal;
}

interface CurrentAgentState {
  readonly agent: Agent;
  readonly flags: readonly FlagInput[];
  /** The widest permission mode that keys reach: that of the first agent. */
  readonly widest: PermissionMode;
}

/**
 * The agent that a chat talks to, one at a time.
 *
 *   none ──open──▶ open ──reopen──▶ changing ──▶ open: another, or the previous one again      open ──close──▶ changing
 */
export class CurrentAgent {
  readonly #deps: CurrentAgentDeps;
  #current: CurrentAgentState | undefined;
  #state: "open" | "changing" = "changing";
  /** Sessions that did not close in time: they hold their lock until they do. */
  readonly #closing = new Map<SessionId, Promise<void>>();

  constructor({ open }: CurrentAgentDeps) {
    this.#deps = { open };
  }

  /** Whether there is or was an agent. Before the first one there is nothing to talk to. */
  get isThere(): boolean {
    return this.#current !== undefined;
  }

  /** Whether its session may be written to. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  get agent(): Agent {
    return this.#requireCurrent.agent;
  }

  /** Messages for the running turn. */
  get queue(): string[] | undefined {
    return this.#current?.agent.queue;
  }

  get widest(): PermissionMode {
    return this.#requireCurrent.widest;
  }

  async open(opening: OpenAgentRequest): Promise<OpenAgentOutcome> {
    if (opening.session.kind !== "new") await this.#closing.get(opening.session.id);
    const opened = await openOrRefuse(() => this.#deps.open(opening));
    if (opened.kind !== "agent") return opened;
    const widest = this.#current?.widest ?? opened.mode.current();
    this.#current = { agent: opened, flags: opening.flags, widest };
    this.#state = "open";
    return opened;
  }

  /**
   * Replaces the agent; if the new one can't be opened, the previous one is opened again. The current mode is carried
   * over.
   */
  async reopen({ asked: { session, flags: changed = [] }, signal }: ReopenRequest): Promise<ReopenOutcome> {
    const { agent, flags } = this.#requireCurrent;
    const isSame = session.kind === "resume" && session.id === agent.session.id;
    const sameSession: SessionChoice = isEmpty(agent) ? { kind: "new" } : { kind: "resume", id: agent.session.id };
    const carried = { carriedMode: agent.mode.current(), signal };
    const jobs = agent.handOverJobs();
    const sameRequest = { ...carried, jobs, session: sameSession };
    await this.close({ why: session.kind === "new" ? "clear" : isSame ? "other" : "resume", leaves: "nothing" });
    const opened = await this.open({
      ...(isSame ? sameRequest : { ...carried, session }),
      flags: [...flags.filter(({ flag }) => !changed.some((change) => change.flag === flag)), ...changed],
      startedBy: session.kind === "new" ? "clear" : undefined,
    });
    if (opened.kind === "agent") return isSame ? { kind: "same" } : { kind: "other", jobsEnded: await endJobs(jobs) };
    const restored = await this.open({ ...sameRequest, flags });
    if (restored.kind === "agent") return { kind: "kept", instead: opened };
    await endJobs(jobs);
    return { kind: "lost", instead: restored };
  }

  /** Waits a few seconds: what does not end by then goes on by itself, at most as long as the process. */
  async close(closing: CloseRequest): Promise<void> {
    if (!this.isOpen) return;
    this.#state = "changing";
    const { agent } = this.#requireCurrent;
    const closed = closeAgent(agent, closing).finally(() => this.#closing.delete(agent.session.id));
    this.#closing.set(
      agent.session.id,
      closed.catch(() => undefined),
    );
    const isSaving = closing.onSaving !== undefined && agent.aside().extraction === "running";
    if (isSaving) closing.onSaving?.();
    await waitWithTimeout(closed, isSaving ? leaveMillisMax : closeMillisMax);
  }

  get #requireCurrent(): CurrentAgentState {
    if (this.#current === undefined) throw new Error("no agent was opened yet");
    return this.#current;
  }
}

interface CloseRequest {
  readonly why: SessionEndReason;
  /**
   * `input`: typed input is stored next to the log and found through it, so the log stays even if it has no message.
   */
  readonly leaves: "input" | "nothing";
  /** Called at once if memories are still to be saved; then closing waits longer. Absent: it does not. */
  readonly onSaving?: () => void;
}

async function closeAgent(agent: Agent, { why, leaves }: CloseRequest): Promise<void> {
  await agent.stopAside();
  await (leaves === "nothing" ? agent.discard(why) : agent.close(why));
}

async function openOrRefuse(open: () => Promise<OpenAgentOutcome>): Promise<OpenAgentOutcome> {
  try {
    return await open();
  } catch (error) {
    const message = machineRefusal(error);
    if (message === undefined) throw error;
    return { kind: "failed", why: "io", message };
  }
}

/** They belong to a session that is left. */
async function endJobs(jobs: Jobs | undefined): Promise<number> {
  const running = jobs?.list().filter(({ state }) => state.kind === "running") ?? [];
  await jobs?.close();
  return running.length;
}

/** Nothing was ever said in it: a new session is equivalent, and holds no header that was never sent. */
const isEmpty = ({ session }: Agent): boolean => !session.fold.path.everyBranch.some(isSaid);

/**
 * The message of a system error, for the user; undefined for a bug. Node's own `ERR_…` codes are about the program, not
 * the machine.
 */
export function machineRefusal(error: unknown): string | undefined {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined || code.startsWith("ERR_")) return undefined;
  const advice = refusalText(code);
  return advice === undefined ? error.message : `${error.message} (${advice})`;
}

/** Waits, but not for ever: a late promise goes on by itself, and its failure is ignored. */
export async function waitWithTimeout(work: Promise<void>, ms: Millis): Promise<"done" | "late"> {
  const raced = new AbortController();
  const late = wait(ms, "late" as const, { signal: raced.signal }).catch(() => "late" as const);
  const done = work.then(() => "done" as const);
  done.catch(() => undefined);
  return await Promise.race([done, late]).finally(() => raced.abort());
}
