import type { Policy } from "../policy.ts";
import type { RestoreBudgets } from "../../schema/working-state.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import {
  carriedTokensMax,
  carriedWindowShareMax,
  extractRoomShareMax,
  extractTokensMax,
  ledgerRoomShareMax,
  restoredCoveredShareMax,
  restoredRoomShareMax,
  summaryTokensMax,
  summaryWindowShareMax,
  waitingThresholdShareMax,
} from "./budget-limits.ts";
import { headroomBelow } from "./headroom.ts";
import { restoreBudgets } from "./restore.ts";

export interface BudgetInput {
  readonly thresholds: Thresholds;
  readonly policy: Policy;
  /** Header, and what the boundary leaves as it is. */
  readonly staysTokens: number;
  /** Of what the summary takes the place of; absent: far more than is put back. */
  readonly coveredTokens?: number;
}

/** How many tokens may stand behind a boundary, by what they are for. */
export interface CompactionBudgets {
  /** For everything new together. */
  readonly room: number;
  readonly summary: number;
  readonly extract: number;
  readonly ledger: number;
  readonly carried: number;
  readonly restored: number;
}

/**
 * Below the threshold, with the headroom that the next rounds need. Where what stays leaves no such room, up to the limit
 * over which nothing can be sent: then a small summary is better than none.
 */
export function budgetsOf({
  thresholds,
  policy,
  staysTokens,
  coveredTokens = Infinity,
}: BudgetInput): CompactionBudgets {
  const { window, compact, blocking } = thresholds;
  const usual = compact - headroomBelow(compact) - staysTokens;
  const last = Math.min(blocking, window) - staysTokens;
  const room = Math.max(0, Math.floor(usual > 0 ? usual : last / 2));
  const summary = Math.floor(Math.min(summaryTokensMax, window * summaryWindowShareMax));
  const share = policy.summary?.userMessages?.windowShareMax ?? 0;
  return {
    room,
    summary,
    extract: Math.floor(Math.min(extractTokensMax, summary, room * extractRoomShareMax)),
    ledger: Math.floor(Math.min(window * share, room * ledgerRoomShareMax)),
    carried: Math.floor(Math.min(carriedTokensMax, window * carriedWindowShareMax)),
    restored: Math.floor(Math.min(room * restoredRoomShareMax, coveredTokens * restoredCoveredShareMax)),
  };
}

/** Of a message that waits for its answer; of a longer one the ledger shows head, tail and id. */
export const waitingTokensMax = ({ compact }: Pick<Thresholds, "compact">): number =>
  Math.floor(compact * waitingThresholdShareMax);

/** Of what is put back, in the room that summary and ledger leave. */
export function restoringWithin({ window }: Thresholds, { policy, roomTokens }: Restoring): RestoreBudgets {
  const usual = restoreBudgets(window);
  const { files, skills } = policy.summary?.restored ?? {};
  return {
    ...usual,
    tokensMax: Math.max(0, Math.floor(Math.min(usual.tokensMax, roomTokens))),
    ...(files === undefined
      ? {}
      : { files: { piecesMax: files.filesMax, pieceTokensMax: files.tokensMaxEach, tokensMax: files.tokensMax } }),
    ...(skills === undefined ? {} : { skills: { pieceTokensMax: skills.tokensMaxEach, tokensMax: skills.tokensMax } }),
  };
}

export interface Restoring {
  readonly policy: Policy;
  readonly roomTokens: number;
}
