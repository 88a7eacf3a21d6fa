import type { SessionFacts } from "../../layers/4-compact/facts.ts";
import { markedQuotes } from "../../layers/4-compact/quote-marks.ts";
import type { Compacting } from "./compacting.ts";

export interface SaidInput {
  readonly facts: Pick<SessionFacts, "userMessages">;
  readonly compacting: Pick<Compacting, "session">;
}

/**
 * What counts as the user's words: everything that the log holds of them, and what the summaries in the view quote of
 * them. A session of another client often begins with its summary, and then the user's messages stand nowhere else.
 */
export function saidByUser({ facts, compacting }: SaidInput): readonly string[] {
  const { items } = compacting.session.fold.projection;
  const summaries = items.filter(({ summary }) => summary === true).flatMap(({ blocks }) => blocks);
  const quoted = summaries.flatMap((block) => (block.type === "text" ? markedQuotes(block.text) : []));
  return [...facts.userMessages.map(({ text }) => text), ...quoted];
}
