import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { listedMax, quotedCharsMax, ruleSummaryShare, ruleSummaryTokensMax, ruleSummaryTokensMin } from "../limits.ts";
import { countBlockTokens, countTokens } from "../prompt/count-tokens.ts";
import type { Move } from "./responder.ts";
import { callText, type Facts, extractFacts, type FileUse, quoteLine } from "./extract-facts.ts";
import { messageBlocks, lastUserText } from "./request-text.ts";

/**
 * A summary in nine sections, made of the conversation's own words, for a client that asks for one. User messages are
 * never cut.
 */
export const summaryMove = (request: MessagesRequest): Move => sayText(summaryText(createDraft(request)));

/**
 * The reply of a responder that has no summary of its own to the server's compaction. It is limited to
 * `summaryTokensMax`, so that it always shortens the conversation: if there is more, lists lose their oldest items and
 * messages their middles.
 */
export function compactionMove(request: MessagesRequest): Move {
  const tokensMax = summaryTokensMax(request);
  const draft = createDraft(request);
  let charsMax = tokensMax * charsPerToken;
  let text = summaryText(limitDraft(draft, charsMax));
  while (charsMax > 0 && countTokens(text) > tokensMax) {
    charsMax = Math.floor(charsMax / 2);
    text = summaryText(limitDraft(draft, charsMax));
  }
  return sayText(text);
}

/** Where the search for the right length begins: few texts have more. */
const charsPerToken = 8;

/** Uses the plain count, without the factor of a model's own tokenizer. */
export function summaryTokensMax({ messages }: MessagesRequest): number {
  const enough = ruleSummaryTokensMax / ruleSummaryShare;
  let tokens = 0;
  // The last message asks for the summary.
  for (const block of messages.slice(0, -1).flatMap(messageBlocks)) {
    tokens += countBlockTokens(block);
    if (tokens >= enough) return ruleSummaryTokensMax;
  }
  return Math.max(ruleSummaryTokensMin, Math.floor(tokens * ruleSummaryShare));
}

interface Draft {
  readonly facts: Facts;
  readonly titles: LastTitles;
  /** Limit of the longest section; nothing is cut without it. */
  readonly charsMax?: number;
}

const createDraft = (request: MessagesRequest): Draft => ({
  facts: extractFacts(request),
  titles: titlesFor(lastUserText(request)),
});

/** Every message keeps a part of itself; then the first and the newest messages stay. */
function limitDraft({ facts, titles }: Draft, charsMax: number): Draft {
  const messages = facts.messages.map((message) => shortenMiddle(message, Math.floor(charsMax / 4)));
  return { facts: { ...facts, messages }, titles, charsMax };
}

function summaryText({ facts, titles, charsMax = Number.POSITIVE_INFINITY }: Draft): string {
  const room = Math.floor(charsMax / 4);
  const bodyText = (title: string, body: string | readonly string[]): string => {
    if (typeof body !== "string") return formatList(body, room);
    return shortenMiddle(body, title === messagesTitle ? charsMax : room);
  };
  const listed = summarySections(facts, titles)
    .map(([title, body], at) => `${at + 1}. ${title}:\n${bodyText(title, body)}`)
    .join("\n\n");
  const figures = `${facts.messages.length} user messages, ${facts.calls.length} calls, ${facts.errors.length} of them failed, ${facts.files.length} files.`;
  return `<analysis>\n${figures}\n</analysis>\n\n<summary>\n${listed}\n</summary>`;
}

/** The head and the tail, and how much was between them. */
function shortenMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const half = Math.floor(charsMax / 2);
  // Half of a surrogate pair is not a character.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head} [… ${text.length - head.length - tail.length} characters left out …] ${tail}`.trim();
}

const sayText = (text: string): Move => ({ kind: "say", blocks: [{ type: "text", text }] });

interface LastTitles {
  readonly work: string;
  readonly next: string;
}

/** A summary of only the older part of a conversation ends differently, and the request for it says how. */
const titlesFor = (ask: string): LastTitles =>
  /work completed/i.test(ask)
    ? { work: "Work Completed", next: "Context for Continuing Work" }
    : { work: "Current Work", next: "Optional Next Step" };

