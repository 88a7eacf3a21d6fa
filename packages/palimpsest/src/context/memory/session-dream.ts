import { estimateFork } from "../../cache/background-budget.ts";
import {
  addDreamEvent,
  type DreamTask,
  endDreamTask,
  startDreamTask,
  updateDreamTask,
} from "../../layers/6-dream/dream-task.ts";
import { usualDream } from "../../layers/6-dream/limits.ts";
import { type DreamGate, type DreamRule, isLongEnoughAgo, nextDreamStep } from "../../layers/6-dream/plan.ts";
import type { DreamToolNames } from "../../layers/6-dream/run-ask.ts";
import { type DreamDeps, type DreamOutcome, type DreamReceipt, runDream } from "../../layers/6-dream/run-dream.ts";
import { parseMemory } from "../../memory/directory/memory-text.ts";
import { memoryRole } from "../../memory/directory/memory-path.ts";
import type { DreamLease, DreamLeaseOutcome, DreamLeasesDep } from "../../ports/dream-lease.ts";
import type { SessionListDep } from "../../ports/store.ts";
import type { Millis } from "../../schema/brand.ts";
import type { Model } from "../../schema/model.ts";
import type { LoopEvent, MemoriesSavedEvent } from "../../schema/loop-event.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import type { BackgroundSpend } from "../background-spend.ts";
import type { ResolvedSettingsDep } from "../deps.ts";
import { dreamFailuresMax } from "../limits.ts";
import { backgroundCostDraft } from "../past-costs.ts";

export interface SessionDreamDeps extends DreamDeps, DreamLeasesDep, SessionListDep, ResolvedSettingsDep {
  /** The tools of the conversation that a dream may use, asked each time. */
  readonly tools: () => DreamToolNames;
  /** The user's own prompt; undefined: ours. Called each time, so that a changed file applies at once. Must not reject. */
  readonly template?: (() => Promise<string | undefined>) | undefined;
  /** Whether background work may cost something now. Not asked for a dream that the user wants. */
  readonly spend: Pick<BackgroundSpend, "mayStart">;
  /** What is known of the model, for the price of a dream. */
  readonly known: () => Model | undefined;
  /** Size of the tools and the system prompt, which a dream shares with the conversation. */
  readonly fixedTokens: () => number;
  /** Called with `memories-saved`, and with a warning about a dream that hangs. Must not throw. */
  readonly emit: (event: LoopEvent) => void;
  /** Called whenever `task` changes. Must not throw. */
  readonly onTask?: ((task: DreamTask) => void) | undefined;
}

interface DreamRunOptions {
  /** `dry-run`: nothing is written, and the time of the last dream stays. */
  readonly mode: "commit" | "dry-run";
  /** The user wants it now, so that only the lease decides. Absent: every gate does. */
  readonly force?: boolean | undefined;
}

export type DreamRunOutcome =
  | DreamOutcome
  /** `gate`: why there was no dream. `money`: background work has cost enough. `running`: one runs in this session. */
  | { readonly kind: "closed"; readonly gate: DreamGate | "money" | "running" | "failed-before" | "closing" }
  | Extract<DreamLeaseOutcome, { kind: "busy" }>;

interface ChosenRun extends Pick<DreamRunOptions, "mode"> {
  readonly force: boolean;
}

interface RunningDream {
  readonly stop: AbortController;
  /** Never rejects. */
  readonly over: Promise<DreamRunOutcome>;
}

/**
 * Consolidates the memories of the project in the background of one session. Each turn asks whether it is time; at most one
 * dream runs, in all processes. Its failures are told by its task and reach no turn. Ends with the session.
 */
export class SessionDream {
  readonly #deps: SessionDreamDeps;
  readonly #session: Pick<Session, "id">;
  #log: FinalAppender;
  #task: DreamTask | undefined;
  #running: RunningDream | undefined;
  #scannedAt: Millis | undefined;
  #failures = 0;
  #state: "open" | "closing" = "open";
  #hasWarned = false;

  constructor(deps: SessionDreamDeps, { session }: { readonly session: Session }) {
    this.#deps = deps;
    this.#session = session;
    this.#log = session;
    session.onClose(async (closing) => {
      this.#log = closing;
      this.#state = "closing";
      await this.kill();
    });
  }

