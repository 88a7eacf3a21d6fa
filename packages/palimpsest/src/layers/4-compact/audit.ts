import type { EntryId } from "../../schema/brand.ts";
import {
  commandText,
  decisionParts,
  errorNeeds,
  fileText,
  todoText,
  commandLine,
  decisionLine,
  errorLine,
  fileLine,
  todoLine,
} from "./facts/fact-lines.ts";
import type {
  CommandFact,
  DecisionFact,
  ErrorFact,
  FileFact,
  LastRequest,
  SessionFacts,
  UserMessage,
} from "./facts/session-facts.ts";
import type { TodoFact } from "./facts/todo-book.ts";
import { type UserLedger, buildLedger } from "./user-ledger.ts";
import {
  carriedCommandsMax,
  carriedDecisionsMax,
  carriedErrorsMax,
  pathEndsMax,
  carriedMessageTokensMax,
  carriedRequestTokensMax,
} from "./limits.ts";
import type { CountText } from "../clip-text.ts";
import { quoteMessage, tagFor } from "./quote.ts";
import type { SummaryRule } from "../policy.ts";
import type { CompactionBudgets } from "./compaction-budgets.ts";

interface AuditInput {
  readonly summary: string;
  readonly facts: SessionFacts;
  /** The ledger beside the summary. */
  readonly ledger: UserLedger;
}

export interface Audit {
  /**
   * From 0 to 1: the mean over the parts that are not empty, so that one lost request weighs as much as all lost files.
   */
  readonly score: number;
  readonly parts: AuditParts;
  /** The most important first. */
  readonly missing: readonly MissingFact[];
  /** What the summary does not mention and may do without. Not part of the score; carried if there is room. */
  readonly untold: readonly UntoldFact[];
}

export interface AuditParts {
  readonly userMessages: AuditPart;
  readonly filesModified: AuditPart;
  readonly openTodos: AuditPart;
  readonly lastRequest: AuditPart;
  readonly lastError: AuditPart;
}

interface AuditPart {
  readonly wanted: number;
  readonly found: number;
}

export type MissingFact =
  | { readonly kind: "last-request"; readonly fact: LastRequest }
  | { readonly kind: "last-error"; readonly fact: ErrorFact }
  | { readonly kind: "todo"; readonly fact: TodoFact }
  | { readonly kind: "file"; readonly fact: FileFact }
  | { readonly kind: "user-message"; readonly fact: UserMessage };

type UntoldFact =
  | { readonly kind: "decision"; readonly fact: DecisionFact }
  | { readonly kind: "earlier-error"; readonly fact: ErrorFact }
  | { readonly kind: "command"; readonly fact: CommandFact };

/**
 * Checks whether the summary carries what must not be lost: each message of the user verbatim or by its id, here or in
 * the ledger; each changed file, by its path or by an unambiguous end of it; each open todo, the last request and all
 * lines of the last error in their words. Deterministic; costs a search of the summary for each fact.
 */
