import type { EntryId } from "../../schema/brand.ts";
import { commandWords, decisionParts, errorNeeds, fileWords, todoWords } from "./fact-lines.ts";
import type {
  CommandFact,
  DecisionFact,
  ErrorFact,
  FileFact,
  LastRequest,
  SessionFacts,
  UserMessage,
} from "./facts.ts";
import type { TodoFact } from "./todo-book.ts";
import type { LedgerSection } from "./user-ledger.ts";
import { carriedCommandsMax, carriedDecisionsMax, carriedErrorsMax, pathEndsMax } from "./audit-limits.ts";

export interface AuditInput {
  readonly summary: string;
  readonly facts: SessionFacts;
  /** What stands beside the summary. */
  readonly ledger: LedgerSection;
}

export interface Audit {
  /** 0 to 1: the mean of the parts that want anything, so that one lost request weighs as much as all lost files. */
  readonly score: number;
  readonly parts: AuditParts;
  /** The most important first. */
  readonly missing: readonly MissingFact[];
  /** What the summary does not tell and may do without: no part of the score, carried where there is room. */
  readonly untold: readonly UntoldFact[];
}

export interface AuditParts {
  readonly userMessages: AuditPart;
  readonly filesModified: AuditPart;
  readonly openTodos: AuditPart;
  readonly lastRequest: AuditPart;
  readonly lastError: AuditPart;
}

export interface AuditPart {
  readonly wanted: number;
  readonly found: number;
}

export type MissingFact =
  | { readonly kind: "last-request"; readonly fact: LastRequest }
  | { readonly kind: "last-error"; readonly fact: ErrorFact }
  | { readonly kind: "todo"; readonly fact: TodoFact }
  | { readonly kind: "file"; readonly fact: FileFact }
  | { readonly kind: "user-message"; readonly fact: UserMessage };

export type UntoldFact =
  | { readonly kind: "decision"; readonly fact: DecisionFact }
  | { readonly kind: "earlier-error"; readonly fact: ErrorFact }
  | { readonly kind: "command"; readonly fact: CommandFact };

/**
 * Does the summary carry what must not be lost? Each message of the user verbatim or by its id, here or in the ledger;
 * each file changed, by its path or as much of its end as tells it from the others; each open todo, the last request
 * and all lines of the last error in their words. Deterministic; costs a search of the summary for each fact.
 */
export function auditSummary({ summary, facts, ledger }: AuditInput): Audit {
  const text = plain(summary);
  const inLedger = new Set(
    ledger.messages.flatMap(({ entry, shown }) => (shown === "spanned" || shown === "left-out" ? [] : [entry])),
  );
  const holds = ({ entry, text: said }: UserMessage): boolean =>
    inLedger.has(entry) || summary.includes(entry) || summary.includes(said);
  const missing = {
    lastRequest: listed(facts.lastRequest).filter((fact) => !holds(fact)),
    lastError: listed(facts.lastError).filter((fact) => !tells(text, errorNeeds(fact))),
    openTodos: facts.openTodos.filter((fact) => !tells(text, [todoWords(fact)])),
    filesModified: unnamedIn(summary, facts.filesModified),
    userMessages: facts.userMessages.filter((fact) => !holds(fact)),
  };
  const parts: AuditParts = {
    userMessages: partOf(facts.userMessages, missing.userMessages),
    filesModified: partOf(facts.filesModified, missing.filesModified),
    openTodos: partOf(facts.openTodos, missing.openTodos),
    lastRequest: partOf(listed(facts.lastRequest), missing.lastRequest),
    lastError: partOf(listed(facts.lastError), missing.lastError),
  };
  const last = facts.lastRequest?.entry;
  return {
    score: scoreOf(Object.values(parts)),
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
    untold: untoldIn(text, { facts, isShown: (entry) => inLedger.has(entry) }),
  };
}

interface Telling {
  readonly facts: SessionFacts;
  /** A message that stands beside the summary. */
  readonly isShown: (entry: EntryId) => boolean;
}

