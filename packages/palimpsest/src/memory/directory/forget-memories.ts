import type { Memories, MemoryPurgeOutcome, MemoryRevision } from "../../ports/memories.ts";
import { memoryRole } from "./memory-path.ts";
import { revisionNumber } from "./recorded-files.ts";
import { hashMemory } from "./plan-commit.ts";

/** What is to be forgotten. `session`: the memories that came from it alone. */
export type ForgetSelection =
  | { readonly kind: "paths"; readonly paths: readonly string[] }
  | { readonly kind: "session"; readonly session: string };

/** Removes memories, what was derived from them, and every revision of either. Must not reject. */
export const forgetMemories = async (memories: Memories, selection: ForgetSelection): Promise<MemoryPurgeOutcome> =>
  memories.purge(findDerived(await memories.history(), selection));

/**
 * Every path that holds, or once held, something of what is to be forgotten: the files themselves, files with the same
 * text (moved or copied), and what was derived from any of them. With a session a file goes only if nothing in it is from
 * anywhere else: what the user or another session wrote stays. `history`: in any order.
 */
export function findDerived(history: readonly MemoryRevision[], selection: ForgetSelection): readonly string[] {
  const facts = findFacts(history);
  return [
    ...(selection.kind === "paths" ? closePaths(facts, selection.paths) : findFromSession(facts, selection.session)),
  ].toSorted();
}

/** The memories that a session has written and that stay, because they hold something of others too. */
export function findShared(history: readonly MemoryRevision[], session: string): readonly string[] {
  const facts = findFacts(history);
  const own = findFromSession(facts, session);
  const written = facts.filter(({ path, from }) => from.session === session && !own.has(path));
  return [...new Set(written.map(({ path }) => path))].toSorted();
}

/** One text that a revision gave to a memory. */
interface MemoryFact {
  readonly path: string;
  readonly hash: string;
  readonly from: MemoryRevision["provenance"];
  /** Of the revision: what came first is the origin of a text. */
  readonly order: number;
}

const findFacts = (history: readonly MemoryRevision[]): readonly MemoryFact[] =>
  history.flatMap(({ id, provenance, changes }) =>
    changes.flatMap(({ path, after, provenance: from = provenance }) =>
      after === undefined || memoryRole(path) !== "memory"
        ? []
        : [{ path, hash: after, from, order: revisionNumber(id) }],
    ),
  );

const isDerivedFrom = ({ from }: MemoryFact, paths: ReadonlySet<string>): boolean =>
  from.derivedFrom?.some((source) => paths.has(source.path)) ?? false;

function closePaths(facts: readonly MemoryFact[], chosen: readonly string[]): ReadonlySet<string> {
  const paths = new Set(chosen);
  for (let size = -1; size !== paths.size;) {
    size = paths.size;
    const hashes = hashesAt(facts, paths);
    for (const fact of facts) if (hashes.has(fact.hash) || isDerivedFrom(fact, paths)) paths.add(fact.path);
  }
  return paths;
}

function findFromSession(facts: readonly MemoryFact[], session: string): ReadonlySet<string> {
  const factsByPath = Map.groupBy(facts, ({ path }) => path);
  const firstByHash = new Map<string, MemoryFact>();
  for (const fact of facts) {
    const first = firstByHash.get(fact.hash);
    if (first === undefined || fact.order < first.order) firstByHash.set(fact.hash, fact);
  }
  const paths = new Set<string>();
  for (let size = -1; size !== paths.size;) {
    size = paths.size;
    const hashes = hashesAt(facts, paths);
    // A text that was renamed or copied from elsewhere is not the session's, whoever moved it.
    const beganHere = ({ hash }: MemoryFact): boolean => firstByHash.get(hash)?.from.session === session;
    const isOwn = (fact: MemoryFact): boolean =>
      fact.from.session === session &&
      beganHere(fact) &&
      (fact.from.derivedFrom ?? []).every((source) => source.path === fact.path || paths.has(source.path));
    const isFrom = (fact: MemoryFact): boolean =>
      isOwn(fact) || (beganHere(fact) && hashes.has(fact.hash)) || isDerivedFrom(fact, paths);
    for (const [path, own] of factsByPath) if (own.every(isFrom)) paths.add(path);
  }
  return paths;
}

/** Empty files have nothing in common. */
const hashesAt = (facts: readonly MemoryFact[], paths: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(facts.flatMap(({ path, hash }) => (paths.has(path) && hash !== emptyHash ? [hash] : [])));

const emptyHash: string = hashMemory("");
