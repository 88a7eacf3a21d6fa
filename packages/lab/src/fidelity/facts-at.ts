import type { EntryId } from "palimpsest/internal/schema/brand";
import { type Fact, type FactKind, isSaidBy, type Sighting } from "./fact.ts";
import { openTodosBy, type Sightings } from "./sightings.ts";

export interface Covered {
  /** Index of the round before whose request it was compacted. */
  readonly compactedIn: number;
  /** What the boundary leaves in the view as it is: no part of what it covers. */
  readonly kept: ReadonlySet<EntryId>;
}

/** The facts of what a compaction covers, from the beginning of the session on. Each once by its kind and words, in the order in which they were seen first. */
export function factsAt(sightings: Sightings, { compactedIn, kept }: Covered): readonly Fact[] {
  const covered = sightings.all.filter(({ at }) => isSaidBy(at, compactedIn) && !kept.has(at.entry));
  const lastFailure = covered.findLast(({ kind }) => kind === "errors")?.at.entry;
  const todos = openTodosBy(sightings, compactedIn).filter(({ at }) => !kept.has(at.entry));
  const facts = new Map<string, GrowingFact>();
  for (const sighting of [...covered, ...todos]) {
    const kind = sighting.kind === "errors" && sighting.at.entry === lastFailure ? "lastErrors" : sighting.kind;
    const key = keyOf(kind, sighting.words);
    const fact = facts.get(key) ?? newFact(kind, sighting);
    facts.set(key, fact);
    add(fact, sighting);
  }
  // An error that is still the last one is not one of the past as well.
  for (const { kind, words } of facts.values()) if (kind === "lastErrors") facts.delete(keyOf("errors", words));
  return [...facts.values()];
}

interface GrowingFact extends Fact {
  round: number;
  readonly ids: Set<Sighting["at"]["entry"] | NonNullable<Sighting["call"]>>;
  readonly calls: Set<NonNullable<Sighting["call"]>>;
}

const keyOf = (kind: FactKind, words: string): string => `${kind} ${words}`;

const newFact = (kind: FactKind, { words, at, said }: Sighting): GrowingFact => ({
  kind,
  words,
  round: at.round,
  ids: new Set(),
  calls: new Set(),
  said,
});

function add(fact: GrowingFact, { at, call, alsoIn }: Sighting): void {
  fact.round = Math.max(fact.round, at.round);
  for (const id of [at.entry, ...alsoIn]) fact.ids.add(id);
  if (call === undefined) return;
  fact.ids.add(call);
  fact.calls.add(call);
}
