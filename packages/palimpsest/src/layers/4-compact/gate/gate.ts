import { type SummaryFault, formatSummaryFault, findFault } from "./read-summary.ts";
import { escapeProseImitations, escapeSummaryTags } from "../quote.ts";
import { repeatedShareMin, summaryBudgetTimesMax, ownLinesMax } from "../limits.ts";
import { unmarkInventedQuotes, type CleanedText } from "./unmark-invented-quotes.ts";

export interface GateInput {
  readonly summary: string;
  /** What a person changed for it, where it was written without a model: safe as it stands. Lines that it shares pass as they are. */
  readonly own?: string | undefined;
  /** Everything the user said in the session, answers to questions included, and what earlier summaries quote of them. */
  readonly userMessages: readonly string[];
  /** What the assistant said last. */
  readonly lastReply: string | undefined;
  readonly budgetTokens: number;
  /** What stands in the view for what the summary is to replace. */
  readonly replacesTokens: number;
  readonly count: (text: string) => number;
}

export type GateOutcome =
  /** `changes`: a line for each, for a person. */
  | { readonly kind: "passed"; readonly text: string; readonly changes: readonly string[] }
  /** `text`: one line for a person. */
  | { readonly kind: "refused"; readonly why: SummaryFault; readonly text: string };

/** What passes is safe to install, and passes again unchanged. */
export function gate(input: GateInput): GateOutcome {
  const summary = input.summary.toWellFormed().trim();
  const { text, changes } = cleanBeside(summary, {
    own: input.own,
    clean: (part) => cleanSummary(part, input.userMessages),
  });
  const why = whyRefused(text, input);
  return why === undefined
    ? { kind: "passed", text, changes }
    : { kind: "refused", why, text: formatSummaryFault(why) };
}

function cleanBeside(
  summary: string,
  { own, clean }: { readonly own: string | undefined; readonly clean: (part: string) => CleanedText },
): CleanedText {
  if (own === undefined) return clean(summary);
  const parts = diffRuns(summary, own).map(({ kind, text }) => (kind === "same" ? { text, changes: [] } : clean(text)));
  return { text: parts.map(({ text }) => text).join("\n"), changes: parts.flatMap(({ changes }) => changes) };
}

/** What one step takes away can bring out what the other looks for: both, until there is nothing to do. */
function cleanSummary(summary: string, userMessages: readonly string[]): CleanedText {
  const tame = escapeProseImitations(summary);
  const unmarked = unmarkInventedQuotes(tame, userMessages);
  const changes = [...(tame === summary ? [] : [tamedNote]), ...unmarked.changes];
  if (changes.length === 0) return { text: summary, changes };
  const next = cleanSummary(unmarked.text.trim(), userMessages);
  return { text: next.text, changes: [...changes, ...next.changes] };
}

const tamedNote = "Took text out of the form of a system turn or a tag.";

function whyRefused(text: string, input: GateInput): SummaryFault | undefined {
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
    (one, other) => one.length - other.length,
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

/** A text beside the one that it was made from. Its runs, joined by line ends, are the text. */
function diffRuns(text: string, own: string): readonly TextRun[] {
  const [lines, others] = [text.split("\n"), own.split("\n")];
  if (lines.length > ownLinesMax || others.length > ownLinesMax) return [{ kind: "changed", text }];
  const shared = findSharedLines(lines, others);
  const runs: { kind: TextRun["kind"]; lines: string[] }[] = [];
  for (const [at, line] of lines.entries()) {
    const kind = shared.has(at) ? "same" : "changed";
    const last = runs.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else runs.push({ kind, lines: [line] });
  }
  return runs.map((run) => ({ kind: run.kind, text: run.lines.join("\n") }));
}

/** Indices of the lines that both have in the same order, as many as there are. Costs the product of their lengths. */
function findSharedLines(lines: readonly string[], others: readonly string[]): ReadonlySet<number> {
  const width = others.length + 1;
  const longest = new Uint16Array((lines.length + 1) * width);
  const at = (one: number, other: number): number => longest[one * width + other] ?? 0;
  for (let one = lines.length - 1; one >= 0; one -= 1)
    for (let other = others.length - 1; other >= 0; other -= 1)
      longest[one * width + other] =
        lines[one] === others[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
  const shared = new Set<number>();
  let [one, other] = [0, 0];
  while (one < lines.length && other < others.length) {
    if (lines[one] === others[other]) {
      shared.add(one);
      one += 1;
      other += 1;
    } else if (at(one + 1, other) >= at(one, other + 1)) one += 1;
    else other += 1;
  }
  return shared;
}

/**
 * The agent's note to itself, to stand behind a summary: data, cleaned like one, because what it read may have asked for
 * it. In its own words else; blank where nothing is left.
 */
export function renderNote(note: string, userMessages: readonly string[]): string {
  const { text } = cleanSummary(note.toWellFormed().trim(), userMessages);
  return text === "" ? "" : `## Your own note from before the compaction\n<note>\n${escapeSummaryTags(text)}\n</note>`;
}
