import type { EntryId, ToolUseId } from "../../../schema/brand.ts";
import type { JsonObject } from "../../../schema/json.ts";
import type { CallOutcome, CallSubject } from "./call-outcome.ts";
import type { TodoFact } from "./todo-book.ts";

/**
 * What a compaction must not lose, read from the entries of the path; each fact with the entry it comes from. Plain
 * values: they can be stored and handed to a new book as what came earlier.
 */
export interface SessionFacts {
  /** What people said, whole, oldest first: of the whole session, however many boundaries it has. */
  readonly userMessages: readonly UserMessage[];
  /** By path; the newest change last. */
  readonly filesModified: readonly FileFact[];
  /** By path; the newest read last. */
  readonly filesRead: readonly FileFact[];
  readonly commands: readonly CommandFact[];
  /** The newest last. Of those under one name only the newest can be open. */
  readonly errors: readonly ErrorFact[];
  readonly openTodos: readonly TodoFact[];
  readonly lastRequest: LastRequest | undefined;
  readonly lastError: ErrorFact | undefined;
  readonly lastReply: TextFact | undefined;
  /** What a person answered when asked, or did not let happen. */
  readonly decisions: readonly DecisionFact[];
  /** The plan that a person agreed to last. */
  readonly plan: TextFact | undefined;
  /** How often each tool was called. */
  readonly tools: readonly ToolFact[];
  /** Nothing for a summary: with it, a new book goes on exactly as the old one would have. */
  readonly looseEnds?: LooseEnds;
}

/** What later entries may come back to. */
export interface LooseEnds {
  /** Calls without a result. */
  readonly waiting: readonly WaitingCall[];
  /** Ids of the calls of `commands`, one for each. */
  readonly commandCalls: readonly string[];
  /** Tasks that are spoken of by their ids, done ones too: they can be taken up again. */
  readonly tasks: readonly TodoFact[];
  /** The reply that came last, which may stand in several entries. */
  readonly reply?: string;
  /** What the conversation waits for behind the last request. */
  readonly awaits: "reply" | "results" | "nothing";
}

export interface WaitingCall {
  readonly id: ToolUseId;
  readonly name: string;
  readonly entry: EntryId;
  readonly subject: CallSubject;
  /** Of calls whose facts stand in their input: todos, plans. */
  readonly input: JsonObject;
}

export interface UserMessage {
  readonly entry: EntryId;
  readonly text: string;
  /** Timestamp of the entry, as logged. */
  readonly at: string | undefined;
}

export interface LastRequest extends UserMessage {
  /** No reply without calls has come behind it: the work on it goes on. */
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
  /** What says what went wrong: a few lines. */
  readonly text: string;
  /** What failed: a command, a file with its tool, a tool. */
  readonly of: string;
  /** Under which name a success ends it. */
  readonly key: string;
  readonly entry: EntryId;
  /** Nothing of the same name has succeeded since, or failed in another way. */
  readonly isOpen: boolean;
  /** The command ended well all the same: it is never open, and never the last error. */
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
  /** Is it an entry that the summary stands for? What the view shows besides is not. */
  readonly holds: (entry: EntryId) => boolean;
  /** What the assistant said last in it. */
  readonly lastReply: TextFact | undefined;
}

/**
 * Of a session's facts, those of a part: a summary of it neither tells nor misses what stands in the view as it is. A
 * fact belongs where its newest entry does.
 */
export function filterFacts(facts: SessionFacts, { holds, lastReply }: FactPart): SessionFacts {
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
    lastError: findLastError(errors),
    lastReply,
    decisions: of(facts.decisions),
    plan: one(facts.plan),
  };
}

export const findLastError = (errors: readonly ErrorFact[]): ErrorFact | undefined =>
  errors.findLast(({ isPassing }) => isPassing !== true);
