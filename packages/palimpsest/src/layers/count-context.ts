import type { Block } from "../schema/block.ts";
import { tokens } from "../schema/brand.ts";
import { contextTokens, type Usage } from "../schema/usage.ts";
import { estimateBlock, uncalibratedPadding } from "../tokens/estimate-block.ts";
import type { Thresholds } from "../tokens/thresholds.ts";
import type { Item } from "../transcript/item.ts";
import type { ShownBlocks } from "../transcript/make-receipt.ts";
import type { CountingMethod } from "./policy.ts";

/** The rule of thumb of systems that do not estimate. */
const charsPerToken = 4;

interface CountInput {
  readonly items: readonly Item[];
  /** The blocks that the view shows, by entry. */
  readonly shown: () => ShownBlocks;
  /** The size of the context by the engine's own count. */
  readonly contextTokens: number;
}

/**
 * The size of the context as a policy counts it. A policy that uses the provider's last count misses everything since
 * then.
 */
export function countContext(counting: CountingMethod, input: CountInput): number {
  if (counting === "usage-and-calibrated-estimate") return input.contextTokens;
  const last = findLastCount(input.items);
  switch (counting) {
    case "usage":
      return last === undefined ? 0 : contextTokens(last.usage);
    case "usage-and-quarter-characters":
      return last === undefined ? sumBlocks(input.items, input, countChars) / charsPerToken : contextTokens(last.usage);
    case "usage-without-writes":
      return last === undefined ? input.contextTokens : last.usage.input + last.usage.cacheRead + last.usage.output;
    case "usage-and-padded-estimate":
      return last === undefined
        ? input.contextTokens
        : contextTokens(last.usage) + uncalibratedPadding * sumBlocks(last.since, input, estimateBlock);
  }
}

/** Moves the thresholds by the error of a policy's count, so that the layers can compare them with the engine's own. */
export function shiftThresholds(thresholds: Thresholds, error: number): Thresholds {
  const { compact, warning } = thresholds;
  return error === 0
    ? thresholds
    : { ...thresholds, compact: tokens(compact + error), warning: tokens(warning + error) };
}

/**
 * How a policy counts what it holds against its budgets: by characters, or by tokens, of which the inventory's count
 * differs by `scale`.
 */
export function createBudgetCounter(
  counting: CountingMethod,
  scale: number,
): (result: { readonly tokens: number; readonly chars: number }) => number {
  switch (counting) {
    case "usage":
    case "usage-and-quarter-characters":
    case "usage-without-writes":
      return ({ chars }) => chars / charsPerToken;
    case "usage-and-padded-estimate":
    case "usage-and-calibrated-estimate":
      return ({ tokens: count }) => count * scale;
  }
}

interface LastCount {
  readonly usage: Usage;
  /** Items that the request of this reply did not contain. */
  readonly since: readonly Item[];
}

/**
 * The newest reply with usage behind the last boundary. Results may stand between the parts of a reply: they came after
 * its request.
 */
function findLastCount(items: readonly Item[]): LastCount | undefined {
  const at = items.findLastIndex(({ usage, summary }) => usage !== undefined || summary === true);
  const { usage } = items[at] ?? {};
  if (usage === undefined) return undefined;
  const reply = replyKey(items[at]);
  let first = at;
  for (let before = at; before >= 0 && items[before]?.summary !== true; before -= 1) {
    if (replyKey(items[before]) === reply) first = before;
    else if (items[before]?.role === "assistant") break;
  }
  return { usage, since: items.slice(first).filter((item) => replyKey(item) !== reply) };
}

const replyKey = (item: Item | undefined): string | undefined =>
  item?.role === "assistant" ? (item.messageId ?? item.entry) : undefined;

const sumBlocks = (items: readonly Item[], { shown }: CountInput, count: (block: Block) => number): number =>
  items.reduce((total, { entry }) => (shown().get(entry) ?? []).reduce((sum, block) => sum + count(block), total), 0);

/** Characters of everything that the model reads of a block. */
function countChars(block: Block): number {
  switch (block.type) {
    case "text":
      return block.text.length;
    case "thinking":
      return block.thinking.length;
    default:
      return JSON.stringify(block).length;
  }
}