  /** The dream that runs, or the last one. Undefined if there was none in this session. */
  get task(): DreamTask | undefined {
    return this.#task;
  }

  /** Call it when a turn has ended. Returns at once; the work runs in the background. */
  turnEnded(): void {
    void this.run({ mode: "commit" });
  }

  /** Must not reject. */
  async run({ mode, force = false }: DreamRunOptions): Promise<DreamRunOutcome> {
    if (this.#state === "closing") return closed("closing");
    if (this.#running !== undefined) {
      if (!force || this.#task?.status === "running") return closed("running");
      // A turn has just ended, and its gates are being looked at.
      await this.#running.over;
      return this.run({ mode, force });
    }
    const stop = new AbortController();
    const over = this.#start({ mode, force }, stop.signal).finally(() => (this.#running = undefined));
    this.#running = { stop, over };
    return over;
  }

  /** Stops the running dream: its changes are thrown away, and the time of the last dream stays. Resolves when it has stopped. */
  async kill(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.over;
  }

  async #start(options: ChosenRun, signal: AbortSignal): Promise<DreamRunOutcome> {
    try {
      const gate = options.force ? undefined : await this.#findClosedGate();
      if (gate !== undefined) return closed(gate);
      const acquired = await this.#deps.dreams.acquire();
      if (acquired.kind === "busy") return this.#tellBusy(acquired);
      if (acquired.kind === "failed") return { kind: "failed", message: acquired.message, usage: [] };
      return await this.#dream(options, { lease: acquired.lease, signal });
    } catch (error) {
      return { kind: "failed", message: `The dream broke off: ${String(error)}`, usage: [] };
    }
  }

  async #findClosedGate(): Promise<Extract<DreamRunOutcome, { kind: "closed" }>["gate"] | undefined> {
    if (this.#failures >= dreamFailuresMax) return "failed-before";
    const { now, dreams } = this.#deps;
    const rule = this.#rule();
    let lastAt: Millis | "never" | undefined;
    let sessions: number | undefined;
    for (;;) {
      const step = nextDreamStep({ rule, now: now(), lastAt, scannedAt: this.#scannedAt, sessions });
      if (step.kind === "closed") return step.gate;
      if (step.kind === "open") break;
      if (step.up === "last") lastAt = (await dreams.lastAt()) ?? "never";
      else {
        this.#scannedAt = now();
        sessions = await this.#countSessions(lastAt ?? "never");
      }
    }
    const { spend, known, fixedTokens } = this.#deps;
    const estimate = estimateFork(known(), { ...usualDream, contextTokens: fixedTokens() });
    return (await spend.mayStart(estimate)).kind === "over" ? "money" : undefined;
  }

  #rule(): DreamRule | undefined {
    const { switches, policy } = this.#deps.settings();
    return switches.dream.value ? policy.background?.dream : undefined;
  }

  async #countSessions(since: Millis | "never"): Promise<number> {
    const listed = await this.#deps.sessions.list();
    return listed.filter(
      ({ sessionId, modified, isSidechain }) =>
        sessionId !== this.#session.id && !isSidechain && (since === "never" || Date.parse(modified) > since),
    ).length;
  }

  /** A dream that lives and hangs is left alone; the user is told once. */
  #tellBusy(busy: Extract<DreamLeaseOutcome, { kind: "busy" }>): DreamRunOutcome {
    if (busy.state === "overdue" && !this.#hasWarned) {
      this.#hasWarned = true;
      const message = `Memories have been consolidated for more than an hour by ${busy.holder}. End that process if it hangs.`;
      this.#deps.emit({ kind: "warning", code: "dream-overdue", message });
    }
    return busy;
  }

