import type { Memories, MemoryChange, MemoryCommitOutcome, MemoryText } from "../../ports/memories.ts";
import { findRepeated, findUnsourced } from "../find-unsourced.ts";
import { planSave } from "./memory-history.ts";
import { memoryRole } from "./memory-path.ts";
import { parseMemory } from "./memory-text.ts";
import { readMemories } from "./read-memories.ts";

export interface WriteSources {
  /** What the user said in the messages that memories are taken from. */
  readonly own: readonly string[];
  /** Everything else in those messages. */
  readonly others: readonly string[];
  /** What later sessions have anyway: recalled memories, instruction files, summaries. */
  readonly known: readonly string[];
}

interface CheckedOptions {
  readonly memories: Memories;
  readonly sources: WriteSources;
  /** Files that may be written or deleted in all. */
  readonly filesMax: number;
}

/**
 * A directory that takes only what its sources bear out: no sentence without a source, none that is known already, no second
 * memory of the same text, and the same name in another file supersedes that file. Refusals tell the model why.
 */
export function checkedMemories({ memories, sources, filesMax }: CheckedOptions): Memories {
  const touched = new Set<string>();
  return {
    list: () => memories.list(),
    read: (path) => memories.read(path),
    history: (path) => memories.history(path),
    text: (hash) => memories.text(hash),
    purge: (paths) => memories.purge(paths),
    commit: async (changeSet) => {
      const existing = await readMemories(memories);
      const changes: MemoryChange[] = [];
      for (const change of changeSet.changes) {
        const checked = checkChange(change, { existing, sources });
        if (checked.kind === "invalid") return checked;
        changes.push(checked.change);
      }
      const paths = new Set([...touched, ...changes.map(({ path }) => path)]);
      if (paths.size > filesMax) return invalid("", `Not saved: at most ${filesMax} memories can be changed at once.`);
      const outcome = await memories.commit({ ...changeSet, changes });
      if (outcome.kind === "committed") for (const path of paths) touched.add(path);
      return outcome;
    },
  };
}

type CheckedChange =
  | { readonly kind: "checked"; readonly change: MemoryChange }
  | Extract<MemoryCommitOutcome, { kind: "invalid" }>;

function checkChange(
  change: MemoryChange,
  { existing, sources }: { readonly existing: readonly MemoryText[]; readonly sources: WriteSources },
): CheckedChange {
  const { path, text } = change;
  if (text === undefined || memoryRole(path) !== "memory") return { kind: "checked", change };
  const before = existing.find((memory) => memory.path === path);
  const problem = findTextProblem(text, { path, before, sources });
  if (problem !== undefined) return invalid(path, `Not saved: ${problem}`);
  if (before !== undefined) return { kind: "checked", change };
  const { type = "project", ...draft } = parseMemory(text, path);
  const plan = planSave({ ...draft, type }, existing);
  switch (plan.kind) {
    case "duplicate":
      return invalid(path, `Not saved: /memories/${plan.path} says this already.`);
    case "update":
      return { kind: "checked", change: { ...change, ...plan.change, text } };
    case "new":
      return { kind: "checked", change };
  }
}

interface TextContext {
  readonly path: string;
  readonly before: MemoryText | undefined;
  readonly sources: WriteSources;
}

/** What is wrong with the sentences that a change adds; undefined if nothing is. */
function findTextProblem(text: string, { path, before, sources }: TextContext): string | undefined {
  const old = new Set(before === undefined ? [] : parseMemory(before.text, path).body.split("\n"));
  const { body, description } = parseMemory(text, path);
  const added = body
    .split("\n")
    .filter((line) => !old.has(line))
    .join("\n");
  const { own, others, known } = sources;
  const [repeated] = findRepeated(added, { known, own });
  if (repeated !== undefined)
    return `${quote(repeated)} is known already, from a memory, an instruction file or a summary.`;
  const [unsourced] = findUnsourced(added, [...own, ...others]);
  if (unsourced !== undefined)
    return `${quote(unsourced)} is not borne out by the new messages. Keep to what was said.`;
  const [invented] = findUnsourced(description, [...own, ...others, body]);
  return invented === undefined ? undefined : `the description ${quote(invented)} says more than the memory.`;
}

const quote = (sentence: string): string => JSON.stringify(sentence.slice(0, quoteCharsMax));
const quoteCharsMax = 160;

const invalid = (path: string, message: string): Extract<MemoryCommitOutcome, { kind: "invalid" }> => ({
  kind: "invalid",
  path,
  message,
});
