import { type SummaryFault, formatSummaryFault, findFault } from "./read-summary.ts";
import { escapeProseImitations, escapeSummaryTags } from "../quote.ts";
import { repeatedShareMin, summaryBudgetTimesMax, ownLinesMax } from "../limits.ts";
import { unmarkInventedQuotes, type CleanedText } from "./unmark-invented-quotes.ts";

export interface GateInput {
  readonly summary: string;
  /**
   * The original of a summary that the user edited, if it was written without a model. It is safe as it is: lines
   * shared with it are not changed.
   */
  readonly own?: string | undefined;
  /** Everything the user said in the session, including answers to questions, and what earlier summaries quote. */
  readonly userMessages: readonly string[];
  /** What the assistant said last. */
  readonly lastReply: string | undefined;
  readonly budgetTokens: number;
  /** Tokens in the view of what the summary replaces. */
  readonly replacesTokens: number;
  readonly count: (text: string) => number;
}

export type GateOutcome =
  /** `changes` has one line for each, for the user. */
  | { readonly kind: "passed"; readonly text: string; readonly changes: readonly string[] }
  /** `text` is one line for the user. */
  | { readonly kind: "refused"; readonly why: SummaryFault; readonly text: string };

/** A summary that passes is safe to install, and passes again unchanged. */
export function gate(input: GateInput): GateOutcome {
  const summary = input.summary.toWellFormed().trim();
  const { text, changes } = cleanChangedParts(summary, {
    original: input.own,
    clean: (part) => cleanSummary(part, input.userMessages),
  });
  const why = findGateFault(text, input);
  return why === undefined
    ? { kind: "passed", text, changes }
    : { kind: "refused", why, text: formatSummaryFault(why) };
}

function cleanChangedParts(
  summary: string,
  { original, clean }: { readonly original: string | undefined; readonly clean: (part: string) => CleanedText },
): CleanedText {
  if (original === undefined) return clean(summary);
  const parts = diffRuns(summary, original).map(({ kind, text }) =>
    kind === "same" ? { text, changes: [] } : clean(text),
  );
  return { text: parts.map(({ text }) => text).join("\n"), changes: parts.flatMap(({ changes }) => changes) };
}

/** Each step can uncover something for the other, so both run until nothing changes. */
function cleanSummary(summary: string, userMessages: readonly string[]): CleanedText {
  const escaped = escapeProseImitations(summary);
  const unmarked = unmarkInventedQuotes(escaped, userMessages);
  const changes = [...(escaped === summary ? [] : [escapedNote]), ...unmarked.changes];
  if (changes.length === 0) return { text: summary, changes };
  const next = cleanSummary(unmarked.text.trim(), userMessages);
  return { text: next.text, changes: [...changes, ...next.changes] };
}

const escapedNote = "Escaped text that looked like a system turn or a tag.";

function findGateFault(text: string, input: GateInput): SummaryFault | undefined {
  const { lastReply, budgetTokens, replacesTokens, count } = input;
  const fault = findFault(text);
  if (fault !== undefined) return fault;
  if (lastReply !== undefined && isRepeated(text, lastReply)) return "repeated";
  const tokens = count(text);
  if (tokens > summaryBudgetTimesMax * budgetTokens) return "too-long";
  return tokens >= replacesTokens ? "not-smaller" : undefined;
}

function isRepeated(summary: string, lastReply: string): boolean {
  const [shorter = "", longer = ""] = [plain(summary), plain(lastReply)].toSorted(
    (left, right) => left.length - right.length,
  );
  return shorter !== "" && shorter.length >= repeatedShareMin * longer.length && longer.includes(shorter);
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

interface TextRun {
  /** `same`: whole lines of the other text, in its order. */
  readonly kind: "same" | "changed";
  readonly text: string;
}

/** Compares a text with its original. The runs, joined by line ends, are the text. */
function diffRuns(text: string, original: string): readonly TextRun[] {
  const [lines, originalLines] = [text.split("\n"), original.split("\n")];
  if (lines.length > ownLinesMax || originalLines.length > ownLinesMax) return [{ kind: "changed", text }];
  const shared = findSharedLines(lines, originalLines);
  const runs: { kind: TextRun["kind"]; lines: string[] }[] = [];
  for (const [at, line] of lines.entries()) {
    const kind = shared.has(at) ? "same" : "changed";
    const last = runs.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else runs.push({ kind, lines: [line] });
  }
  return runs.map((run) => ({ kind: run.kind, text: run.lines.join("\n") }));
}

/** Indices of the lines of a longest common subsequence. Costs the product of both lengths. */
function findSharedLines(lines: readonly string[], originalLines: readonly string[]): ReadonlySet<number> {
  const width = originalLines.length + 1;
  const longest = new Uint16Array((lines.length + 1) * width);
  const at = (row: number, column: number): number => longest[row * width + column] ?? 0;
  for (let row = lines.length - 1; row >= 0; row -= 1)
    for (let column = originalLines.length - 1; column >= 0; column -= 1)
      longest[row * width + column] =
        lines[row] === originalLines[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const shared = new Set<number>();
  let [row, column] = [0, 0];
  while (row < lines.length && column < originalLines.length) {
    if (lines[row] === originalLines[column]) {
      shared.add(row);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return shared;
}

/**
 * The agent's note to itself, for behind a summary. It is data and cleaned like a summary, because something that the
 * agent read may have asked for it. Otherwise unchanged; empty if nothing is left.
 */
export function renderNote(note: string, userMessages: readonly string[]): string {
  const { text } = cleanSummary(note.toWellFormed().trim(), userMessages);
  return text === "" ? "" : `## Your own note from before the compaction\n<note>\n${escapeSummaryTags(text)}\n</note>`;
}