export function auditSummary({ summary, facts, ledger }: AuditInput): Audit {
  const text = plain(summary);
  const inLedger = new Set(
    ledger.messages.flatMap(({ entry, shown }) => (shown === "spanned" || shown === "left-out" ? [] : [entry])),
  );
  const isQuoted = ({ entry, text: messageText }: UserMessage): boolean =>
    inLedger.has(entry) || summary.includes(entry) || summary.includes(messageText);
  const missing = {
    lastRequest: asList(facts.lastRequest).filter((fact) => !isQuoted(fact)),
    lastError: asList(facts.lastError).filter((fact) => !mentions(text, errorNeeds(fact))),
    openTodos: facts.openTodos.filter((fact) => !mentions(text, [todoText(fact)])),
    filesModified: findUnnamed(summary, facts.filesModified),
    userMessages: facts.userMessages.filter((fact) => !isQuoted(fact)),
  };
  const parts: AuditParts = {
    userMessages: countPart(facts.userMessages, missing.userMessages),
    filesModified: countPart(facts.filesModified, missing.filesModified),
    openTodos: countPart(facts.openTodos, missing.openTodos),
    lastRequest: countPart(asList(facts.lastRequest), missing.lastRequest),
    lastError: countPart(asList(facts.lastError), missing.lastError),
  };
  const last = facts.lastRequest?.entry;
  return {
    score: computeScore(Object.values(parts)),
    parts,
    missing: [
      ...missing.lastRequest.map((fact) => ({ kind: "last-request" as const, fact })),
      ...missing.lastError.map((fact) => ({ kind: "last-error" as const, fact })),
      ...missing.openTodos.map((fact) => ({ kind: "todo" as const, fact })),
      ...missing.filesModified.map((fact) => ({ kind: "file" as const, fact })),
      ...missing.userMessages
        .filter(({ entry }) => entry !== last)
        .map((fact) => ({ kind: "user-message" as const, fact })),
    ],
    untold: findUntold(text, { facts, isShown: (entry) => inLedger.has(entry) }),
  };
}

interface UntoldInput {
  readonly facts: SessionFacts;
  /** Whether a message is quoted beside the summary. */
  readonly isShown: (entry: EntryId) => boolean;
}

/** The newest of each kind, newest first. A command that ran several times counts once. */
function findUntold(text: string, { facts, isShown }: UntoldInput): readonly UntoldFact[] {
  const decisions = facts.decisions.filter(({ entry }) => !isShown(entry));
  const errors = facts.errors.filter((error) => error !== facts.lastError);
  const commands = Map.groupBy(facts.commands.toReversed(), commandText).values();
  return [
    ...newest(decisions, carriedDecisionsMax)
      .filter((fact) => !mentions(text, decisionParts(fact)))
      .map((fact) => ({ kind: "decision" as const, fact })),
    ...openFirst(newest(errors, carriedErrorsMax))
      .filter((fact) => !mentions(text, errorNeeds(fact)))
      .map((fact) => ({ kind: "earlier-error" as const, fact })),
    ...[...commands.flatMap((runs) => runs.slice(0, 1)).take(carriedCommandsMax)]
      .filter((fact) => !mentions(text, [commandText(fact)]))
      .map((fact) => ({ kind: "command" as const, fact })),
  ];
}

const newest = <Fact>(facts: readonly Fact[], max: number): readonly Fact[] => facts.slice(-max).toReversed();

const openFirst = (errors: readonly ErrorFact[]): readonly ErrorFact[] => [
  ...errors.filter(({ isOpen }) => isOpen),
  ...errors.filter(({ isOpen }) => !isOpen),
];

/** `text` is normalised. A part that was cut is matched by what is left of it. */
const mentions = (text: string, parts: readonly string[]): boolean =>
  parts.every((part) => text.includes(plain(part.replace(/…$/, ""))));

const asList = <Fact>(fact: Fact | undefined): readonly Fact[] => (fact === undefined ? [] : [fact]);

const countPart = (wanted: readonly unknown[], missing: readonly unknown[]): AuditPart => ({
  wanted: wanted.length,
  found: wanted.length - missing.length,
});

function computeScore(parts: readonly AuditPart[]): number {
  const nonEmpty = parts.filter(({ wanted }) => wanted > 0);
  if (nonEmpty.length === 0) return 1;
  return nonEmpty.reduce((sum, { wanted, found }) => sum + found / wanted, 0) / nonEmpty.length;
}

/** A summary may use bold or line breaks where the fact does not. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\s*`_"]+/g, " ")
    .trim()
    .toLowerCase();

/**
 * A summary rarely gives whole paths. The end of a path is enough if no other changed file ends with it and it includes
 * a folder: a bare name could be taken for another file that was never changed.
 */
