import type { BackgroundRule } from "../policy.ts";
import { failuresMax } from "./limits.ts";

/**
 * When notes are taken, one update at a time. A moment is the end of a round.
 *
 *   idle ──a moment, due──▶ running              idle ──a moment, not due──▶ idle
 *   running ──a moment──▶ running, keeps it      (the newest replaces the one that was kept)
 *   running ──ends, the kept moment is due──▶ running, from that moment
 *   running ──ends, nothing is due──▶ idle
 *   running ──fails for the third time in a row──▶ stopped      stopped ──anything──▶ stopped
 *
 * After a failure, as after a success, the context has to grow again. Otherwise a model that always fails would be asked
 * in every round.
 */
export type NotesState =
  | { readonly kind: "idle"; readonly last: NotesMoment | undefined; readonly failures: number }
  | {
      readonly kind: "running";
      readonly from: NotesMoment;
      readonly kept: NotesMoment | undefined;
      readonly failures: number;
    }
  | { readonly kind: "stopped" };

export type NotesRule = NonNullable<BackgroundRule["notes"]>;

/** What decides whether notes are due. */
export interface NotesMoment {
  /** Tokens of the whole context, as it is counted. */
  readonly contextTokens: number;
  /** Tool calls so far; only differences count. */
  readonly calls: number;
  readonly lastReply: "calls" | "no-calls";
}

export interface NotesStep {
  readonly state: NotesState;
  /** The moment at which an update begins now. */
  readonly starts?: NotesMoment;
}

/** `last` is, for a resumed session, the moment up to which there are notes. */
export const notesIdle = (last?: NotesMoment): NotesState => ({ kind: "idle", last, failures: 0 });

interface MomentInput {
  readonly moment: NotesMoment;
  readonly rule: NotesRule;
}

export function onMoment(state: NotesState, { moment, rule }: MomentInput): NotesStep {
  switch (state.kind) {
    case "idle":
      return startIfDue({ ...state, last: state.last && lowerBaseline(state.last, moment) }, { moment, rule });
    case "running":
      return { state: { ...state, from: lowerBaseline(state.from, moment), kept: moment } };
    case "stopped":
      return { state };
  }
}

/** Whether an update for this moment would begin: at once, or when the running one has ended. */
export function isWanted(state: NotesState, { moment, rule }: MomentInput): boolean {
  switch (state.kind) {
    case "idle":
      return isDue(rule, { last: state.last && lowerBaseline(state.last, moment), moment });
    case "running":
      return isDue(rule, { last: lowerBaseline(state.from, moment), moment });
    case "stopped":
      return false;
  }
}

/** Call it when the running update has ended. */
export function onEnd(
  state: NotesState,
  { outcome, rule }: { readonly outcome: "taken" | "failed"; readonly rule: NotesRule },
): NotesStep {
  switch (state.kind) {
    case "running": {
      const failures = outcome === "failed" ? state.failures + 1 : 0;
      if (failures >= failuresMax) return { state: { kind: "stopped" } };
      const idle = { kind: "idle", last: state.from, failures } as const;
      return state.kept === undefined ? { state: idle } : startIfDue(idle, { moment: state.kept, rule });
    }
    case "idle":
    case "stopped":
      throw new Error("an update ended that never began");
  }
}

/**
 * Due first when the context reaches a size, then when it has grown enough and either there were enough calls or the
 * agent has stopped to talk. Without growth nothing is due, however many calls there were.
 */
export function isDue(
  { firstTokens, growthTokens, callsMin }: NotesRule,
  { last, moment }: { readonly last: NotesMoment | undefined; readonly moment: NotesMoment },
): boolean {
  if (last === undefined) return moment.contextTokens >= firstTokens;
  if (moment.contextTokens - last.contextTokens < growthTokens) return false;
  return moment.calls - last.calls >= callsMin || moment.lastReply === "no-calls";
}

function startIfDue(idle: Extract<NotesState, { kind: "idle" }>, { moment, rule }: MomentInput): NotesStep {
  const { last, failures } = idle;
  if (!isDue(rule, { last, moment })) return { state: idle };
  return { state: { kind: "running", from: moment, kept: undefined, failures }, starts: moment };
}

/** Growth counts from the lowest point since then: after a boundary or a clearing the context starts to grow again. */
const lowerBaseline = (last: NotesMoment, { contextTokens }: NotesMoment): NotesMoment =>
  contextTokens < last.contextTokens ? { ...last, contextTokens } : last;
