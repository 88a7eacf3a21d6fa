import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { Block } from "palimpsest/internal/schema/block";
import type { Millis, Tokens, ToolUseId } from "palimpsest/internal/schema/brand";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";
import type { Usage } from "palimpsest/internal/schema/usage";

/**
 * A recorded session: the entries of each round, their times, and the tokens of each block. Boundaries, summaries, clears
 * and offloads of the recording are removed, so the conversation is complete.
 */
export interface Recording {
  readonly file: string;
  /** The model of most rounds. */
  readonly model: string | undefined;
  readonly rounds: readonly RecordedRound[];
  /** The size of everything in a request besides the messages; it is sent as one system block. */
  readonly headerTokens: Tokens;
  /** The size of a recorded block or of one that replaces it. The same block always has the same size. */
  readonly tokensOf: (block: Block) => Tokens;
  readonly scaledBy: "usage" | "simulator";
  /** What the usage says about the provider's cache; absent if it reports no writes. */
  readonly cache?: RecordedCache;
  /** For each result, when it was needed again. */
  readonly needs: ReadonlyMap<ToolUseId, Need>;
  /** The summaries that the recorded agent wrote when it compacted; they are not part of the rounds. */
  readonly summaries?: readonly RecordedSummary[];
}

export interface RecordedCache {
  /** The lifetime with which the recorded client wrote. */
  readonly lifetime: Lifetime;
  /** The beginning of the header that other sessions of the client keep in the cache; 0 if the usage shows none. */
  readonly sharedTokens: Tokens;
  /** `cut`: the client removed something from the context, so its bill is not that of the whole conversation. */
  readonly contexts: "whole" | "cut";
  /** What the client wrote again although it had not expired: it had changed its prefix, or the provider had lost it. */
  readonly lostTokens: Tokens;
}

/**
 * What happened to the cache before a request, whatever the policy. `header-shared`: another session of the client has put
 * the shared beginning of the header there.
 */
export type CacheEvent = "header-shared";

export interface RecordedSummary {
  /** The index of the round whose request follows. */
  readonly round: number;
  readonly text: string;
  /** The preset that models this agent. */
  readonly policy: string;
}

/** One reply of the model and what led to it. */
export interface RecordedRound {
  /** When its request was sent. */
  readonly at: Millis;
  /** The entries since the previous reply: from the user, tools and the client. All entries of a recording form one chain of parents. */
  readonly before: readonly Entry[];
  /** All entries of the reply. */
  readonly reply: readonly AssistantEntry[];
  /** `turn`: the user wrote something, so this is the first round of a turn. */
  readonly opens: "turn" | "nothing";
  readonly outputTokens: Tokens;
  /** The provider's counts, if they were recorded. */
  readonly usage: Usage | undefined;
  /** Absent if there are none. */
  readonly cacheEvents?: readonly CacheEvent[];
}

/** The rounds that used a result after the round in which it arrived. Rounds are indices into `Recording.rounds`. */
export interface Need {
  /** The round whose request first contained it. */
  readonly born: number;
  /** Every round whose reply quotes it by strong evidence, in order. */
  readonly strongRounds: readonly number[];
  readonly weakRounds: readonly number[];
  /** Every round that read the same path and range again without an edit in between. */
  readonly rereadRounds: readonly number[];
}