function findUnnamed(summary: string, files: readonly FileFact[]): readonly FileFact[] {
  const slashed = summary.replaceAll("\\", "/");
  const unnamed = files.filter((file) => !containsName(slashed, slashPath(file)));
  if (unnamed.length === 0) return [];
  const timesByEnd = new Map<string, number>();
  for (const file of files) for (const end of pathEnds(file)) timesByEnd.set(end, (timesByEnd.get(end) ?? 0) + 1);
  return unnamed.filter(
    (file) => !pathEnds(file).some((end) => timesByEnd.get(end) === 1 && containsName(slashed, end)),
  );
}

const slashPath = (file: FileFact): string => fileText(file).replaceAll("\\", "/");

/** The path without its first folder, without its first two, and so on. */
function pathEnds(file: FileFact): readonly string[] {
  const parts = slashPath(file).split("/").slice(1);
  const ends = parts.map((_, at) => parts.slice(at).join("/"));
  return ends.slice(-pathEndsMax).filter((end) => /[^/]\/[^/]+$/.test(end) && !end.startsWith("/"));
}

/** Whether the text contains the name as a whole: `a.ts` is neither in `a.tsx` nor in `data.ts`. */
function containsName(text: string, name: string): boolean {
  if (name === "") return true;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text.charAt(at - 1);
    const behind = text.slice(at + name.length, at + name.length + 2);
    if (!/[\w.-]/.test(before) && !/^(?:[\w/-]|\.\w)/.test(behind)) return true;
  }
  return false;
}

interface RepairInput {
  readonly summary: string;
  readonly audit: Audit;
  /** For what is carried forward, counted line by line. */
  readonly budgetTokens: number;
  readonly count: CountText;
}

const carriedTitle = "Carried forward";
const heading = `## ${carriedTitle}`;

/**
 * Adds what the audit missed in a section at the end of the summary, the most important first, and behind it what the
 * summary does not mention. A last line says how many missing facts the budget did not take. Repairing a repaired
 * summary changes nothing.
 */
export function repairSummary({ summary, audit, budgetTokens, count }: RepairInput): string {
  if (audit.missing.length === 0 && audit.untold.length === 0) return summary;
  const fixed = linesCost([heading, overflowNote(Number.MAX_SAFE_INTEGER)], count);
  const { before, carried } = splitCarried(summary, (lines) => fixed + linesCost(lines, count) <= budgetTokens);
  const lines = [...carried];
  let room = budgetTokens - fixed - linesCost(carried, count);
  if (room < 0) return summary;
  const omitted: MissingFact[] = [];
  for (const fact of [...audit.missing, ...audit.untold]) {
    // A line contains the id, so most of what does not fit need not be rendered to find out.
    const added = count(fact.fact.entry) > room ? [] : renderFact(fact, count);
    const cost = linesCost(added, count);
    if (added.length === 0 || cost > room) {
      if (!isUntold(fact)) omitted.push(fact);
      continue;
    }
    room -= cost;
    lines.push(...added);
  }
  const told = [before, heading, ...lines, overflowNote(omitted.length)].join("\n");
  // Another line may happen to say what did not fit: the next audit would find it there.
  const left = omitted.filter((fact) => !isTold(fact, told)).length;
  if (lines.length === 0 && left === 0) return summary;
  return [before, heading, ...lines, ...(left > 0 ? [overflowNote(left)] : [])].join("\n");
}

function isTold({ kind, fact }: MissingFact, summary: string): boolean {
  switch (kind) {
    case "last-request":
    case "user-message":
      return summary.includes(fact.entry) || summary.includes(fact.text);
    case "last-error":
      return mentions(plain(summary), errorNeeds(fact));
    case "todo":
      return mentions(plain(summary), [todoText(fact)]);
    case "file":
      return containsName(summary.replaceAll("\\", "/"), slashPath(fact));
  }
}

/** Counts line by line, so that the cost of a section is the sum of its parts. */
const linesCost = (lines: readonly string[], count: CountText): number =>
  lines.flatMap((line) => line.split("\n")).reduce((sum, line) => sum + count(`${line}\n`), 0);

