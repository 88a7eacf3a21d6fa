import type { EntryId, ToolUseId } from "../../../schema/brand.ts";
import type { JsonObject } from "../../../schema/json.ts";
import type { CallOutcome, CallSubject } from "./call-outcome.ts";
import type { TodoFact } from "./todo-book.ts";

/**
 * What a compaction must not lose, collected from the entries of the path; each fact with its entry. Plain values: they
 * can be stored and passed to a new book as what came earlier.
 */
export interface SessionFacts {
  /** What the user said, whole, oldest first, in the whole session, however many boundaries it has. */
  readonly userMessages: readonly UserMessage[];
  /** One for each path; the newest change last. */
  readonly filesModified: readonly FileFact[];
  /** One for each path; the newest read last. */
  readonly filesRead: readonly FileFact[];
  readonly commands: readonly CommandFact[];
  /** The newest last. Of those with the same key only the newest can be open. */
  readonly errors: readonly ErrorFact[];
  readonly openTodos: readonly TodoFact[];
  readonly lastRequest: LastRequest | undefined;
  readonly lastError: ErrorFact | undefined;
  readonly lastReply: TextFact | undefined;
  /** What the user answered when asked, or did not allow. */
  readonly decisions: readonly DecisionFact[];
  /** The plan that the user agreed to last. */
  readonly plan: TextFact | undefined;
  /** How often each tool was called. */
  readonly tools: readonly ToolFact[];
  /** Not for summaries: it lets a new book continue exactly as the old one would have. */
  readonly looseEnds?: LooseEnds;
}

/** What later entries may refer to. */
export interface LooseEnds {
  /** Calls without a result. */
  readonly waiting: readonly WaitingCall[];
  /** Ids of the calls in `commands`, one for each. */
  readonly commandCalls: readonly string[];
  /** Tasks that are referred to by id, including done ones: they can be reopened. */
  readonly tasks: readonly TodoFact[];
  /** The last reply, which may span several entries. */
  readonly reply?: string;
  /** What the conversation waits for after the last request. */
  readonly awaits: "reply" | "results" | "nothing";
}

export interface WaitingCall {
  readonly id: ToolUseId;
  readonly name: string;
  readonly entry: EntryId;
  readonly subject: CallSubject;
  /** The input of calls whose facts are in it: todos, plans. */
  readonly input: JsonObject;
}

export interface UserMessage {
  readonly entry: EntryId;
  readonly text: string;
  /** Timestamp of the entry, as logged. */
  readonly at: string | undefined;
}

export interface LastRequest extends UserMessage {
  /** No reply without calls has followed: the work on it continues. */
  readonly isOpen: boolean;
}

export interface TextFact {
  readonly text: string;
  readonly entry: EntryId;
}

export interface FileFact {
  readonly path: string;
  readonly entry: EntryId;
}

export interface CommandFact {
  readonly command: string;
  readonly entry: EntryId;
  readonly outcome: CallOutcome | { readonly kind: "unanswered" };
}

export interface ErrorFact {
  /** A few lines that say what went wrong. */
  readonly text: string;
  /** What failed: a command, a file with its tool, a tool. */
  readonly of: string;
  /** A success with the same key ends the error. */
  readonly key: string;
  readonly entry: EntryId;
  /** Nothing with the same key has succeeded since, or failed in another way. */
  readonly isOpen: boolean;
  /** The command succeeded all the same: the error is never open, and never the last error. */
  readonly isPassing?: true;
}

export interface DecisionFact {
  readonly question: string;
  readonly answer: string;
  readonly entry: EntryId;
}

interface ToolFact {
  readonly name: string;
  readonly calls: number;
}

interface FactPart {
  /** Whether the summary replaces the entry. What else the view shows is not part of it. */
  readonly holds: (entry: EntryId) => boolean;
  /** What the assistant said last in the part. */
  readonly lastReply: TextFact | undefined;
}

/**
 * The facts of one part of a session: a summary of it neither mentions nor misses what the view still shows. A fact
 * belongs to the part that holds its newest entry.
 */
export function filterFacts(facts: SessionFacts, { holds, lastReply }: FactPart): SessionFacts {
  const keep = <Fact extends { readonly entry: EntryId }>(list: readonly Fact[]): readonly Fact[] =>
    list.filter(({ entry }) => holds(entry));
  const keepOne = <Fact extends { readonly entry: EntryId }>(fact: Fact | undefined): Fact | undefined =>
    fact !== undefined && holds(fact.entry) ? fact : undefined;
  const errors = keep(facts.errors);
  return {
    ...facts,
    userMessages: keep(facts.userMessages),
    filesModified: keep(facts.filesModified),
    filesRead: keep(facts.filesRead),
    commands: keep(facts.commands),
    errors,
    openTodos: keep(facts.openTodos),
    lastRequest: keepOne(facts.lastRequest),
    lastError: findLastError(errors),
    lastReply,
    decisions: keep(facts.decisions),
    plan: keepOne(facts.plan),
  };
}

export const findLastError = (errors: readonly ErrorFact[]): ErrorFact | undefined =>
  errors.findLast(({ isPassing }) => isPassing !== true);