  async #dream(
    { mode, force }: ChosenRun,
    { lease, signal }: { readonly lease: DreamLease; readonly signal: AbortSignal },
  ): Promise<DreamRunOutcome> {
    const { now, template, tools } = this.#deps;
    const rule = this.#rule();
    // Somebody else may have dreamt between the first gate and the lease.
    const isDue = rule !== undefined && isLongEnoughAgo(lease.lastAt ?? "never", { now: now(), rule });
    if (!force && !isDue) {
      await lease.fail();
      return closed("too-soon");
    }
    this.#setTask(startDreamTask(now()));
    let outcome: DreamOutcome;
    try {
      const input = {
        mode,
        tools: tools(),
        template: await template?.(),
        onEvent: (event: LoopEvent) => this.#changeTask((task) => addDreamEvent(task, event)),
        onDraft: (paths: readonly string[]) => this.#changeTask((task) => updateDreamTask(task, paths)),
      };
      outcome = await runDream(this.#deps, input, signal);
    } catch (error) {
      outcome = { kind: "failed", message: `The dream broke off: ${String(error)}`, usage: [] };
    }
    // What the audit refused would be refused again: it counts as a dream, so that it is not paid for at every turn.
    if (mode === "commit" && (outcome.kind === "dreamt" || outcome.kind === "refused")) await lease.succeed();
    else await lease.fail();
    if (!force && outcome.kind !== "dreamt") this.#failures += 1;
    await this.#record(outcome);
    this.#changeTask((task) => endDreamTask(task, { ...describeEnd(outcome, mode), endedAt: now() }));
    const saved = describeSaved(outcome);
    if (saved !== undefined) this.#deps.emit(saved);
    return outcome;
  }

  /** Must not reject: if the disk fails, only the record of the cost is lost. */
  async #record(outcome: DreamOutcome): Promise<void> {
    const { usage } = outcome;
    const failed = findFailure(outcome);
    if (usage.length === 0 && (failed === undefined || outcome.kind === "killed")) return;
    const { model } = this.#deps.fork;
    await this.#log.append(backgroundCostDraft({ source: "dream", model, usage, failed })).catch(() => undefined);
  }

  #changeTask(change: (task: DreamTask) => DreamTask): void {
    if (this.#task !== undefined) this.#setTask(change(this.#task));
  }

  #setTask(task: DreamTask): void {
    this.#task = task;
    this.#deps.onTask?.(task);
  }
}

const closed = (gate: Extract<DreamRunOutcome, { kind: "closed" }>["gate"]): DreamRunOutcome => ({
  kind: "closed",
  gate,
});

function findFailure(outcome: DreamOutcome): { readonly why: string; readonly message: string } | undefined {
  switch (outcome.kind) {
    case "dreamt":
      return undefined;
    case "refused":
      return { why: "audit", message: describeRefusal(outcome.receipt) };
    case "failed":
      return { why: "failed", message: outcome.message };
    case "killed":
      return { why: "killed", message: "It was stopped." };
  }
}

function describeRefusal({ findings }: DreamReceipt): string {
  const rules = [...new Set(findings.map(({ rule }) => rule))].join(", ");
  return `The audit refused it (${rules}); nothing was changed.`;
}

type DreamEnd = Pick<Parameters<typeof endDreamTask>[1], "status" | "message" | "files">;

function describeEnd(outcome: DreamOutcome, mode: DreamRunOptions["mode"]): DreamEnd {
  const failed = findFailure(outcome);
  if (failed !== undefined)
    return { status: outcome.kind === "killed" ? "killed" : "failed", message: failed.message, files: [] };
  const { made, dropped } = outcome.kind === "dreamt" ? outcome.receipt : { made: [], dropped: [] };
  const files = made.map(({ path }) => path);
  const not = dropped.length === 0 ? "" : ` ${dropped.length} more were not made.`;
  const verb = mode === "dry-run" ? "would be changed" : "changed";
  const message =
    made.length === 0 ? "Nothing was changed." : `${made.length} ${made.length === 1 ? "memory" : "memories"} ${verb}.`;
  return { status: "completed", message: `${message}${not}`, files };
}

/** Undefined if no memory was changed. */
function describeSaved(outcome: DreamOutcome): MemoriesSavedEvent | undefined {
  if (outcome.kind !== "dreamt" || outcome.revision === undefined) return undefined;
  const memories = outcome.receipt.made
    .filter(({ path }) => memoryRole(path) === "memory")
    .map(({ path, before, after }) => {
      const { name, description } = parseMemory(after ?? before ?? "", path);
      return after === undefined
        ? { path, name, description: "", change: "deleted" as const }
        : { path, name, description, change: "saved" as const };
    });
  return memories.length === 0
    ? undefined
    : { kind: "memories-saved", by: "dream", revision: outcome.revision.id, memories };
}
