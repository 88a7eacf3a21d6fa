import { type EntryId, entryId } from "../schema/brand.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";

/** Would both be sent byte for byte alike? */
export const showsSame = (one: Fold, other: Fold): boolean => shownJson(one) === shownJson(other);

const shownJson = ({ messages, sentWithheld }: Fold): string => JSON.stringify([messages, [...sentWithheld]]);

/** Edits that undos among these drafts name and a fold that begins at a boundary can't take back: that one, and what lies before it. */
export function undoneBefore({ path }: Fold, drafts: readonly Draft[]): ReadonlySet<EntryId> {
  const first = path.at(0)?.entry.id;
  const named = drafts.flatMap(({ type, edit }) =>
    type === "undo" && typeof edit === "string" ? [entryId(edit)] : [],
  );
  return new Set(named.filter((edit) => edit === first || !path.has(edit)));
}
