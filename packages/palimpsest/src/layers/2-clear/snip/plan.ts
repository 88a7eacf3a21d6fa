import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../../schema/brand.ts";
import type { Item } from "../../../transcript/item.ts";
import { isEmptyText, isThinking } from "../../../transcript/sent.ts";
import { snipKeepRounds, snipTextCharsMax } from "./limits.ts";
import { lowValueCalls, type SnipReason } from "./low-value.ts";
import { callsOf, entriesOf, holdsThinking, loopStart, type Round, roundsOf, saysMore } from "../rounds.ts";
import { type CountBlock, flattenedOf, tokensFreed, type ViewState } from "../view-state.ts";

export interface SnipInput {
  readonly view: ViewState;
  readonly count: CountBlock;
  /** The newest rounds, which stay whatever they hold. */
  readonly keepRounds?: number;
}

export interface SnippedRound {
  readonly entries: readonly EntryId[];
  /** Of its calls, each once, in their order. */
  readonly reasons: readonly SnipReason[];
}

export interface SnipPlan {
  readonly rounds: readonly SnippedRound[];
  /** Of all the rounds: what the edit names. */
  readonly entries: readonly EntryId[];
  /** By which the view gets smaller. */
  readonly tokens: Tokens;
}

/**
 * Whole rounds of which every call is of low value: a search that found nothing, a call that a person refused without a
 * word, a read that a later one repeats. Pure; the same view gives the same plan, and the view behind it none.
 */
export function planSnip({ view, count, keepRounds = snipKeepRounds }: SnipInput): SnipPlan {
  const candidates = candidatesOf(view, keepRounds);
  if (candidates.length === 0) return { rounds: [], entries: [], tokens: tokens(0) };
  const before = flattenedOf(view, view.items);
  const left = new Set(before.shown().map(({ entry }) => entry));
  const rounds: SnippedRound[] = [];
  for (const { round, reasons } of candidates) {
    if (!isBehindUser(round, { items: view.items, left })) continue;
    const entries = entriesOf(round);
    for (const entry of entries) left.delete(entry);
    rounds.push({ entries, reasons });
  }
  const entries = rounds.flatMap((round) => round.entries);
  const gone = new Set(entries);
  const stays = view.items.filter(({ entry }) => !gone.has(entry));
  return { rounds, entries, tokens: tokensFreed(before, flattenedOf(view, stays), count) };
}

interface Candidate {
  readonly round: Round;
  readonly reasons: readonly SnipReason[];
}

function candidatesOf(view: ViewState, keepRounds: number): readonly Candidate[] {
  const rounds = roundsOf(view.items);
  const reasonByCall = lowValueCalls(view, rounds);
  const loopFrom = loopStart(view.items);
  return rounds.slice(0, Math.max(0, rounds.length - keepRounds)).flatMap((round) => {
    const reasons = reasonsOf(round, reasonByCall);
    const isNeeded = round.last >= loopFrom && holdsThinking(round);
    const isPinned = round.items.some(({ entry }) => view.pins.has(entry));
    return reasons.length === 0 || isNeeded || isPinned || saysSomething(round) ? [] : [{ round, reasons }];
  });
}

/** None where one of the calls is worth keeping. */
function reasonsOf(round: Round, reasonByCall: ReadonlyMap<ToolUseId, SnipReason>): readonly SnipReason[] {
  const reasons = callsOf(round).map(({ id }) => reasonByCall.get(id));
  const given = reasons.filter((reason) => reason !== undefined);
  return given.length < reasons.length ? [] : [...new Set(given)];
}

interface Left {
  readonly items: readonly Item[];
  /** Entries that the view would still show. */
  readonly left: ReadonlySet<EntryId>;
}

/** Elsewhere two replies would join without the round, or the view would begin with one. */
const isBehindUser = ({ first }: Round, { items, left }: Left): boolean =>
  items.slice(0, first).findLast(({ entry }) => left.has(entry))?.role === "user";

const saysSomething = ({ items }: Round): boolean =>
  items.some((item) => saysMore(item)) || textCharsOf(items) > snipTextCharsMax;

/** Blocks that are neither calls nor thinking are taken for more than any text: nobody knows what they are worth. */
function textCharsOf(items: readonly Item[]): number {
  let chars = 0;
  for (const { blocks } of items)
    for (const block of blocks) {
      if (block.type === "tool_use" || block.type === "tool_result" || isThinking(block) || isEmptyText(block))
        continue;
      chars += block.type === "text" ? block.text.trim().length : Infinity;
    }
  return chars;
}
