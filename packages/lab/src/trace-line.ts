import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { CompactRule } from "palimpsest/internal/layers/policy";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { PriceName } from "./replay-outcome.ts";
import type { CacheEvent, RecordedRound } from "./recording/recording.ts";

export type SentRequest = (RequestRecord & { readonly kind: "round" }) | AsideRequest;

/** `compaction`: the request for a summary. `notes`: an update of the notes. Neither writes to the cache, and only a `fork` reads from it. */
export interface AsideRequest extends RequestRecord {
  readonly kind: "compaction" | "notes";
  readonly call: CompactRule["call"];
}

interface RequestRecord {
  readonly round: RecordedRound;
  readonly prompt: Prompt;
  readonly usage: UsageSplit;
}

/** One request of a replay, with everything that determines its cost. */
export interface TraceLine {
  readonly file: string;
  readonly policy: string;
  readonly prices: PriceName;
  readonly kind: SentRequest["kind"];
  /** Only for compactions and notes. */
  readonly call?: CompactRule["call"];
  /** From 0. */
  readonly round: number;
  /** When it was sent, in milliseconds. */
  readonly at: number;
  /** What happened to the cache before the first request of this round; absent if there was nothing. */
  readonly cacheEvents?: readonly CacheEvent[];
  /**
   * For each block a number that identifies its content within a file, and its tokens. Block 0 is the header. If other
   * sessions share the beginning of the header, that comes first, as block −1.
   */
  readonly blocks: readonly (readonly [id: number, tokens: number])[];
  /** The cache marks: the index into `blocks`, and the lifetime. */
  readonly marks: readonly (readonly [block: number, lifetime: Lifetime])[];
  readonly usage: UsageSplit;
}

export function traceLine(sent: SentRequest, { file, policy, prices, rounds }: TraceContext): TraceLine {
  const { prompt, round, usage } = sent;
  return {
    file,
    policy,
    prices,
    ...(sent.kind === "round" ? { kind: sent.kind } : { kind: sent.kind, call: sent.call }),
    round: rounds.indexOf(round),
    at: round.at,
    ...(round.cacheEvents === undefined ? {} : { cacheEvents: round.cacheEvents }),
    blocks: prompt.blocks.map(({ hash, tokens }) => [Number(hash), tokens]),
    marks: prompt.blocks.flatMap(({ breakpoint }, at) => (breakpoint === undefined ? [] : [[at, breakpoint] as const])),
    usage,
  };
}

interface TraceContext extends Pick<TraceLine, "file" | "policy" | "prices"> {
  readonly rounds: readonly RecordedRound[];
}
