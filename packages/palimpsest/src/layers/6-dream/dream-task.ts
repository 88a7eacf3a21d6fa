import type { Millis } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { oneLine } from "../../text/to-printable.ts";
import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { dreamTurnCharsMax, dreamTurnsKept } from "./limits.ts";

/**
 * A dream as UIs show it.
 *
 *   running: starting ──first write──▶ updating
 *   running ──▶ completed | failed | killed
 */
export interface DreamTask {
  readonly status: "running" | "completed" | "failed" | "killed";
  readonly phase: "starting" | "updating";
  /** The newest replies, oldest first. */
  readonly turns: readonly DreamTurn[];
  readonly turnsTotal: number;
  /** Calls of tools. */
  readonly calls: number;
  /** Memories that it has written to or deleted so far; once it has ended, those that were changed. */
  readonly files: readonly string[];
  readonly startedAt: Millis;
  readonly endedAt?: Millis | undefined;
  /** How it ended, in one line for the user. */
  readonly message?: string | undefined;
}

export interface DreamTurn {
  /** The first line of the reply; empty if it only called tools. */
  readonly text: string;
  readonly calls: number;
}

export const startDreamTask = (now: Millis): DreamTask => ({
  status: "running",
  phase: "starting",
  turns: [],
  turnsTotal: 0,
  calls: 0,
  files: [],
  startedAt: now,
});

/** Counts what a fork does. A reply that is requested again replaces the one that broke off. */
export function addDreamEvent(task: DreamTask, event: LoopEvent): DreamTask {
  switch (event.kind) {
    case "reply-start": {
      const turns = [...task.turns, { text: "", calls: 0 }].slice(-dreamTurnsKept);
      return { ...task, turns, turnsTotal: task.turnsTotal + 1 };
    }
    case "retry-start":
      return task.turnsTotal === 0 || task.turns.at(-1)?.calls !== 0
        ? task
        : { ...task, turns: task.turns.slice(0, -1), turnsTotal: task.turnsTotal - 1 };
    case "text-delta":
      return withLastTurn(task, ({ text, calls }) => ({ text: joinLine(text, event.text), calls }));
    case "call-start":
      return withLastTurn({ ...task, calls: task.calls + 1 }, ({ text, calls }) => ({ text, calls: calls + 1 }));
    default:
      return task;
  }
}

/** `files`: all that it has changed so far. */
export const updateDreamTask = (task: DreamTask, files: readonly string[]): DreamTask => ({
  ...task,
  phase: task.phase === "updating" || files.length > 0 ? "updating" : "starting",
  files,
});

export const endDreamTask = (
  task: DreamTask,
  end: Required<Pick<DreamTask, "endedAt" | "message" | "files">> & {
    readonly status: "completed" | "failed" | "killed";
  },
): DreamTask => ({ ...task, ...end });

function withLastTurn(task: DreamTask, change: (turn: DreamTurn) => DreamTurn): DreamTask {
  const last = task.turns.at(-1);
  return last === undefined ? task : { ...task, turns: [...task.turns.slice(0, -1), change(last)] };
}

function joinLine(text: string, more: string): string {
  if (text.length >= dreamTurnCharsMax) return text;
  const line = oneLine(`${text}${more}`).trimStart();
  return line.slice(0, safeCutIndex(line, dreamTurnCharsMax));
}
