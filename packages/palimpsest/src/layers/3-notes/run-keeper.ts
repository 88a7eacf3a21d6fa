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
  /** Must resolve early when the signal is raised. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** In force at this moment; undefined: no notes are taken. */
  readonly rule: () => NotesRule | undefined;
  /** One extraction of what the conversation holds when it begins; `takeNotes`. */
  readonly take: (moment: NotesMoment, signal: AbortSignal) => Promise<NotesOutcome>;
  /** Writes down what notes were taken, and logs what failed; what it throws is passed over. */
  readonly onEnded: (outcome: NotesOutcome) => Promise<void>;
}

/** `idle`: none was in flight. `stale`: one is that nobody waits for any more. `late`: it took longer than anyone waits. */
export type SettleOutcome = "idle" | "ended" | "stale" | "late";

interface RunningExtraction {
  readonly startedAt: Millis;
  /** Never rejects. */
  readonly over: Promise<void>;
}

/**
 * Takes notes beside the conversation, one extraction at a time; `triggers.ts` has the states. Nothing that it does is
 * waited for by a turn, and nothing that fails in it reaches one.
 */
export class NotesKeeper {
  readonly #deps: NotesKeeperDeps;
  readonly #closed = new AbortController();
  #state: NotesState;
  #running: RunningExtraction | undefined;

  /** `last`: of a session that goes on, the moment up to which there are notes. */
  constructor(deps: NotesKeeperDeps, last?: NotesMoment) {
    this.#deps = deps;
    this.#state = notesIdle(last);
  }

  get state(): NotesState["kind"] {
    return this.#state.kind;
  }

  /** Whether `notice` of this moment would lead to an extraction. */
  wants(moment: NotesMoment): boolean {
    const rule = this.#deps.rule();
    return rule !== undefined && !this.#closed.signal.aborted && isWanted(this.#state, { moment, rule });
  }

  /** A round has ended. Returns at once. */
  notice(moment: NotesMoment): void {
    const rule = this.#deps.rule();
    if (rule === undefined || this.#closed.signal.aborted) return;
    this.#step(onMoment(this.#state, { moment, rule }));
  }

  /** For a compaction that could use notes of this moment: waits for an extraction in flight, but not long. */
  async settle(signal: AbortSignal): Promise<SettleOutcome> {
    const running = this.#running;
    if (running === undefined) return "idle";
    if (this.#deps.now() - running.startedAt > staleMillis) return "stale";
    const waited = new AbortController();
    const late = this.#deps.wait(waitMillisMax, AbortSignal.any([signal, waited.signal])).then(() => "late" as const);
    const settled = await Promise.race([running.over.then(() => "ended" as const), late]);
    waited.abort();
    return settled;
  }

  /** Stops the extraction in flight. Resolves when it has stopped. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running?.over;
  }

  #step({ state, starts }: NotesStep): void {
    this.#state = state;
    if (starts !== undefined) this.#running = { startedAt: this.#deps.now(), over: this.#run(starts) };
  }

  async #run(moment: NotesMoment): Promise<void> {
    const outcome = await this.#taken(moment);
    try {
      await this.#deps.onEnded(outcome);
    } catch {
      // Notes that could not be written down are notes that nobody knows of.
    }
    this.#running = undefined;
    const rule = this.#closed.signal.aborted ? undefined : this.#deps.rule();
    if (this.#state.kind !== "running") return;
    this.#step(
      rule === undefined ? { state: notesIdle(this.#state.from) } : onEnd(this.#state, { outcome: outcome.kind, rule }),
    );
  }

  async #taken(moment: NotesMoment): Promise<NotesOutcome> {
    try {
      return await this.#deps.take(moment, this.#closed.signal);
    } catch (error) {
      return { kind: "failed", why: "model", message: `Taking notes broke off: ${String(error)}`, usage: [] };
    }
  }
}
