/**
 * A recording reduced to what money depends on. In round t the request holds the header, every `other` and every result
 * of rounds 0…t, minus what was cleared. A result of round i is stale from round i + staleAfterRounds on.
 */
export interface CostSession {
  readonly headerTokens: number;
  readonly rounds: readonly CostRound[];
  readonly rates: { readonly read: number; readonly write: number; readonly output: number };
  readonly staleAfterRounds: number;
  readonly compaction: {
    /** Tokens that summary and restored files leave in place of everything but the header, the newest round included. */
    readonly leavesTokens: number;
    readonly outputTokens: number;
  };
  /** A request over this is not sent; absent: no limit. */
  readonly windowTokens?: number;
}

export interface CostRound {
  /** The cache has expired before this round's request: everything is written anew, so an edit is free. */
  readonly cold: boolean;
  /** What can't be cleared and is new in this round's request: replies, calls, people's words. */
  readonly otherTokens: number;
  /** Results that are new in this round's request and may be cleared, in order: what clearing one would save. */
  readonly resultTokens: readonly number[];
}
