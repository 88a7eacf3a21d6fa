import {
  type ExtractionCause,
  type ExtractionRule,
  findExtractionCause,
  saysWhatLasts,
} from "palimpsest/internal/layers/5-extract/plan";
import { userText } from "palimpsest/internal/transcript/user-text";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { extractionStandIn, soonRoundsMax } from "../limits.ts";
import { PolicyRun } from "../policy-run.ts";
import type { RecordedRound } from "../recording/recording.ts";
import { requestBlocks } from "../recording/scale.ts";
import { breakpointCache } from "../replay-cache.ts";
import { thresholdsFor } from "../replay-file.ts";
import type { ReplayWorld } from "../replay-world.ts";

/** The end of a turn, as far as extraction depends on it. */
export interface TurnRecord {
  /** The index of its last round. */
  readonly round: number;
  /** `cut`: the recording ends before the turn does. */
  readonly ended: "completely" | "cut";
  /** What the user said since the turn before. */
  readonly said: readonly string[];
  /** What the conversation has grown by since then. */
  readonly tokens: number;
  /** What one request of a fork costs here, without its output, in tokens at the base input price. */
  readonly forkCost: number;
}

export interface TurnRecords {
  readonly turns: readonly TurnRecord[];
  /** What the conversation itself costs, in the same unit. */
  readonly cost: number;
  readonly outputRate: number;
}

/**
 * Replays one recording under a policy and notes what a fork would have cost at the end of each turn. Forks change nothing,
 * so that one replay is enough for every rule. Undefined if the policy could not complete the session.
 */
export async function recordTurns(
  world: ReplayWorld,
  { policy, lifetime }: { readonly policy: Policy; readonly lifetime: Lifetime },
): Promise<TurnRecords | undefined> {
  const { rounds, tokensOf } = world.recording;
  const turns: TurnRecord[] = [];
  let next = 0;
  const run = new PolicyRun({
    world,
    policy,
    lifetime,
    thresholds: thresholdsFor(policy, { world, request: { windowTokens: undefined } }),
    cache: breakpointCache(world.model.cachePrefixTokensMin),
    refetch: "charged",
    compaction: "stand-in",
    onTurnEnd: async ({ round, quoteFork }) => {
      const turn = rounds.slice(next, round + 1);
      next = round + 1;
      turns.push({
        round,
        ended: hasCall(turn.at(-1)) ? "cut" : "completely",
        said: turn.flatMap(({ before }) => before.flatMap((entry) => userText(entry) ?? [])),
        tokens: turn
          .flatMap(({ before, reply }) => [...before, ...reply].flatMap(requestBlocks))
          .reduce((sum, block) => sum + tokensOf(block), 0),
        forkCost: await quoteFork(extractionStandIn.directiveTokens),
      });
    },
  });
  await run.run();
  if (run.failedAt !== undefined) return undefined;
  return { turns, cost: run.spending.cost, outputRate: world.rates[lifetime].output };
}

const hasCall = (round: RecordedRound | undefined): boolean =>
  round?.reply.some(({ blocks }) => blocks.some(({ type }) => type === "tool_use")) === true;

/** An extraction that the engine's rule would have started. */
export interface ReplayedExtraction {
  readonly cause: ExtractionCause;
  /** The index in `turns` of the turn after which it ran, and of the first turn that it covers. */
  readonly after: number;
  readonly from: number;
  readonly cost: number;
}

/** The extractions of one session by one rule. The user is assumed to close the session at once after its last reply. */
export function replayExtractions(
  rule: ExtractionRule,
  { turns, outputRate }: Pick<TurnRecords, "turns" | "outputRate">,
): readonly ReplayedExtraction[] {
  const extractions: ReplayedExtraction[] = [];
  let from = 0;
  for (const [after, turn] of turns.entries()) {
    const since = turns.slice(from, after + 1);
    const said = since.flatMap((one) => one.said);
    const moment = {
      turns: since.filter(({ ended }) => ended === "completely").length,
      said,
      tokens: since.reduce((sum, { tokens }) => sum + tokens, 0),
      cache: "warm",
    } as const;
    const cause =
      (turn.ended === "completely" ? findExtractionCause(rule, { ...moment, at: "turn-end" }) : undefined) ??
      (after === turns.length - 1 ? findExtractionCause(rule, { ...moment, at: "session-end" }) : undefined);
    if (cause === undefined) continue;
    const { requests, outputTokens } = extractionStandIn;
    const output = said.some(saysWhatLasts) ? outputTokens.found : outputTokens.nothing;
    extractions.push({ cause, after, from, cost: requests * turn.forkCost + outputRate * output });
    from = after + 1;
  }
  return extractions;
}

export interface Coverage {
  /** Messages that matter. */
  readonly messages: number;
  /** Covered at most ten rounds after the end of the turn in which they were said. */
  readonly soon: number;
  /** Covered before the session's end, as if no extraction ran there. */
  readonly beforeEnd: number;
  readonly ever: number;
}

/** How many of the messages that matter the extractions have covered, and when. */
export function countCoverage(
  { turns }: Pick<TurnRecords, "turns">,
  { extractions, matters }: { extractions: readonly ReplayedExtraction[]; matters: (message: string) => boolean },
): Coverage {
  const messages = turns.flatMap(({ said, round }, turn) => {
    const extraction = extractions.find(({ from, after }) => from <= turn && turn <= after);
    const delayRounds = extraction === undefined ? Infinity : (turns[extraction.after]?.round ?? Infinity) - round;
    return said.filter(matters).map(() => ({ cause: extraction?.cause, delayRounds }));
  });
  const count = (covered: (message: (typeof messages)[number]) => boolean): number => messages.filter(covered).length;
  return {
    messages: messages.length,
    soon: count(({ delayRounds }) => delayRounds <= soonRoundsMax),
    beforeEnd: count(({ cause }) => cause !== undefined && cause !== "end"),
    ever: count(({ cause }) => cause !== undefined),
  };
}
