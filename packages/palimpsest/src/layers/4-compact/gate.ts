import { type BadSummary, badSummaryText, faultOf } from "./bad-summary.ts";
import { proseWithoutImitations } from "./imitation.ts";
import { repeatedShareMin, summaryBudgetTimesMax } from "./limits.ts";
import { runsBeside } from "./own-lines.ts";
import { unmarkInventedQuotes, type Unmarked } from "./invented-quotes.ts";

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

export type Gated =
  /** `changes`: a line for each, for a person. */
  | { readonly kind: "passed"; readonly text: string; readonly changes: readonly string[] }
  /** `text`: one line for a person. */
  | { readonly kind: "refused"; readonly why: BadSummary; readonly text: string };

/** What passes is safe to install, and passes again unchanged. */
export function gate(input: GateInput): Gated {
  const summary = input.summary.toWellFormed().trim();
  const { text, changes } = beside(summary, { own: input.own, clean: (part) => cleaned(part, input.userMessages) });
  const why = whyRefused(text, input);
  return why === undefined ? { kind: "passed", text, changes } : { kind: "refused", why, text: badSummaryText(why) };
}

interface Beside {
  readonly own: string | undefined;
  readonly clean: (part: string) => Unmarked;
}

function beside(summary: string, { own, clean }: Beside): Unmarked {
  if (own === undefined) return clean(summary);
  const parts = runsBeside(summary, own).map(({ kind, text }) =>
    kind === "same" ? { text, changes: [] } : clean(text),
  );
  return { text: parts.map(({ text }) => text).join("\n"), changes: parts.flatMap(({ changes }) => changes) };
}

/** What one step takes away can bring out what the other looks for: both, until there is nothing to do. */
export function cleaned(summary: string, userMessages: readonly string[]): Unmarked {
  const tame = proseWithoutImitations(summary);
  const unmarked = unmarkInventedQuotes(tame, userMessages);
  const changes = [...(tame === summary ? [] : [tamed]), ...unmarked.changes];
  if (changes.length === 0) return { text: summary, changes };
  const next = cleaned(unmarked.text.trim(), userMessages);
  return { text: next.text, changes: [...changes, ...next.changes] };
}

const tamed = "Took text out of the form of a system turn or a tag.";

function whyRefused(text: string, input: GateInput): BadSummary | undefined {
  const { lastReply, budgetTokens, replacesTokens, count } = input;
  const fault = faultOf(text);
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
