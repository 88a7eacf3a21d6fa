import type { Block, ToolResultBlock } from "../schema/block.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import { textField } from "../schema/json.ts";
import { type ByteCounts, type ContentClass, contentClasses, measureBlock } from "./byte-counts.ts";
import {
  believedAllowanceTokens,
  believedDocumentTokensMax,
  believedFragmentTokensMax,
  believedHiddenTokensMax,
  believedRatioMax,
  believedRatioMin,
} from "./limits.ts";

/** Tokens per byte of each class; for media, tokens per item. */
export type Rates = { readonly [Class in ContentClass]: number };

/**
 * Rates before anything is known: text at 4 bytes per token, JSON at 2, an image or document at 2,000 tokens. Numbers,
 * wide characters, emoji and encoded data cost more per byte than text; their rates are those of public tokenizers,
 * rounded up.
 */
export const defaultRates: Rates = {
  prose: 1 / 4,
  code: 1 / 4,
  numbers: 1 / 1.9,
  json: 1 / 2,
  cjk: 1 / 3.2,
  base64: 1 / 1.8,
  emoji: 1 / 1.9,
  media: 2000,
  counted: 0,
};

/** Before anything was counted, a sum of estimates is padded by this factor, once: too much is safer than too little. */
export const uncalibratedPadding = 4 / 3;

/** Rates of a tokenizer, or of texts, with this many times the tokens. Images cost the same, and exact counts stay. */
export const scaleRates = ({ media, counted, ...rates }: Rates, ratio: number): Rates => ({
  media,
  counted,
  prose: rates.prose * ratio,
  code: rates.code * ratio,
  numbers: rates.numbers * ratio,
  json: rates.json * ratio,
  cjk: rates.cjk * ratio,
  base64: rates.base64 * ratio,
  emoji: rates.emoji * ratio,
});

export function tokensFromBytes(counts: ByteCounts, rates: Rates = defaultRates): Tokens {
  let sum = 0;
  for (const name of contentClasses) sum += counts[name] * rates[name];
  return tokens(Math.ceil(sum));
}

/** Unpadded estimate of one block, used for budgets. */
export const estimateBlock = (block: Block): Tokens => tokensFromBytes(measureBlock(block));

/** Unpadded estimate of a whole view. */
export function estimateShown(shown: Iterable<readonly Block[]>): Tokens {
  let sum = 0;
  for (const blocks of shown) for (const block of blocks) sum += estimateBlock(block);
  return tokens(sum);
}

export const estimateItems = (items: readonly { readonly blocks: readonly Block[] }[]): Tokens =>
  estimateShown(items.map(({ blocks }) => blocks));

/** Length in UTF-8, computed without encoding. */
export function utf8Length(value: string): number {
  let length = value.length;
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at);
    if (unit < 0x80) continue;
    // A surrogate pair has two units and four bytes: one extra byte for each half.
    length += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return length;
}

/** Counts each value once, because blocks and messages are immutable. A cached count is collected with its value. */
export function memoizeCount<Value extends object, Count extends number>(
  count: (value: Value) => Count,
): (value: Value) => Count {
  const countByValue = new WeakMap<Value, Count>();
  return (value) => {
    const known = countByValue.get(value);
    if (known !== undefined) return known;
    const counted = count(value);
    countByValue.set(value, counted);
    return counted;
  };
}

interface UsageClaim {
  /** The provider's count of a request. */
  readonly counted: Tokens;
  /** The same by our estimate, without padding. */
  readonly estimate: Tokens;
  /** What the estimate covers: everything in the request, the conversation alone, or what another program logged of it. */
  readonly covers: "all" | "conversation" | "log";
  /** Number of documents. Each is estimated at a flat size, but may be a whole book. */
  readonly documents: number;
}

/** Whether a count can be right for its request. A wrong one would block a session forever, or let it overflow. */
export function isPlausibleUsage({ counted, estimate, covers, documents }: UsageClaim): boolean {
  const most = estimate * believedRatioMax + allowanceByCoverage[covers] + documents * believedDocumentTokensMax;
  return counted <= most && counted >= estimate * believedRatioMin - believedAllowanceTokens;
}

/** The same for a fixed part that was counted alone: all of it is known text, so there is no additional tolerance. */
export const isPlausibleFixedPart = ({ counted, estimate }: Pick<UsageClaim, "counted" | "estimate">): boolean =>
  counted <= estimate * believedRatioMax && counted >= estimate * believedRatioMin;

const allowanceByCoverage: Readonly<Record<UsageClaim["covers"], number>> = {
  all: believedAllowanceTokens,
  conversation: believedHiddenTokensMax,
  log: believedFragmentTokensMax,
};

/** Documents in a block: itself, or inside a result. */
export function countDocuments(block: Block): number {
  if (block.type === "document") return 1;
  if (block.type !== "tool_result" || block.content === undefined || typeof block.content === "string") return 0;
  return block.content.filter((part) => part["type"] === "document").length;
}

/** Characters of a result's text. */
export const countResultChars = ({ content = "" }: ToolResultBlock): number =>
  typeof content === "string"
    ? content.length
    : content.reduce((sum, part) => sum + (textField(part, "text")?.length ?? 0), 0);
