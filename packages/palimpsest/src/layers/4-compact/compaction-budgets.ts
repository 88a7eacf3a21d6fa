import type { Policy } from "../policy.ts";
import type { RestoreBudgets } from "../../schema/restored-part.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import {
  carriedTokensMax,
  carriedWindowShareMax,
  extractRoomShareMax,
  extractTokensMax,
  ledgerRoomShareMax,
  restoredCoveredShareMax,
  restoredRoomShareMax,
  summaryTokensMax,
  summaryWindowShareMax,
  waitingAndFixedShareMax,
  waitingThresholdShareMax,
  headroomShareMax,
  pinnedWindowShareMax,
  pinsNamedMax,
} from "./limits.ts";
import { restoreBudgets } from "./plan-restoration.ts";
import type { Block } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../../schema/brand.ts";
import { type Item, withPairs } from "../../transcript/item.ts";
import { formatCount } from "../../text/format-count.ts";

interface BudgetInput {
  readonly thresholds: Thresholds;
  readonly policy: Policy;
  /** Tokens of the header and of what the boundary leaves as it is. */
  readonly staysTokens: number;
  /** Tokens of what the summary replaces. Absent: far more than is restored. */
  readonly coveredTokens?: number;
}

/** How many tokens may be added behind a boundary, by purpose. */
export interface CompactionBudgets {
  /** For everything new in total. */
  readonly room: number;
  readonly summary: number;
  readonly extract: number;
  readonly ledger: number;
  readonly carried: number;
  readonly restored: number;
}

/**
 * Stays below the threshold, with the headroom that the next rounds need. If what stays leaves no such room, it goes up
 * to the limit over which nothing can be sent: a small summary is better than none.
 */
export function computeBudgets({
  thresholds,
  policy,
  staysTokens,
  coveredTokens = Infinity,
}: BudgetInput): CompactionBudgets {
  const { window, compact, blocking } = thresholds;
  const usual = compact - headroomBelow(compact, policy) - staysTokens;
  const last = Math.min(blocking, window) - staysTokens;
  const room = Math.max(0, Math.floor(usual > 0 ? usual : last / 2));
  const summary = Math.floor(Math.min(summaryTokensMax, window * summaryWindowShareMax));
  const share = policy.summary?.userMessages?.windowShareMax ?? 0;
  return {
    room,
    summary,
    extract: Math.floor(Math.min(extractTokensMax, summary, room * extractRoomShareMax)),
    ledger: Math.floor(Math.min(window * share, room * ledgerRoomShareMax)),
    carried: Math.floor(Math.min(carriedTokensMax, window * carriedWindowShareMax)),
    restored: Math.floor(Math.min(room * restoredRoomShareMax, coveredTokens * restoredCoveredShareMax)),
  };
}

/**
 * Largest message that stays as it is while it waits for its answer. Of a longer one the ledger shows head, tail and
 * id. `fixedTokens`: of the system prompt and the tools.
 */
export const waitingTokensMax = ({ compact }: Pick<Thresholds, "compact">, fixedTokens: number): number =>
  Math.floor(Math.max(compact * waitingThresholdShareMax, compact * waitingAndFixedShareMax - fixedTokens));

/** Budgets for what is restored, in the room that summary and ledger leave. */
export function restoreBudgetsWithin(
  { window }: Thresholds,
  { policy, roomTokens }: { readonly policy: Policy; readonly roomTokens: number },
): RestoreBudgets {
  const usual = restoreBudgets(window);
  const { files, skills } = policy.summary?.restored ?? {};
  return {
    ...usual,
    tokensMax: Math.max(0, Math.floor(Math.min(usual.tokensMax, roomTokens))),
    ...(files === undefined
      ? {}
      : { files: { piecesMax: files.filesMax, pieceTokensMax: files.tokensMaxEach, tokensMax: files.tokensMax } }),
    ...(skills === undefined ? {} : { skills: { pieceTokensMax: skills.tokensMaxEach, tokensMax: skills.tokensMax } }),
  };
}

/** What has to be free below the threshold after a compaction. Otherwise it would be reached again at once. */
export const headroomBelow = (compactTokens: number, { compact }: Pick<Policy, "compact">): number =>
  Math.min(compact?.headroomTokens ?? 0, headroomShareMax * compactTokens);

interface PinsInput {
  /** Items of the view. */
  readonly items: readonly Item[];
  readonly pins: ReadonlySet<EntryId>;
  readonly budgetTokens: Tokens;
  readonly count: (block: Block) => number;
}

export interface PinsReport {
  /** Pins that the view shows, the largest first. */
  readonly pins: readonly PinnedEntry[];
  /** Tokens of everything that the pins keep through a boundary: calls and results stay together. */
  readonly tokens: Tokens;
  readonly budgetTokens: Tokens;
  /** Present if over the budget: one line that names the largest. The pins stay anyway, byte for byte. */
  readonly warning?: string;
}

interface PinnedEntry {
  readonly entry: EntryId;
  /** Including what is paired with it. */
  readonly tokens: Tokens;
}

export const pinsBudget = (windowTokens: number): Tokens => tokens(Math.floor(windowTokens * pinnedWindowShareMax));

export function reportPins({ items, pins, budgetTokens, count }: PinsInput): PinsReport {
  if (pins.size === 0) return { pins: [], tokens: tokens(0), budgetTokens };
  const tokensByEntry = new Map(
    items.map(({ entry, blocks }) => [entry, blocks.reduce((sum, block) => sum + count(block), 0)] as const),
  );
  const countEntries = (entries: Iterable<EntryId>): Tokens =>
    tokens(Array.from(entries, (entry) => tokensByEntry.get(entry) ?? 0).reduce((sum, size) => sum + size, 0));
  const pinned = items
    .filter(({ entry }) => pins.has(entry))
    .map(({ entry }) => ({ entry, tokens: countEntries(withPairs(items, new Set([entry]), "both")) }))
    .toSorted((left, right) => right.tokens - left.tokens);
  const all = countEntries(withPairs(items, new Set(pinned.map(({ entry }) => entry)), "both"));
  const report = { pins: pinned, tokens: all, budgetTokens };
  return all <= budgetTokens ? report : { ...report, warning: overBudget(report) };
}

function overBudget({ pins, tokens: all, budgetTokens }: PinsReport): string {
  const largest = pins.slice(0, pinsNamedMax).map((pin) => `${pin.entry} (${formatCount(pin.tokens)})`);
  return `What is pinned has about ${formatCount(all)} tokens, more than the ${formatCount(budgetTokens)} there are for pins. The largest: ${largest.join(", ")}`;
}