/** The newest of each kind, the newest first; a command that ran several times once. */
function untoldIn(text: string, { facts, isShown }: Telling): readonly UntoldFact[] {
  const decisions = facts.decisions.filter(({ entry }) => !isShown(entry));
  const errors = facts.errors.filter((error) => error !== facts.lastError);
  const commands = Map.groupBy(facts.commands.toReversed(), commandWords).values();
  return [
    ...newest(decisions, carriedDecisionsMax)
      .filter((fact) => !tells(text, decisionParts(fact)))
      .map((fact) => ({ kind: "decision" as const, fact })),
    ...openFirst(newest(errors, carriedErrorsMax))
      .filter((fact) => !tells(text, errorNeeds(fact)))
      .map((fact) => ({ kind: "earlier-error" as const, fact })),
    ...[...commands.flatMap((runs) => runs.slice(0, 1)).take(carriedCommandsMax)]
      .filter((fact) => !tells(text, [commandWords(fact)]))
      .map((fact) => ({ kind: "command" as const, fact })),
  ];
}

const newest = <Fact>(facts: readonly Fact[], max: number): readonly Fact[] => facts.slice(-max).toReversed();

const openFirst = (errors: readonly ErrorFact[]): readonly ErrorFact[] => [
  ...errors.filter(({ isOpen }) => isOpen),
  ...errors.filter(({ isOpen }) => !isOpen),
];

/** `text` is plain; what was cut is told by what is left of it. */
const tells = (text: string, parts: readonly string[]): boolean =>
  parts.every((part) => text.includes(plain(part.replace(/…$/, ""))));

const listed = <Fact>(fact: Fact | undefined): readonly Fact[] => (fact === undefined ? [] : [fact]);

const partOf = (wanted: readonly unknown[], missing: readonly unknown[]): AuditPart => ({
  wanted: wanted.length,
  found: wanted.length - missing.length,
});

function scoreOf(parts: readonly AuditPart[]): number {
  const asked = parts.filter(({ wanted }) => wanted > 0);
  if (asked.length === 0) return 1;
  return asked.reduce((sum, { wanted, found }) => sum + found / wanted, 0) / asked.length;
}

/** A summary may set a word in bold or break a line where the fact does not. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\s*`_"]+/g, " ")
    .trim()
    .toLowerCase();

/**
 * A summary rarely gives whole paths. The end of one will do if no other file changed ends with it and it has a folder
 * in it: a name alone, whoever reads it later may take for another file that was never changed.
 */
function unnamedIn(summary: string, files: readonly FileFact[]): readonly FileFact[] {
  const slashed = summary.replaceAll("\\", "/");
  const unnamed = files.filter((file) => !standsIn(slashed, pathOf(file)));
  if (unnamed.length === 0) return [];
  const timesByEnd = new Map<string, number>();
  for (const file of files) for (const end of endsOf(file)) timesByEnd.set(end, (timesByEnd.get(end) ?? 0) + 1);
  return unnamed.filter((file) => !endsOf(file).some((end) => timesByEnd.get(end) === 1 && standsIn(slashed, end)));
}

const pathOf = (file: FileFact): string => fileWords(file).replaceAll("\\", "/");

/** What is left of a path without its first folders. */
function endsOf(file: FileFact): readonly string[] {
  const parts = pathOf(file).split("/").slice(1);
  const ends = parts.map((_, at) => parts.slice(at).join("/"));
  return ends.slice(-pathEndsMax).filter((end) => /[^/]\/[^/]+$/.test(end) && !end.startsWith("/"));
}

/** As a name of its own: `a.ts` stands neither in `a.tsx` nor in `data.ts`. */
function standsIn(text: string, name: string): boolean {
  if (name === "") return true;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text.charAt(at - 1);
    const behind = text.slice(at + name.length, at + name.length + 2);
    if (!/[\w.-]/.test(before) && !/^(?:[\w/-]|\.\w)/.test(behind)) return true;
  }
  return false;
}
