import { plural } from "../../schema/plural.ts";
import {
  commandLinesMax,
  fileReadLinesMax,
  fileReadShare,
  kindsMax,
  leftOutLineTokens,
  planTokensMax,
  requestTokensMax,
  toolNameChars,
} from "./extract-limits.ts";
import { commandLine, decisionLine, errorLine, fileLine, fileWords, todoLine } from "./fact-lines.ts";
import type { FileFact, LastRequest, SessionFacts, TextFact, UserMessage } from "./facts.ts";
import { beginningOf, type CountText, endingOf, fittingLines, type FitOptions } from "./fit.ts";
import { changedBefore, notRepeated, type PreviousLines } from "./previous-summary.ts";
import type { SummaryVariant } from "./sections.ts";
import { asLine, frameTokens, idText, quoteOf, tagFor, tame } from "./quote.ts";
import { ledgerWithin } from "./user-ledger.ts";

export interface SectionInput {
  /** Of what the summary stands for: a message that stays behind it is not among them. */
  readonly facts: SessionFacts;
  readonly variant: SummaryVariant;
  readonly previous: PreviousLines;
  /** Where the user's messages stand whole: under their heading, or in a ledger beside the summary. */
  readonly messages: "inside" | "beside";
  readonly tokensMax: number;
  readonly count: CountText;
}

/** The lines of a section, newest or most important first: each with its id, all within its tokens. */
export type SectionMaker = (input: SectionInput) => readonly string[];

export const primaryRequest: SectionMaker = ({ facts, variant, tokensMax, count }) => {
  const [first] = facts.userMessages;
  const last = facts.lastRequest ?? facts.userMessages.at(-1);
  const state = variant === "up_to" ? "" : stateOf(facts.lastRequest);
  if (first === undefined || last === undefined || first.entry === last.entry)
    return requestLines(last, { label: `- The request${state}:`, tokensMax, count });
  return [
    ...requestLines(first, { label: "- The first request:", tokensMax: tokensMax / 2, count }),
    ...requestLines(last, { label: `- The newest request${state}:`, tokensMax: tokensMax / 2, count }),
  ];
};

/** Nothing is said of one that others follow in the view: they may be about it. */
function stateOf(request: LastRequest | undefined): string {
  if (request === undefined) return "";
  return request.isOpen ? ", still open" : ", answered";
}

interface RequestOptions extends FitOptions {
  readonly label: string;
}

/** Where not even a few words of it have room, its id stands for it. */
function requestLines(
  request: UserMessage | undefined,
  { label, tokensMax, count }: RequestOptions,
): readonly string[] {
  if (request === undefined) return [];
  const tag = tagFor([request.text]);
  const frame = count(`${label}\n`) + frameTokens(request.entry, { tag, count });
  const room = Math.min(requestTokensMax, tokensMax - frame);
  if (room <= 0) return fittingLines([`${label} ${idText(request.entry)}`], { tokensMax, count });
  return [label, quoteOf(request, { tag, tokensMax: room, count }).text];
}

export const concepts: SectionMaker = (input) => {
  const { filesModified, filesRead, tools } = input.facts;
  const endings = [...filesRead, ...filesModified].flatMap(({ path }) => /\.\w{1,8}$/.exec(path)?.[0] ?? []);
  const kinds = mostOf(Map.groupBy(endings, (ending) => ending)).map(([ending]) => ending);
  const used = tools.toSorted((one, other) => other.calls - one.calls).slice(0, kindsMax);
  const lines = [
    ...(kinds.length > 0 ? [`- Kinds of files: ${kinds.join(", ")}`] : []),
    ...(used.length > 0
      ? [`- Tools: ${used.map(({ name, calls }) => `${asLine(name, toolNameChars)} ×${calls}`).join(", ")}`]
      : []),
  ];
  return withPrevious(lines, { ...input, titles: ["Key Technical Concepts"] });
};

const mostOf = <Key>(groups: Map<Key, readonly unknown[]>): readonly (readonly [Key, readonly unknown[]])[] =>
  [...groups].toSorted(([, one], [, other]) => other.length - one.length).slice(0, kindsMax);

export const files: SectionMaker = (input) => {
  const { filesModified, filesRead } = input.facts;
  const changed = new Set(filesModified.map(({ path }) => path));
  const read = filesRead.filter(({ path }) => !changed.has(path)).slice(-fileReadLinesMax);
  const readLines = read.toReversed().map((file) => `- Read: ${fileLine(file)}`);
  const { tokensMax, count } = input;
  const lines = [
    ...changedLines(filesModified, input),
    ...fittingLines(readLines, { tokensMax: tokensMax * fileReadShare, count }),
  ];
  return withPrevious(lines, { ...input, titles: ["Files and Code Sections"] });
};

