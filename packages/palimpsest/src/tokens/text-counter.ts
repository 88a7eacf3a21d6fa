import { type Block, compactionBlockText } from "../schema/block.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import { type JsonObject, textField as textAt } from "../schema/json.ts";
import { Calibration, type CalibrationState } from "./calibration.ts";
import { memoizeCount, defaultRates, estimateBlock, type Rates, tokensFromBytes } from "./estimate-block.ts";
import { measureText, noBytes } from "./byte-counts.ts";
import { believedBlockAllowanceTokens, believedBlockRatioMax } from "./limits.ts";

/** The tokens of a text, computed synchronously: the caller's tokenizer. */
export type CountText = (text: string) => number;

/**
 * The caller's tokenizer, applied to the parts of requests. Anything that is not text (an image, encrypted thinking) is
 * estimated.
 */
export interface TextCounter {
  /**
   * The tokenizer's count. An estimate if it throws or returns no number: some refuse texts that look like their
   * special tokens.
   */
  readonly text: CountText;
  readonly block: (block: Block) => number;
  /** The same for plans, where no sum over a whole request corrects an error: an implausible count is replaced by an estimate. */
  readonly believedBlock: (block: Block) => Tokens;
}

export function textCounter(count: CountText): TextCounter {
  const text = (value: string): number => countOrEstimate(count, value);
  const block = memoizeCount((value: Block) => countBlock(value, text));
  return {
    text,
    block,
    believedBlock: memoizeCount((value: Block) => tokens(believedCount(block(value), estimateBlock(value)))),
  };
}

function countOrEstimate(count: CountText, value: string): number {
  try {
    const counted = count(value);
    if (Number.isFinite(counted) && counted >= 0) return counted;
  } catch {
    // Estimated below.
  }
  const bytes = noBytes();
  measureText(value, bytes);
  return tokensFromBytes(bytes);
}

function countBlock(block: Block, text: CountText): number {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "thinking":
      return text(block.thinking);
    case "tool_use":
      return text(block.name) + text(JSON.stringify(block.input));
    case "tool_result":
      if (typeof block.content === "string") return text(block.content);
      return (block.content ?? []).reduce((sum, part) => sum + countPart(part, text), 0);
    case "compaction":
      return text(compactionBlockText(block) ?? "");
    case "redacted_thinking":
    case "image":
    case "document":
      return estimateBlock(block);
    default:
      return text(JSON.stringify(block));
  }
}

function countPart(part: JsonObject, text: CountText): number {
  if (part["type"] === "image" || part["type"] === "document") return defaultRates.media;
  return text((part["type"] === "text" ? textAt(part, "text") : undefined) ?? JSON.stringify(part));
}

function believedCount(counted: number, estimate: number): number {
  const most = estimate * believedBlockRatioMax + believedBlockAllowanceTokens;
  const least = estimate / believedBlockRatioMax - believedBlockAllowanceTokens;
  return counted >= Math.max(0, least) && counted <= most ? counted : estimate;
}

/** Rates that use only the tokenizer's counts. */
export const counterRates: Rates = { ...noBytes(), counted: 1 };

/** Uses the tokenizer's counts while they are believed; meanwhile it learns rates for when they are not. */
export class CounterCalibration extends Calibration {
  readonly #believes: () => boolean;

  constructor(state: CalibrationState | undefined, believes: () => boolean) {
    super(state);
    this.#believes = believes;
  }

  override get rates(): Rates {
    return this.#believes() ? counterRates : super.rates;
  }

  override get lowRates(): Rates {
    return this.#believes() ? counterRates : super.lowRates;
  }
}
