import type { Memories, MemoryChange, MemoryCommitOutcome, MemoryText } from "../../ports/memories.ts";
import type { Millis } from "../../schema/brand.ts";
import { auditChanges, type AuditRule } from "../audit/audit-changes.ts";
import { findNewDates, findRelativeDate, hasRelativeSource } from "../audit/relative-dates.ts";
import { findRepeated, findUnsourced, splitSentences, stripDates } from "../find-unsourced.ts";
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
  readonly now: () => Millis;
}

/**
 * A directory that takes only what its sources bear out: no sentence without a source, none that is known already, no second
 * memory of the same text, and the same name in another file supersedes that file. Refusals tell the model why.
 */
export function checkedMemories({ memories, sources, filesMax, now }: CheckedOptions): Memories {
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
        const checked = checkChange(change, { existing, sources, now: now() });
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

interface CheckContext {
  readonly existing: readonly MemoryText[];
  readonly sources: WriteSources;
  readonly now: Millis;
}

function checkChange(change: MemoryChange, context: CheckContext): CheckedChange {
  const { path, text } = change;
  if (memoryRole(path) !== "memory") return { kind: "checked", change };
  const superseding = text === undefined ? undefined : findSuperseded({ ...change, text }, context);
  if (superseding?.kind === "invalid") return superseding;
  const made = superseding?.change ?? change;
  const before = context.existing.find((memory) => memory.path === made.path);
  const textContext = { path: made.path, before, sources: context.sources };
  const problem =
    (text === undefined ? undefined : findTextProblem(text, textContext)) ?? findHarm(made, { ...context, before });
  return problem === undefined
    ? { kind: "checked", change: made }
    : invalid(path, `Not ${text === undefined ? "deleted" : "saved"}: ${problem}`);
}

/**
 * What a change does to a memory that exists: it loses a sentence only if the user said something against it in the new
 * messages, and a trusted one gets no words of somebody else. The rules are those for a dream.
 */
function findHarm(
  change: MemoryChange,
  { existing, sources: { own, others }, now, before }: CheckContext & { readonly before: MemoryText | undefined },
): string | undefined {
  if (before === undefined) return undefined;
  const said = own.flatMap(splitSentences);
  const base = existing.filter(({ role }) => role === "memory");
  const reasons = splitSentences(parseMemory(before.text, before.path).body).flatMap((text) =>
    said.map((evidence) => ({ path: before.path, text, why: "corrected", evidence })),
  );
  const { findings } = auditChanges({
    base,
    changes: [change],
    reasons,
    passages: [
      ...own.map((text) => ({ text, by: "user", at: now }) as const),
      ...others.map((text) => ({ text, by: "outside", at: now }) as const),
    ],
    driftByPath: new Map(),
    // A file is deleted only if the user said the contrary; a new text of it says what they said instead.
    evidenceNeeds: change.text === undefined ? "contradiction" : "topic",
    now,
  });
  const [harm] = findings;
  return harm === undefined ? undefined : `${quote(harm.quote)} ${textByRule[harm.rule]}`;
}

const textByRule: Readonly<Record<AuditRule, string>> = {
  "fact-lost": "would be gone, and the new messages say nothing against it. Keep it.",
  untrusted: "came from outside and can't go into a memory in the user's words. Leave it out.",
  "no-source": "is not borne out by the new messages. Keep to what was said.",
  "relative-date": "says a day that moves. Say the date.",
  "dead-link": "leads to a memory that is not there.",
  "index-limit": "makes the index too long. Change a memory that exists.",
};

/** A new file with the name of an existing memory takes that file's place. */
function findSuperseded(change: MemoryChange & { readonly text: string }, { existing }: CheckContext): CheckedChange {
  const { path, text } = change;
  if (existing.some((memory) => memory.path === path)) return { kind: "checked", change };
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
  const moving = splitSentences(added).find((sentence) => findRelativeDate(sentence) !== undefined);
  if (moving !== undefined) return `${quote(moving)} says a day that moves. Say the date.`;
  const date = splitSentences(added)
    .flatMap((sentence) => findNewDates(sentence, [...own, ...others]).map((one) => ({ sentence, one })))
    .find(({ sentence }) => !hasRelativeSource(stripDates(sentence), own));
  if (date !== undefined) return `nobody said ${date.one}, nor a day that it could stand for.`;
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
