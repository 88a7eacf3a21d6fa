import { plural } from "../../text/format-count.ts";
import {
  commandLinesMax,
  fileReadLinesMax,
  fileReadShare,
  kindsMax,
  leftOutLineTokens,
  planTokensMax,
  requestTokensMax,
  toolNameChars,
  previousLineChars,
} from "./limits.ts";
import { commandLine, decisionLine, errorLine, fileLine, fileText, todoLine, lineSubject } from "./facts/fact-lines.ts";
import type { FileFact, LastRequest, SessionFacts, TextFact, UserMessage } from "./facts/session-facts.ts";
import { headWithinTokens, type CountText, tailWithinTokens, fitLines, type FitOptions } from "../clip-text.ts";
import { type SummaryVariant, parseHeading } from "./summary-sections.ts";
import { asLine, frameTokens, idText, quoteMessage, tagFor, sanitizeText } from "./quote.ts";
import { buildLedger } from "./user-ledger.ts";

/** Lines of an earlier summary by the title of their section. Lines under no title have the title "". */
type PreviousLines = ReadonlyMap<string, readonly string[]>;

/**
 * The lines of an earlier summary, without its quotes of the user, which the ledger has, and without what it carried
 * forward, which is found again. Indents and fences are dropped.
 */
export function previousLines(summary: string): PreviousLines {
  const linesByTitle = new Map<string, string[]>();
  let title = "";
  for (const line of withoutQuotes(summary).split("\n")) {
    const heading = parseHeading(line);
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

/** The title for headings other than the nine. */
const elsewhere = "elsewhere";
const quoteOpening = /<(user-messages?(?:-\d+)?|reply|plan|note)\b[^<>\n]{0,300}>/g;

/** Takes one pass, even if a summary opens a thousand tags and closes none. */
function withoutQuotes(summary: string): string {
  const unclosed = new Set<string>();
  let kept = "";
  let from = 0;
  for (const { 1: tag = "", index } of summary.matchAll(quoteOpening)) {
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

/** Begins a line that names many files at once; each summary makes its own. */
const changedBefore = "- Changed before, from id";
/** Lines that we add ourselves if there is nothing, or no room. */
const isNote = (line: string): boolean =>
  line === "None." || line.startsWith("… ") || line.startsWith(changedBefore.slice(2));

/** The earlier lines about subjects that the new lines don't mention. */
function dropRepeated(before: readonly string[], now: readonly string[]): readonly string[] {
  const subjects = new Set(now.map((line) => lineSubject(line.replace(/^- /, ""))));
  return before.filter((line) => {
    const subject = lineSubject(line);
    if (subjects.has(subject)) return false;
    subjects.add(subject);
    return true;
  });
}

export interface SectionInput {
  /** Facts of what the summary replaces; a message that stays behind it is not among them. */
  readonly facts: SessionFacts;
  readonly variant: SummaryVariant;
  readonly previous: PreviousLines;
  /** Where the user's messages are quoted: under their heading, or in a ledger beside the summary. */
  readonly messages: "inside" | "beside";
  readonly tokensMax: number;
  readonly count: CountText;
}

/** Makes the lines of a section, newest or most important first, each with its id, all within its tokens. */
export type SectionMaker = (input: SectionInput) => readonly string[];

export const primaryRequest: SectionMaker = ({ facts, variant, tokensMax, count }) => {
  const [first] = facts.userMessages;
  const last = facts.lastRequest ?? facts.userMessages.at(-1);
  const state = variant === "up_to" ? "" : requestState(facts.lastRequest);
  if (first === undefined || last === undefined || first.entry === last.entry)
    return requestLines(last, { label: `- The request${state}:`, tokensMax, count });
  return [
    ...requestLines(first, { label: "- The first request:", tokensMax: tokensMax / 2, count }),
    ...requestLines(last, { label: `- The newest request${state}:`, tokensMax: tokensMax / 2, count }),
  ];
};

/** Empty for a request that is followed by others in the view: they may be about it. */
function requestState(request: LastRequest | undefined): string {
  if (request === undefined) return "";
  return request.isOpen ? ", still open" : ", answered";
}

/** If there is no room for even a few words, only its id is shown. */
function requestLines(
  request: UserMessage | undefined,
  { label, tokensMax, count }: FitOptions & { readonly label: string },
): readonly string[] {
  if (request === undefined) return [];
  const tag = tagFor([request.text]);
  const frame = count(`${label}\n`) + frameTokens(request.entry, { tag, count });
  const room = Math.min(requestTokensMax, tokensMax - frame);
  if (room <= 0) return fitLines([`${label} ${idText(request.entry)}`], { tokensMax, count });
  return [label, quoteMessage(request, { tag, tokensMax: room, count }).text];
}

export const concepts: SectionMaker = (input) => {
  const { filesModified, filesRead, tools } = input.facts;
  const endings = [...filesRead, ...filesModified].flatMap(({ path }) => /\.\w{1,8}$/.exec(path)?.[0] ?? []);
  const kinds = mostFrequent(Map.groupBy(endings, (ending) => ending)).map(([ending]) => ending);
  const used = tools.toSorted((left, right) => right.calls - left.calls).slice(0, kindsMax);
  const lines = [
    ...(kinds.length > 0 ? [`- Kinds of files: ${kinds.join(", ")}`] : []),
    ...(used.length > 0
      ? [`- Tools: ${used.map(({ name, calls }) => `${asLine(name, toolNameChars)} ×${calls}`).join(", ")}`]
      : []),
  ];
  return withPrevious(lines, { ...input, titles: ["Key Technical Concepts"] });
};

const mostFrequent = <Key>(groups: Map<Key, readonly unknown[]>): readonly (readonly [Key, readonly unknown[]])[] =>
  [...groups].toSorted(([, left], [, right]) => right.length - left.length).slice(0, kindsMax);

export const files: SectionMaker = (input) => {
  const { filesModified, filesRead } = input.facts;
  const changed = new Set(filesModified.map(({ path }) => path));
  const read = filesRead.filter(({ path }) => !changed.has(path)).slice(-fileReadLinesMax);
  const readLines = read.toReversed().map((file) => `- Read: ${fileLine(file)}`);
  const { tokensMax, count } = input;
  const lines = [
    ...listChanged(filesModified, input),
    ...fitLines(readLines, { tokensMax: tokensMax * fileReadShare, count }),
  ];
  return withPrevious(lines, { ...input, titles: ["Files and Code Sections"] });
};

/**
 * Each file with its id. If that is too much, half of the room is for bare paths: every changed file has to be named.
 */
function listChanged(modified: readonly FileFact[], { tokensMax, count }: FitOptions): readonly string[] {
  const newest = modified.toReversed();
  const room = tokensMax - leftOutLineTokens;
  const lines = (): Iterable<string> => newest.values().map((file) => `- Changed: ${fileLine(file)}`);
  const whole = fitLines(lines(), { tokensMax: room, count });
  if (whole.length === newest.length) return whole;
  const some = fitLines(lines(), { tokensMax: room / 2, count });
  const [first, ...others] = newest.slice(some.length, some.length + Math.ceil(room / 2));
  if (first === undefined) return some;
  const texts = [first, ...others].map((file) => fileText(file));
  const root = commonFolder(texts);
  const below = root === "" ? "" : `, below ${root}`;
  const oldest = modified[0] ?? first;
  const label = `${changedBefore} ${idText(oldest.entry)} to id ${idText(first.entry)}${below}: `;
  let tokensLeft = room / 2 - count(label);
  const paths: string[] = [];
  for (const path of texts.map((word) => word.slice(root.length))) {
    tokensLeft -= count(`${path}, `) + 1;
    if (tokensLeft < 0) break;
    paths.push(path);
  }
  return paths.length === 0 ? some : [...some, `${label}${paths.join(", ")}`];
}

/** The common folder of the paths, with its last slash. */
function commonFolder(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  let length = first.length;
  for (const path of others) {
    let same = 0;
    while (same < length && path.charCodeAt(same) === first.charCodeAt(same)) same += 1;
    length = same;
  }
  if (length === 0) return "";
  return first.slice(0, Math.max(first.lastIndexOf("/", length - 1), first.lastIndexOf("\\", length - 1)) + 1);
}

/** The last error comes first, then what is still open. */
export const errors: SectionMaker = (input) => {
  const { errors: all, lastError } = input.facts;
  const others = all.filter((error) => error !== lastError).toReversed();
  const ranked = [
    ...(lastError === undefined ? [] : [lastError]),
    ...others.toSorted((left, right) => Number(right.isOpen) - Number(left.isOpen)),
  ];
  const lines = ranked.map((error) => `- ${errorLine(error)}`);
  return withPrevious(lines, { ...input, titles: ["Errors and Fixes"] });
};

export const problemSolving: SectionMaker = (input) => {
  const { decisions, commands } = input.facts;
  const lines = [
    ...decisions.toReversed().map((decision) => `- ${decisionLine(decision)}`),
    ...commands
      .slice(-commandLinesMax)
      .toReversed()
      .map((command) => `- ${commandLine(command)}`),
  ];
  return withPrevious(lines, {
    ...input,
    titles: ["Problem Solving", "Current Work", "Work Completed", "Context for Continuing Work", ""],
  });
};

export const userMessages: SectionMaker = ({ facts, messages, tokensMax, count }) => {
  if (facts.userMessages.length === 0) return [];
  if (messages === "beside") return fitLines(["They stand beside this summary."], { tokensMax, count });
  const open = facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined;
  const { text } = buildLedger({ messages: facts.userMessages, budgetTokens: tokensMax, count, open });
  return text === "" ? [] : [text];
};

export const pendingTasks: SectionMaker = ({ facts, tokensMax, count }) =>
  cutLines(
    facts.openTodos.map((todo) => `- ${todoLine(todo)}`),
    { tokensMax, count },
  );

export const currentWork: SectionMaker = (input) => {
  const { tokensMax, count } = input;
  const plan = planSection({ ...input, tokensMax: tokensMax / 2 });
  return [...plan, ...replySection({ ...input, tokensMax: tokensMax - count(plan.join("\n")) })];
};

export const planSection: SectionMaker = ({ facts: { plan }, tokensMax, count }) => {
  const planMax = Math.min(planTokensMax, tokensMax);
  return plan === undefined ? [] : quoteLines(plan, { tag: "plan", tokensMax: planMax, count, cut: headWithinTokens });
};

export const replySection: SectionMaker = ({ facts: { lastReply }, tokensMax, count }) =>
  lastReply === undefined ? [] : quoteLines(lastReply, { tag: "reply", tokensMax, count, cut: tailWithinTokens });

/** Quotes the assistant as data: the end of its last reply, the beginning of its plan. */
function quoteLines(
  { text, entry }: TextFact,
  {
    tag,
    tokensMax,
    count,
    cut,
  }: FitOptions & { readonly tag: "plan" | "reply"; readonly cut: (text: string, options: FitOptions) => string },
): readonly string[] {
  const opening = `<${tag} id="${idText(entry)}">`;
  const frame = `${opening}\n\n</${tag}>\n`;
  const words = sanitizeText(text.toWellFormed());
  const shown = cut(words, { tokensMax: tokensMax - count(frame) - 2, count });
  return shown === "" ? [] : [`${opening}\n${shown}\n</${tag}>`];
}

export const nextStep: SectionMaker = ({ facts, variant, tokensMax, count }) => {
  const { openTodos, lastError } = facts;
  const lastRequest = variant === "up_to" ? undefined : facts.lastRequest;
  const doing = openTodos.find(({ status }) => status === "in_progress") ?? openTodos[0];
  const lines = [
    ...(lastRequest?.isOpen === true ? [`- Go on with the newest request (${idText(lastRequest.entry)}).`] : []),
    ...(lastRequest === undefined && facts.userMessages.length > 0
      ? ["- The messages that follow go on from here."]
      : []),
    ...(doing === undefined ? [] : [`- Next on the list: ${todoLine(doing)}`]),
    ...(lastError?.isOpen === true ? [`- The last error is still open: ${errorLine(lastError)}`] : []),
    ...(lastRequest?.isOpen === false && doing === undefined
      ? ["- The newest request was answered: wait for the user."]
      : []),
  ];
  return cutLines(lines, { tokensMax, count });
};

interface PreviousOptions extends SectionInput {
  /** Titles of sections of the previous summary whose lines belong here. */
  readonly titles: readonly string[];
}

/** What only the previous summary knows comes last, if there is room. */
function withPrevious(
  lines: readonly string[],
  { previous, titles, tokensMax, count }: PreviousOptions,
): readonly string[] {
  const before = titles.flatMap((title) => previous.get(title) ?? []);
  const kept = dropRepeated(before, lines).map((line) => `- ${line}`);
  return cutLines([...lines, ...kept], { tokensMax, count });
}

/** Adds how many lines are left out if there is room for it. */
function cutLines(lines: readonly string[], { tokensMax, count }: FitOptions): readonly string[] {
  const whole = fitLines(lines, { tokensMax, count });
  if (whole.length === lines.length) return whole;
  const some = fitLines(lines, { tokensMax: tokensMax - leftOutLineTokens, count });
  const left = lines.length - some.length;
  return fitLines([...some, `… ${left} more ${plural(left, "line")} left out`], { tokensMax, count });
}
