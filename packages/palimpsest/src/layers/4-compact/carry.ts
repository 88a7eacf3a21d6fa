import type { Audit, MissingFact, UntoldFact } from "./audit.ts";
import { carriedMessageTokensMax, carriedRequestTokensMax } from "./audit-limits.ts";
import { commandLine, decisionLine, errorLine, fileLine, todoLine } from "./fact-lines.ts";
import type { CountText } from "./fit.ts";
import { quoteOf, tagFor } from "./quote.ts";

export interface RepairInput {
  readonly summary: string;
  readonly audit: Audit;
  /** Of what is carried forward, counted line by line. */
  readonly budgetTokens: number;
  readonly count: CountText;
}

const carriedTitle = "Carried forward";
const heading = `## ${carriedTitle}`;

/**
 * The summary with what the audit missed in a section of its own at its end, the most important first, and behind
 * it what it does not tell. What is missing and the budget does not take is said in a last line. Repairing a repaired summary changes nothing.
 */
export function repairSummary({ summary, audit, budgetTokens, count }: RepairInput): string {
  if (audit.missing.length === 0 && audit.untold.length === 0) return summary;
  const fixed = costOf([heading, noteOf(Number.MAX_SAFE_INTEGER)], count);
  const { before, carried } = parted(summary, (lines) => fixed + costOf(lines, count) <= budgetTokens);
  const lines = [...carried];
  let room = budgetTokens - fixed - costOf(carried, count);
  if (room < 0) return summary;
  let left = 0;
  for (const one of [...audit.missing, ...audit.untold]) {
    // A line holds the id, so most of what does not fit need not be written to know it.
    const added = count(one.fact.entry) > room ? [] : linesOf(one, count);
    const cost = costOf(added, count);
    if (added.length === 0 || cost > room) {
      left += isUntold(one) ? 0 : 1;
      continue;
    }
    room -= cost;
    lines.push(...added);
  }
  if (lines.length === 0 && left === 0) return summary;
  return [before, heading, ...lines, ...(left > 0 ? [noteOf(left)] : [])].join("\n");
}

/** Line by line, so that the cost of a section is the sum of what was put into it. */
const costOf = (lines: readonly string[], count: CountText): number =>
  lines.flatMap((line) => line.split("\n")).reduce((sum, line) => sum + count(`${line}\n`), 0);

const noteOf = (left: number): string => `(${left} more did not fit; their ids are in the transcript)`;
const noteForm = /^\(\d+ more did not fit; their ids are in the transcript\)$/;

interface Parted {
  readonly before: string;
  readonly carried: readonly string[];
}

/** A section that an earlier repair has left at the end is gone on with. One over the budget is not of ours. */
function parted(summary: string, isWithin: (lines: readonly string[]) => boolean): Parted {
  const at = summary.lastIndexOf(`\n${heading}\n`);
  const lines = at === -1 ? [] : summary.slice(at + heading.length + 2).split("\n");
  const carried = noteForm.test(lines.at(-1) ?? "") ? lines.slice(0, -1) : lines;
  return at === -1 || !isWithin(carried)
    ? { before: `${summary.trimEnd()}\n`, carried: [] }
    : { before: summary.slice(0, at), carried };
}

const isUntold = ({ kind }: MissingFact | UntoldFact): boolean =>
  kind === "decision" || kind === "earlier-error" || kind === "command";

function linesOf(missing: MissingFact | UntoldFact, count: CountText): readonly string[] {
  switch (missing.kind) {
    case "last-request": {
      const { fact } = missing;
      const { text } = quoteOf(fact, { tag: tagFor([fact.text]), tokensMax: carriedRequestTokensMax, count });
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
      return [quoteOf(fact, { tag: tagFor([fact.text]), tokensMax: carriedMessageTokensMax, count }).text];
    }
  }
}
