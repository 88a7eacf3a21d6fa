import type { Block } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../../schema/brand.ts";
import { type Item, withPairs } from "../../transcript/item.ts";
import { pinnedWindowShareMax, pinsNamedMax } from "./restore-limits.ts";
import { figure } from "../../schema/figure.ts";

export interface PinsInput {
  /** Of the view. */
  readonly items: readonly Item[];
  readonly pins: ReadonlySet<EntryId>;
  readonly budgetTokens: Tokens;
  readonly count: (block: Block) => number;
}

export interface PinsReport {
  /** Pins that the view shows, the largest first. */
  readonly pins: readonly PinnedEntry[];
  /** Of all that the pins carry through a boundary: what is called and answered stays together. */
  readonly tokens: Tokens;
  readonly budgetTokens: Tokens;
  /** Over the budget: one line that names the largest. The pins stay nevertheless, byte for byte. */
  readonly warning?: string;
}

export interface PinnedEntry {
  readonly entry: EntryId;
  /** With what it brings along. */
  readonly tokens: Tokens;
}

export const pinsBudget = (windowTokens: number): Tokens => tokens(Math.floor(windowTokens * pinnedWindowShareMax));

export function pinsWithin({ items, pins, budgetTokens, count }: PinsInput): PinsReport {
  if (pins.size === 0) return { pins: [], tokens: tokens(0), budgetTokens };
  const tokensByEntry = new Map(
    items.map(({ entry, blocks }) => [entry, blocks.reduce((sum, block) => sum + count(block), 0)] as const),
  );
  const sizeOf = (entries: Iterable<EntryId>): Tokens =>
    tokens(Array.from(entries, (entry) => tokensByEntry.get(entry) ?? 0).reduce((sum, one) => sum + one, 0));
  const pinned = items
    .filter(({ entry }) => pins.has(entry))
    .map(({ entry }) => ({ entry, tokens: sizeOf(withPairs(items, new Set([entry]), "both")) }))
    .toSorted((one, other) => other.tokens - one.tokens);
  const all = sizeOf(withPairs(items, new Set(pinned.map(({ entry }) => entry)), "both"));
  const report = { pins: pinned, tokens: all, budgetTokens };
  return all <= budgetTokens ? report : { ...report, warning: overBudget(report) };
}

function overBudget({ pins, tokens: all, budgetTokens }: PinsReport): string {
  const largest = pins.slice(0, pinsNamedMax).map((pin) => `${pin.entry} (${figure(pin.tokens)})`);
  return `What is pinned has about ${figure(all)} tokens, more than the ${figure(budgetTokens)} there are for pins. The largest: ${largest.join(", ")}`;
}
