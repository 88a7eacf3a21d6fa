import { previousLineChars } from "./extract-limits.ts";
import { subjectOfLine } from "./fact-lines.ts";
import { asLine } from "./quote.ts";
import { headingOf } from "./sections.ts";

/** Lines of an earlier summary by the title of their section; what stands under none has the title "". */
export type PreviousLines = ReadonlyMap<string, readonly string[]>;

/**
 * Without what it quotes of the user, which the ledger has, and without what it carried forward: that is found anew.
 * Indents and fences are not kept: every line is taken out of what it stood in.
 */
export function previousLines(summary: string): PreviousLines {
  const linesByTitle = new Map<string, string[]>();
  let title = "";
  for (const line of withoutQuotes(summary).split("\n")) {
    const heading = headingOf(line);
    if (heading !== undefined) title = heading.title ?? elsewhere;
    const words = heading === undefined ? line : heading.rest;
    const clean = asLine(words.replace(/^\s*(?:[-*]|```.*)\s*/, ""), previousLineChars);
    if (clean === "" || isNote(clean)) continue;
    const known = linesByTitle.get(title);
    if (known === undefined) linesByTitle.set(title, [clean]);
    else known.push(clean);
  }
  return linesByTitle;
}

/** Of a heading that is none of the nine. */
const elsewhere = "elsewhere";
const opening = /<(user-messages?(?:-\d+)?|reply|plan|note)\b[^<>\n]{0,300}>/g;

/** In one pass, also where a summary opens a thousand tags and closes none. */
function withoutQuotes(summary: string): string {
  const unclosed = new Set<string>();
  let kept = "";
  let from = 0;
  for (const { 1: tag = "", index } of summary.matchAll(opening)) {
    if (index < from || unclosed.has(tag)) continue;
    const closing = `</${tag}>`;
    const end = summary.indexOf(closing, index);
    if (end === -1) unclosed.add(tag);
    else {
      kept += summary.slice(from, index);
      from = end + closing.length;
    }
  }
  return kept + summary.slice(from);
}

/** Begins a line that names many files at once: each summary makes its own. */
export const changedBefore = "- Changed before, from id";
/** What we say ourselves where there is nothing, or no room. */
const isNote = (line: string): boolean =>
  line === "None." || line.startsWith("… ") || line.startsWith(changedBefore.slice(2));

/** Of the lines before, those that are about nothing that the new ones are about. */
export function notRepeated(before: readonly string[], now: readonly string[]): readonly string[] {
  const subjects = new Set(now.map((line) => subjectOfLine(line.replace(/^- /, ""))));
  return before.filter((line) => {
    const subject = subjectOfLine(line);
    if (subjects.has(subject)) return false;
    subjects.add(subject);
    return true;
  });
}
