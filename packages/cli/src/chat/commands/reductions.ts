import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import { withholds } from "palimpsest/internal/schema/edit-kinds";
import type { Entry } from "palimpsest/internal/schema/entry";

/** What edits of the view have saved so far. */
export interface Reductions {
  readonly edits: number;
  /** Taken out of the view, by estimate. */
  readonly tokens: number;
  /** In tokens of uncached input, at the prices of a warm cache, before what summaries cost; below 0 where less was saved than written again. */
  readonly savedInputTokens: number;
}

/**
 * By the receipts of the edits in force that show less than before. The request behind an edit pays for what it moved,
 * each later one saves: `-now`, then `perRound` for every round more. An edit that nothing was asked behind has saved
 * nothing yet.
 */
export function reductionsOf(path: readonly Entry[], edits: readonly RecordedEdit[]): Reductions {
  const roundsBehind = roundsBehindEach(path);
  let sum: Reductions = { edits: 0, tokens: 0, savedInputTokens: 0 };
  for (const { id, kind, state, receipt } of edits) {
    if (state === "undone" || receipt === undefined) continue;
    const { now, perRound, readRate } = receipt.price;
    // What the provider withholds stays in the messages: only its price says that it is gone.
    const isPricedOnly = withholds(kind) && perRound > 0 && readRate > 0;
    const tokens = isPricedOnly ? Math.round(perRound / readRate) : receipt.tokensBefore - receipt.tokensAfter;
    if (tokens <= 0) continue;
    const rounds = roundsBehind.get(id) ?? 0;
    sum = {
      edits: sum.edits + 1,
      tokens: sum.tokens + tokens,
      savedInputTokens: sum.savedInputTokens + (rounds === 0 ? 0 : perRound * (rounds - 1) - now),
    };
  }
  return sum;
}

/** By edit: replies of the model that stand behind it. A reply may be several entries. */
function roundsBehindEach(path: readonly Entry[]): ReadonlyMap<string, number> {
  const behind = new Map<string, number>();
  const replies = new Set<string>();
  for (const entry of path.toReversed()) {
    if (entry.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry.kind === "edit") behind.set(entry.id, replies.size);
  }
  return behind;
}
