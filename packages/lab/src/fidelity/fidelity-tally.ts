import { type FactKind, factKinds } from "./fact.ts";
import {
  byKind,
  type Fates,
  type FatesByKind,
  type FidelityOutcome,
  type FidelityRun,
  noFates,
} from "./fidelity-outcome.ts";

/** One policy after its n-th compaction, over all sessions with that many. Facts are summed, so a session with more facts counts more. */
export interface FidelitySummary {
  readonly policy: string;
  readonly sessions: number;
  readonly userMessages: number;
  readonly userMessagesVerbatim: number;
  readonly userMessagesByReference: number;
  readonly facts: FatesByKind;
  /** The sum over all kinds. */
  readonly all: Fates;
  readonly needed: Fates;
  /** The mean over sessions. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Sessions for which the recorded summary was used. */
  readonly recorded: number;
}

export interface CompactionSummary {
  readonly compaction: number;
  /** In the order in which they were added. */
  readonly policies: readonly FidelitySummary[];
}

export interface FidelityFigures {
  readonly compactions: readonly CompactionSummary[];
  /** For each policy the counts over all sessions. */
  readonly runs: readonly PolicyRuns[];
}

interface PolicyRuns {
  readonly policy: string;
  readonly sessions: number;
  /** Sessions with at least one compaction. */
  readonly compacted: number;
  readonly compactionsMost: number;
  readonly failed: number;
}

/** Holds only sums, so its size does not grow with the number of files. */
export class FidelityTally {
  readonly #summaries = new Map<number, Map<string, FidelitySummary>>();
  readonly #runs = new Map<string, PolicyRuns>();

  add({
    outcomes,
    runs,
  }: {
    readonly outcomes: readonly FidelityOutcome[];
    readonly runs: readonly FidelityRun[];
  }): void {
    for (const run of runs) this.#runs.set(run.policy, withRun(this.#runs.get(run.policy) ?? noRuns(run.policy), run));
    for (const outcome of outcomes) {
      const byPolicy = this.#summaries.get(outcome.compaction) ?? new Map<string, FidelitySummary>();
      this.#summaries.set(outcome.compaction, byPolicy);
      byPolicy.set(outcome.policy, withOutcome(byPolicy.get(outcome.policy) ?? emptySummary(outcome.policy), outcome));
    }
  }

  figures(): FidelityFigures {
    const policies = [...this.#runs.keys()];
    const compactions = [...this.#summaries]
      .toSorted(([a], [b]) => a - b)
      .map(([compaction, byPolicy]) => ({
        compaction,
        policies: policies.flatMap((name) => byPolicy.get(name) ?? []),
      }));
    return { compactions, runs: [...this.#runs.values()] };
  }
}

const noRuns = (policy: string): PolicyRuns => ({ policy, sessions: 0, compacted: 0, compactionsMost: 0, failed: 0 });

const withRun = (sum: PolicyRuns, { compactions, failedAt }: FidelityRun): PolicyRuns => ({
  policy: sum.policy,
  sessions: sum.sessions + 1,
  compacted: sum.compacted + (compactions > 0 ? 1 : 0),
  compactionsMost: Math.max(sum.compactionsMost, compactions),
  failed: sum.failed + (failedAt === undefined ? 0 : 1),
});

const emptySummary = (policy: string): FidelitySummary => ({
  policy,
  sessions: 0,
  userMessages: 0,
  userMessagesVerbatim: 0,
  userMessagesByReference: 0,
  facts: byKind(() => noFates),
  all: noFates,
  needed: noFates,
  tokensBefore: 0,
  tokensAfter: 0,
  recorded: 0,
});

function withOutcome(sum: FidelitySummary, outcome: FidelityOutcome): FidelitySummary {
  const sessions = sum.sessions + 1;
  const mean = (before: number, value: number): number => before + (value - before) / sessions;
  return {
    policy: sum.policy,
    sessions,
    userMessages: sum.userMessages + outcome.userMessages,
    userMessagesVerbatim: sum.userMessagesVerbatim + outcome.userMessagesVerbatim,
    userMessagesByReference: sum.userMessagesByReference + outcome.userMessagesByReference,
    facts: byKind((kind) => addFates(sum.facts[kind], outcome.facts[kind])),
    all: addFates(sum.all, sumKinds(outcome.facts)),
    needed: addFates(sum.needed, sumKinds(outcome.neededLater)),
    tokensBefore: mean(sum.tokensBefore, outcome.tokensBefore),
    tokensAfter: mean(sum.tokensAfter, outcome.tokensAfter),
    recorded: sum.recorded + (outcome.summary === "recorded" ? 1 : 0),
  };
}

const sumKinds = (fates: FatesByKind): Fates =>
  factKinds.reduce((sum, kind: FactKind) => addFates(sum, fates[kind]), noFates);

const addFates = (a: Fates, b: Fates): Fates => ({
  shown: a.shown + b.shown,
  recoverable: a.recoverable + b.recoverable,
  named: a.named + b.named,
  lost: a.lost + b.lost,
});

/** From 0 to 1; undefined if there are no facts. */
export function computeShownShare({ shown, recoverable, lost }: Fates): number | undefined {
  const all = shown + recoverable + lost;
  return all === 0 ? undefined : shown / all;
}