/** A body may be a list. Items of an earlier summary come first. */
function summarySections(facts: Facts, titles: LastTitles): readonly (readonly [string, string | readonly string[]])[] {
  const { messages, carried, errors, replies, openTodos } = facts;
  return [
    ["Primary Request and Intent", carried.request ?? firstRequest(messages)],
    ["Key Technical Concepts", collectConcepts(facts)],
    ["Files and Code Sections", listFileLines(facts)],
    [
      "Errors and Fixes",
      [
        ...carried.errors,
        ...errors.map(({ call, text, fix }) => {
          const then = fix === undefined ? "not fixed yet" : `then ${callText(fix)}`;
          return `${callText(call)}: ${quoteLine(text)} (${then})`;
        }),
      ],
    ],
    ["Problem Solving", [...carried.steps, ...replies.slice(0, -1).map(quoteLine)]],
    [messagesTitle, allMessages(facts)],
    ["Pending Tasks", openTodos],
    [titles.work, [...replies.slice(-1).map(quoteLine), ...facts.calls.slice(-3).map(callText)]],
    [titles.next, nextStep(facts)],
  ];
}

const messagesTitle = "All User Messages";
const none = "- None.";

/** A long request is whole only among the user messages. */
function firstRequest([first]: readonly string[]): string {
  if (first === undefined) return none;
  return first.length > quotedCharsMax ? quoteLine(first) : first;
}

/** The newest lines for which there is room: if there are too many, the newest matter most. */
function formatList(lines: readonly string[], charsMax: number): string {
  const newest = lines.slice(-listedMax).map((line) => `- ${line}`);
  let chars = newest.reduce((sum, line) => sum + line.length + 1, -1);
  while (newest.length > 1 && chars > charsMax) chars -= (newest.shift()?.length ?? 0) + 1;
  return newest.length === 0 ? none : shortenMiddle(newest.join("\n"), charsMax);
}

/** What an earlier summary listed comes first, unchanged. */
function allMessages({ carried, messages }: Facts): string {
  const lines = messages.map((message) => `- ${message}`);
  return [...(carried.messages === undefined ? [] : [carried.messages]), ...lines].join("\n") || none;
}

/**
 * Files that were only mentioned come first, because a list that is too long loses its start. A line of an earlier
 * summary is kept if it says more.
 */
function listFileLines({ files, carried }: Facts): readonly string[] {
  const carriedByPath = new Map(carried.files.map((line) => [fileLine.exec(line)?.[1] ?? line, line]));
  const used = files.filter(({ how }) => how !== "named");
  const named = files.filter(({ path, how }) => how === "named" && !carriedByPath.has(path));
  const usedPaths = new Set(used.map(({ path }) => path));
  const before = [...carriedByPath].flatMap(([path, line]) => (usedPaths.has(path) ? [] : [line]));
  return [
    ...before.filter(isNamed),
    ...named.map(fileText),
    ...before.filter((line) => !isNamed(line)),
    ...used.map((file) => {
      const line = carriedByPath.get(file.path) ?? "";
      return file.how === "read" && fileLine.exec(line)?.[2] === "changed" ? line : fileText(file);
    }),
  ];
}

const fileLine = /^([^\n]+) \((read|changed|named)\)/;
const isNamed = (line: string): boolean => fileLine.exec(line)?.[2] === "named";

function fileText({ path, how, code }: FileUse): string {
  if (code === undefined) return `${path} (${how})`;
  const shown = code.split("\n").slice(0, codeLinesMax).join("\n");
  return `${path} (${how})\n\`\`\`\n${shown}\n\`\`\``;
}

const codeLinesMax = 20;

/** File extensions, tools, and terms in backticks. */
function collectConcepts({ files, calls, messages, replies, carried }: Facts): readonly string[] {
  const endings = files.flatMap(({ path }) => /\.(\w{1,8})$/.exec(path)?.[1] ?? []).map((ending) => `.${ending} files`);
  const tools = calls.map(({ name }) => `the ${name} tool`);
  const terms = [...messages, ...replies].flatMap((text) => text.match(/`[^`\n]{2,60}`/g) ?? []);
  return [...new Set([...carried.concepts, ...endings, ...tools, ...terms])];
}

function nextStep({ openTodos, replies, messages, carried }: Facts): string {
  const sentences = replies.at(-1)?.match(/[^.!?\n]+[.!?]?/g) ?? [];
  const plan = sentences.find((sentence) => /\b(?:next|I'll|I will|let me)\b/i.test(sentence))?.trim();
  const [todo] = openTodos;
  const request = messages.at(-1) ?? carried.newestRequest ?? carried.request;
  if (todo !== undefined) return `- ${todo}`;
  if (plan !== undefined && plan !== "") return `- As said: "${quoteLine(plan)}"`;
  return request === undefined ? none : `- Carry on with: "${quoteLine(request)}"`;
}