const overflowNote = (left: number): string => `(${left} more did not fit; their ids are in the transcript)`;
const noteForm = /^\(\d+ more did not fit; their ids are in the transcript\)$/;

interface SplitSummary {
  readonly before: string;
  readonly carried: readonly string[];
}

/** Continues a section that an earlier repair has left at the end. One over the budget is not ours. */
function splitCarried(summary: string, isWithin: (lines: readonly string[]) => boolean): SplitSummary {
  const at = summary.lastIndexOf(`\n${heading}\n`);
  const lines = at === -1 ? [] : summary.slice(at + heading.length + 2).split("\n");
  const carried = noteForm.test(lines.at(-1) ?? "") ? lines.slice(0, -1) : lines;
  return at === -1 || !isWithin(carried)
    ? { before: `${summary.trimEnd()}\n`, carried: [] }
    : { before: summary.slice(0, at), carried };
}

const isUntold = (fact: MissingFact | UntoldFact): fact is UntoldFact =>
  fact.kind === "decision" || fact.kind === "earlier-error" || fact.kind === "command";

function renderFact(missing: MissingFact | UntoldFact, count: CountText): readonly string[] {
  switch (missing.kind) {
    case "last-request": {
      const { fact } = missing;
      const { text } = quoteMessage(fact, { tag: tagFor([fact.text]), tokensMax: carriedRequestTokensMax, count });
      return [`- The last request, ${fact.isOpen ? "still open" : "answered"}:`, text];
    }
    case "last-error":
      return [`- The last error: ${errorLine(missing.fact)}`];
    case "decision":
      return [`- ${decisionLine(missing.fact)}`];
    case "earlier-error":
      return [`- An earlier error: ${errorLine(missing.fact)}`];
    case "command":
      return [`- ${commandLine(missing.fact)}`];
    case "todo":
      return [`- To do: ${todoLine(missing.fact)}`];
    case "file":
      return [`- File changed: ${fileLine(missing.fact)}`];
    case "user-message": {
      const { fact } = missing;
      return [quoteMessage(fact, { tag: tagFor([fact.text]), tokensMax: carriedMessageTokensMax, count }).text];
    }
  }
}

interface ComposeInput {
  readonly summary: string;
  readonly facts: SessionFacts;
  /** Entries that the view still shows: user messages in them are neither quoted nor missed. */
  readonly shown: ReadonlySet<EntryId>;
  readonly budgets: Pick<CompactionBudgets, "ledger" | "carried">;
  /** Without a rule there is no ledger and no repair. */
  readonly rule: SummaryRule | undefined;
  readonly count: CountText;
}

export interface ComposedSummary {
  /** The ledger beside the summary. It quotes verbatim, so nothing in it may be escaped. */
  readonly ledger: UserLedger;
  /** The audit before the repair. */
  readonly audit: Audit;
  /** Appends what the audit missed to a text: to the summary, or to an empty text if the summary can't be changed. */
  readonly repair: (text: string) => string;
}

/** Audits a summary together with the user's words beside it. */
export function composeSummary({ summary, facts, shown, budgets, rule, count }: ComposeInput): ComposedSummary {
  const open = facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined;
  const messages = rule?.userMessages === undefined ? [] : facts.userMessages.filter(({ entry }) => !shown.has(entry));
  const { messageTokensMax } = rule?.userMessages ?? {};
  const ledger = buildLedger({ messages, budgetTokens: budgets.ledger, messageTokensMax, count, open });
  const audit = auditSummary({
    summary,
    facts,
    ledger: { ...ledger, messages: [...ledger.messages, ...asShown(shown)] },
  });
  const repair = (text: string): string =>
    rule?.check === "audited" ? repairSummary({ summary: text, audit, budgetTokens: budgets.carried, count }) : text;
  return { ledger, audit, repair };
}

const asShown = (shown: ReadonlySet<EntryId>): UserLedger["messages"] =>
  Array.from(shown, (entry) => ({ entry, shown: "verbatim" }));
