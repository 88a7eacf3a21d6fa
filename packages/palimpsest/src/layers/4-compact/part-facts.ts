import type { EntryId } from "../../schema/brand.ts";
import type { ErrorFact, SessionFacts, TextFact } from "./facts.ts";

export interface FactPart {
  /** Is it an entry that the summary stands for? What the view shows besides is not. */
  readonly holds: (entry: EntryId) => boolean;
  /** What the assistant said last in it. */
  readonly lastReply: TextFact | undefined;
}

/**
 * Of a session's facts, those of a part: a summary of it neither tells nor misses what stands in the view as it is. A
 * fact belongs where its newest entry does.
 */
export function factsOfPart(facts: SessionFacts, { holds, lastReply }: FactPart): SessionFacts {
  const of = <Fact extends { readonly entry: EntryId }>(some: readonly Fact[]): readonly Fact[] =>
    some.filter(({ entry }) => holds(entry));
  const one = <Fact extends { readonly entry: EntryId }>(fact: Fact | undefined): Fact | undefined =>
    fact !== undefined && holds(fact.entry) ? fact : undefined;
  const errors = of(facts.errors);
  return {
    ...facts,
    userMessages: of(facts.userMessages),
    filesModified: of(facts.filesModified),
    filesRead: of(facts.filesRead),
    commands: of(facts.commands),
    errors,
    openTodos: of(facts.openTodos),
    lastRequest: one(facts.lastRequest),
    lastError: lastErrorOf(errors),
    lastReply,
    decisions: of(facts.decisions),
    plan: one(facts.plan),
  };
}

export const lastErrorOf = (errors: readonly ErrorFact[]): ErrorFact | undefined =>
  errors.findLast(({ isPassing }) => isPassing !== true);
