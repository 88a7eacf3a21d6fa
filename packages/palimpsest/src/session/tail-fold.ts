import { type EntryId, entryId } from "../schema/brand.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";

/** Would both folds send the same bytes? */
export const haveSameView = (one: Fold, other: Fold): boolean => viewJson(one) === viewJson(other);

const viewJson = ({ messages, sentWithheld }: Fold): string => JSON.stringify([messages, [...sentWithheld]]);

/**
 * Edits that are undone by these drafts and that a fold which begins at a boundary can't take back: the boundary itself,
 * and everything before it.
 */
export function findUndoneBeforeFold({ path }: Fold, drafts: readonly Draft[]): ReadonlySet<EntryId> {
  const first = path.at(0)?.entry.id;
  const undone = drafts.flatMap(({ type, edit }) =>
    type === "undo" && typeof edit === "string" ? [entryId(edit)] : [],
  );
  return new Set(undone.filter((edit) => edit === first || !path.has(edit)));
}
