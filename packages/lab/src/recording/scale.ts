import type { Block } from "palimpsest/internal/schema/block";
import { tokens, type Tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { wireBlock } from "palimpsest/internal/schema/wire/wire-block";
import { requestTokens } from "palimpsest/internal/schema/usage";
import { countBlockTokens, countTokens } from "@palimpsest/simulator/internal/prompt/count-tokens";
import { Calibration } from "palimpsest/internal/tokens/calibration";
import {
  addBytes,
  type ByteCounts,
  contentClasses,
  measureBlock,
  noBytes,
} from "palimpsest/internal/tokens/byte-counts";
import type { Rates } from "palimpsest/internal/tokens/estimate-block";
import { toItem } from "palimpsest/internal/transcript/item";
import type { Recording } from "./recording.ts";
import { explainedRatioMax, unexplainedTokensMax, unrecordedHeaderTokens } from "../limits.ts";
import type { BareRound } from "./split-rounds.ts";

export type Scale = Pick<Recording, "headerTokens" | "tokensOf" | "scaledBy">;

/** The token counts of a recording: fitted to its usage, or counted by the simulator if it has none. */
export function computeScale(rounds: readonly BareRound[]): Scale {
  if (rounds.every(({ usage }) => usage === undefined))
    return { headerTokens: unrecordedHeaderTokens, tokensOf: memoizeTokens(simulateTokens), scaledBy: "simulator" };
  const rates = fitRates(rounds);
  const tokensOf = memoizeTokens((block) => applyRates(measureSent(block), rates));
  return { headerTokens: computeHeaderTokens(rounds, tokensOf), tokensOf, scaledBy: "usage" };
}

/**
 * The size of the first request with usage, less what is logged of it. Every request contains the header, so the result is
 * capped at the smallest request: otherwise it would be too large for a log that begins in the middle of a conversation.
 */
function computeHeaderTokens(rounds: readonly BareRound[], tokensOf: Scale["tokensOf"]): Tokens {
  const first = rounds.findIndex(({ usage }) => usage !== undefined);
  const logged = requestBlocksBefore(rounds, first).reduce((sum, block) => sum + tokensOf(block), 0);
  const model = rounds[first]?.model;
  const requests = rounds.flatMap((round) =>
    round.usage !== undefined && round.model === model ? [requestTokens(round.usage)] : [],
  );
  const unlogged = (requests[0] ?? 0) - logged;
  return tokens(Math.max(0, Math.min(unlogged, ...requests)));
}

function memoizeTokens(count: (block: Block) => number): (block: Block) => Tokens {
  const tokensByBlock = new WeakMap<Block, Tokens>();
  return (block) => {
    const cached = tokensByBlock.get(block);
    if (cached !== undefined) return cached;
    const counted = tokens(Math.round(count(block)));
    tokensByBlock.set(block, counted);
    return counted;
  };
}

/** The blocks of an entry that are sent. Thinking without a signature is never sent. */
export const requestBlocks = (entry: Entry): readonly Block[] =>
  (toItem(entry, { at: 0, origin: "ours" })?.blocks ?? []).filter(
    (block) => block.type !== "unknown" && !(block.type === "thinking" && block.signature === ""),
  );

const requestBlocksBefore = (rounds: readonly BareRound[], index: number): readonly Block[] =>
  rounds
    .slice(0, index + 1)
    .flatMap(({ before, reply }, at) => (at === index ? before : [...before, ...reply]))
    .flatMap(requestBlocks);

/** Newer clients log thinking without its text. The signature contains it, encrypted and in base64. */
function measureSent(block: Block): ByteCounts {
  if (block.type !== "thinking" || block.thinking !== "") return measureBlock(block);
  return { ...noBytes(), prose: Math.round(block.signature.length * (3 / 4)) };
}

interface Growth {
  readonly bytes: ByteCounts;
  readonly grown: number;
}

/** The best-fitting rates by class, scaled by one factor so that the total growth is exact. */
function fitRates(rounds: readonly BareRound[]): Rates {
  const growths = computeGrowths(rounds);
  const calibration = new Calibration();
  for (const { bytes, grown } of growths) calibration.observe(bytes, tokens(grown));
  const fitted = calibration.lowRates;
  const explained = growths.filter((growth) => isExplainedGrowth(growth, fitted));
  const grown = explained.reduce((sum, growth) => sum + growth.grown, 0);
  const rated = explained.reduce((sum, { bytes }) => sum + applyRates(bytes, fitted), 0);
  return grown > 0 && rated > 0 ? multiplyRates(fitted, grown / rated) : fitted;
}

function computeGrowths(rounds: readonly BareRound[]): Growth[] {
  return rounds.flatMap((round, at) => {
    const last = rounds[at - 1];
    if (last?.usage === undefined || round.usage === undefined || round.grew === "cut") return [];
    const grown = requestTokens(round.usage) - requestTokens(last.usage);
    if (grown <= 0) return [];
    const bytes = noBytes();
    for (const entry of [...last.reply, ...round.before])
      for (const block of requestBlocks(entry)) addBytes(bytes, measureSent(block));
    return [{ bytes, grown }];
  });
}

function isExplainedGrowth({ bytes, grown }: Growth, rates: Rates): boolean {
  const rated = applyRates(bytes, rates);
  const isTooMuch = grown > rated * explainedRatioMax && grown - rated > unexplainedTokensMax;
  const isTooLittle = grown < rated / explainedRatioMax && rated - grown > unexplainedTokensMax;
  return !isTooMuch && !isTooLittle;
}

const applyRates = (bytes: ByteCounts, rates: Rates): number =>
  contentClasses.reduce((sum, name) => sum + bytes[name] * rates[name], 0);

const multiplyRates = (rates: Rates, factor: number): Rates => ({
  prose: rates.prose * factor,
  code: rates.code * factor,
  numbers: rates.numbers * factor,
  json: rates.json * factor,
  cjk: rates.cjk * factor,
  base64: rates.base64 * factor,
  emoji: rates.emoji * factor,
  media: rates.media * factor,
  counted: rates.counted,
});

/** Blocks that the simulator would not accept are counted by their JSON text. */
function simulateTokens(block: Block): number {
  if (block.type === "unknown") return 0;
  const wire = wireBlock.safeParse(block);
  return wire.success ? countBlockTokens(wire.data) : countTokens(JSON.stringify(block));
}