/** Each with its id; where that is too much, half of the room is for bare paths: every file changed has to be named. */
function changedLines(modified: readonly FileFact[], { tokensMax, count }: FitOptions): readonly string[] {
  const newest = modified.toReversed();
  const room = tokensMax - leftOutLineTokens;
  const lines = (): Iterable<string> => newest.values().map((file) => `- Changed: ${fileLine(file)}`);
  const whole = fittingLines(lines(), { tokensMax: room, count });
  if (whole.length === newest.length) return whole;
  const some = fittingLines(lines(), { tokensMax: room / 2, count });
  const [first, ...others] = newest.slice(some.length, some.length + Math.ceil(room / 2));
  if (first === undefined) return some;
  const words = [first, ...others].map((file) => fileWords(file));
  const root = commonFolder(words);
  const below = root === "" ? "" : `, below ${root}`;
  const oldest = modified[0] ?? first;
  const label = `${changedBefore} ${idText(oldest.entry)} to id ${idText(first.entry)}${below}: `;
  let left = room / 2 - count(label);
  const paths: string[] = [];
  for (const path of words.map((word) => word.slice(root.length))) {
    left -= count(`${path}, `) + 1;
    if (left < 0) break;
    paths.push(path);
  }
  return paths.length === 0 ? some : [...some, `${label}${paths.join(", ")}`];
}

/** Up to and including its last slash. */
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
    ...others.toSorted((one, other) => Number(other.isOpen) - Number(one.isOpen)),
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
  if (messages === "beside") return fittingLines(["They stand beside this summary."], { tokensMax, count });
  const open = facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined;
  const { text } = ledgerWithin({ messages: facts.userMessages, budgetTokens: tokensMax, count, open });
  return text === "" ? [] : [text];
};

export const pendingTasks: SectionMaker = ({ facts, tokensMax, count }) =>
  cutLines(
    facts.openTodos.map((todo) => `- ${todoLine(todo)}`),
    { tokensMax, count },
  );

export const currentWork: SectionMaker = (input) => {
  const { tokensMax, count } = input;
  const plan = planned({ ...input, tokensMax: tokensMax / 2 });
  return [...plan, ...replied({ ...input, tokensMax: tokensMax - count(plan.join("\n")) })];
};

export const planned: SectionMaker = ({ facts: { plan }, tokensMax, count }) => {
  const planMax = Math.min(planTokensMax, tokensMax);
  return plan === undefined ? [] : quotedLines(plan, { tag: "plan", tokensMax: planMax, count, cut: beginningOf });
};

export const replied: SectionMaker = ({ facts: { lastReply }, tokensMax, count }) =>
  lastReply === undefined ? [] : quotedLines(lastReply, { tag: "reply", tokensMax, count, cut: endingOf });

interface QuotedOptions extends FitOptions {
  readonly tag: "plan" | "reply";
  readonly cut: (text: string, options: FitOptions) => string;
}

/** What the assistant said, as data: the end of its last reply, the beginning of its plan. */
function quotedLines({ text, entry }: TextFact, { tag, tokensMax, count, cut }: QuotedOptions): readonly string[] {
  const opening = `<${tag} id="${idText(entry)}">`;
  const frame = `${opening}\n\n</${tag}>\n`;
  const words = tame(text.toWellFormed());
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
  /** Of sections of the summary before whose lines belong here. */
  readonly titles: readonly string[];
}

/** What only the summary before still knows comes last, as far as there is room. */
function withPrevious(
  lines: readonly string[],
  { previous, titles, tokensMax, count }: PreviousOptions,
): readonly string[] {
  const before = titles.flatMap((title) => previous.get(title) ?? []);
  const kept = notRepeated(before, lines).map((line) => `- ${line}`);
  return cutLines([...lines, ...kept], { tokensMax, count });
}

/** How many are left out is said where there is room for it. */
function cutLines(lines: readonly string[], { tokensMax, count }: FitOptions): readonly string[] {
  const whole = fittingLines(lines, { tokensMax, count });
  if (whole.length === lines.length) return whole;
  const some = fittingLines(lines, { tokensMax: tokensMax - leftOutLineTokens, count });
  const left = lines.length - some.length;
  return fittingLines([...some, `… ${left} more ${plural(left, "line")} left out`], { tokensMax, count });
}
