import type { ReplayOutcome } from "../outcome.ts";
import { sum } from "../statistics.ts";

/** A session whose context is drawn over its rounds. */
export interface PlottedSession {
  readonly file: string;
  readonly rounds: number;
  readonly lines: readonly PlottedLine[];
}

export interface PlottedLine {
  readonly policy: string;
  readonly contextByRound: readonly number[];
}

export interface Picked {
  /** All outcomes of one file. */
  add(outcomes: readonly ReplayOutcome[]): void;
  sessions(): readonly PlottedSession[];
}

/** Keeps the sessions with the most tokens sent, at one price table: there the policies differ most. */
export function pickSessions(sessionsMax: number): Picked {
  let kept: readonly { readonly size: number; readonly session: PlottedSession }[] = [];
  return {
    add: (outcomes) => {
      const [first] = outcomes;
      if (first === undefined) return;
      const lines = outcomes
        .filter(({ prices }) => prices === first.prices)
        .map(({ policy, contextByRound }) => ({ policy, contextByRound }));
      const size = Math.max(...lines.map(({ contextByRound }) => sum(contextByRound)));
      kept = [...kept, { size, session: { file: first.file, rounds: first.rounds, lines } }]
        .toSorted((one, other) => other.size - one.size)
        .slice(0, sessionsMax);
    },
    sessions: () => kept.map(({ session }) => session),
  };
}
