import type { Block } from "palimpsest/internal/schema/block";
import type { Millis, Tokens, ToolUseId } from "palimpsest/internal/schema/brand";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";
import type { Usage } from "palimpsest/internal/schema/usage";

/**
 * A recorded session as measurements: what was said in which round, when, and how many tokens each block has. Boundaries,
 * summaries, clearings and offloads of the recording are gone: the conversation goes on uncut.
 */
export interface Recording {
  readonly file: string;
  /** That answered most of the rounds. */
  readonly model: string | undefined;
  readonly rounds: readonly RecordedRound[];
  /** Of what requests carry besides messages: sent as one system block. */
  readonly headerTokens: Tokens;
  /** Of a block as it was recorded, or of one that stands in its place. The same block has the same tokens always. */
  readonly tokensOf: (block: Block) => Tokens;
  readonly scaledBy: "usage" | "simulator";
  /** By `ToolUseId`: which results were needed again, and when. */
  readonly needs: ReadonlyMap<ToolUseId, Need>;
  /** What the recorded agent itself wrote when it compacted; no part of the rounds. */
  readonly summaries?: readonly RecordedSummary[];
}

export interface RecordedSummary {
  /** Index of the round before whose request it was written. */
  readonly round: number;
  readonly text: string;
  /** The preset that is this agent. */
  readonly policy: string;
}

/** One reply of the model and what led to it. */
export interface RecordedRound {
  /** When its request was sent. */
  readonly at: Millis;
  /** Said since the reply before: by a person, by tools, by the client. In an unbroken line of parents, as are all entries of a recording. */
  readonly before: readonly Entry[];
  /** All entries of the reply. */
  readonly reply: readonly AssistantEntry[];
  /** A person spoke: the first round of a turn. */
  readonly opens: "turn" | "nothing";
  readonly outputTokens: Tokens;
  /** What the provider counted, where it was recorded. */
  readonly usage: Usage | undefined;
}

/** When a result was used after the round it came in (`Infinity`: never). Rounds are indices into `Recording.rounds`. */
export interface Need {
  /** The round whose request first held it. */
  readonly born: number;
  /** Every round whose reply quotes it on strong evidence, in order. */
  readonly strongRounds: readonly number[];
  readonly weakRounds: readonly number[];
  /** Every round in which the same path and range was read again with no edit in between. */
  readonly rereadRounds: readonly number[];
}
