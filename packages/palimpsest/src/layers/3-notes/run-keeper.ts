import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Millis } from "../../schema/brand.ts";
import { staleMillis, waitMillisMax } from "./limits.ts";
import type { NotesOutcome } from "./run-notes.ts";
import {
  isWanted,
  type NotesMoment,
  notesIdle,
  type NotesRule,
  type NotesState,
  type NotesStep,
  onEnd,
  onMoment,
} from "./notes-state.ts";

export interface NotesKeeperDeps extends ClockDep {
  /** Must resolve early when the signal is aborted. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** The current rule. Undefined if no notes are taken. */
  readonly rule: () => NotesRule | undefined;
  /** Runs one update of what the conversation holds when it begins; `takeNotes`. */
  readonly take: (moment: NotesMoment, signal: AbortSignal) => Promise<NotesOutcome>;
  /** Records the notes that were taken and logs failures. What it throws is ignored. */
  readonly onEnded: (outcome: NotesOutcome) => Promise<void>;
}

/**
 * `idle`: none was running. `stale`: one is running that is no longer waited for. `late`: it did not end within the
 * waiting time.
 */
export type SettleOutcome = "idle" | "ended" | "stale" | "late";

interface RunningUpdate {
  readonly startedAt: Millis;
  /** Never rejects. */
  readonly over: Promise<void>;
}

/**
 * Takes notes beside the conversation, one update at a time; `notes-state.ts` has the states. No turn waits for it,
 * and none of its failures reaches a turn.
 */
export class NotesKeeper {
  readonly #deps: NotesKeeperDeps;
  readonly #closed = new AbortController();
  #state: NotesState;
  #running: RunningUpdate | undefined;

  /** `last` is, for a resumed session, the moment up to which there are notes. */
  constructor(deps: NotesKeeperDeps, last?: NotesMoment) {
    this.#deps = deps;
    this.#state = notesIdle(last);
  }

  get state(): NotesState["kind"] {
    return this.#state.kind;
  }

  /** Whether `notice` with this moment would lead to an update. */
  wants(moment: NotesMoment): boolean {
    const rule = this.#deps.rule();
    return rule !== undefined && !this.#closed.signal.aborted && isWanted(this.#state, { moment, rule });
  }

  /** Call it at the end of a round. Returns at once. */
  notice(moment: NotesMoment): void {
    const rule = this.#deps.rule();
    if (rule === undefined || this.#closed.signal.aborted) return;
    this.#step(onMoment(this.#state, { moment, rule }));
  }

  /** For a compaction that could use current notes: waits for a running update, but not long. */
  async settle(signal: AbortSignal): Promise<SettleOutcome> {
    const running = this.#running;
    if (running === undefined) return "idle";
    if (this.#deps.now() - running.startedAt > staleMillis) return "stale";
    const waitOver = new AbortController();
    const late = this.#deps.wait(waitMillisMax, AbortSignal.any([signal, waitOver.signal])).then(() => "late" as const);
    const settled = await Promise.race([running.over.then(() => "ended" as const), late]);
    waitOver.abort();
    return settled;
  }

  /** Stops the running update. Resolves when it has stopped. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running?.over;
  }

  #step({ state, starts }: NotesStep): void {
    this.#state = state;
    if (starts !== undefined) this.#running = { startedAt: this.#deps.now(), over: this.#run(starts) };
  }

  async #run(moment: NotesMoment): Promise<void> {
    const outcome = await this.#take(moment);
    try {
      await this.#deps.onEnded(outcome);
    } catch {
      // Notes that could not be recorded are simply not used.
    }
    this.#running = undefined;
    const rule = this.#closed.signal.aborted ? undefined : this.#deps.rule();
    if (this.#state.kind !== "running") return;
    this.#step(
      rule === undefined ? { state: notesIdle(this.#state.from) } : onEnd(this.#state, { outcome: outcome.kind, rule }),
    );
  }

  async #take(moment: NotesMoment): Promise<NotesOutcome> {
    try {
      return await this.#deps.take(moment, this.#closed.signal);
    } catch (error) {
      return { kind: "failed", why: "model", message: `Taking notes failed: ${String(error)}`, usage: [] };
    }
  }
}
