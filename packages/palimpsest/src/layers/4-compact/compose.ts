import type { EntryId } from "../../schema/brand.ts";
import type { SummaryRule } from "../policy.ts";
import { type Audit, auditSummary } from "./audit.ts";
import type { CompactionBudgets } from "./budgets.ts";
import { repairSummary } from "./carry.ts";
import type { SessionFacts } from "./facts.ts";
import type { CountText } from "./fit.ts";
import { type LedgerSection, ledgerWithin } from "./user-ledger.ts";

export interface ComposeInput {
  readonly summary: string;
  readonly facts: SessionFacts;
  /** Entries that the view shows besides as they are: what a person said there is neither quoted nor missed. */
  readonly shown: ReadonlySet<EntryId>;
  readonly budgets: Pick<CompactionBudgets, "ledger" | "carried">;
  /** Absent: no ledger, no repair. */
  readonly rule: SummaryRule | undefined;
  readonly count: CountText;
}

export interface Composed {
  /** Beside the summary: it quotes as it is, so nothing in it may be escaped. */
  readonly ledger: LedgerSection;
  /** Before the repair. */
  readonly audit: Audit;
  /** Any text with what the audit missed in a section at its end: the summary, or nothing where the summary can't be changed. */
  readonly repaired: (text: string) => string;
}

/** A summary, the user's words beside it, and what it should have said. */
export function composeSummary({ summary, facts, shown, budgets, rule, count }: ComposeInput): Composed {
  const open = facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined;
  const messages = rule?.userMessages === undefined ? [] : facts.userMessages.filter(({ entry }) => !shown.has(entry));
  const ledger = ledgerWithin({ messages, budgetTokens: budgets.ledger, count, open });
  const audit = auditSummary({
    summary,
    facts,
    ledger: { ...ledger, messages: [...ledger.messages, ...asShown(shown)] },
  });
  const repaired = (text: string): string =>
    rule?.check === "audited" ? repairSummary({ summary: text, audit, budgetTokens: budgets.carried, count }) : text;
  return { ledger, audit, repaired };
}

const asShown = (shown: ReadonlySet<EntryId>): LedgerSection["messages"] =>
  Array.from(shown, (entry) => ({ entry, shown: "verbatim" }));
