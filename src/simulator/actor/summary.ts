import type { MessagesRequest } from "../../schema/wire/request.ts";
import { listedMax } from "../limits.ts";
import { callText, type Facts, factsOf, type FileUse, quoted } from "./facts.ts";
import { lastUserText } from "./request-text.ts";

/** A summary in nine sections, made of the conversation's own words. User messages are never cut. */
export function summaryText(request: MessagesRequest): string {
  const facts = factsOf(request);
  const sections = sectionsOf(facts, titlesFor(lastUserText(request)));
  const listed = sections.map(([title, body], at) => `${at + 1}. ${title}:\n${body}`).join("\n\n");
  const figures = `${facts.messages.length} user messages, ${facts.calls.length} calls, ${facts.errors.length} of them failed, ${facts.files.length} files.`;
  return `<analysis>\n${figures}\n</analysis>\n\n<summary>\n${listed}\n</summary>`;
}

interface LastTitles {
  readonly work: string;
  readonly next: string;
}

/** A summary of the part before a kept rest ends differently, and the request for it says how. */
const titlesFor = (ask: string): LastTitles =>
  /work completed/i.test(ask)
    ? { work: "Work Completed", next: "Context for Continuing Work" }
    : { work: "Current Work", next: "Optional Next Step" };

function sectionsOf(facts: Facts, titles: LastTitles): readonly (readonly [string, string])[] {
  const { messages, carried, files, errors, replies, openTodos } = facts;
  return [
    ["Primary Request and Intent", carried.request ?? messages[0] ?? none],
    ["Key Technical Concepts", list(conceptsOf(facts))],
    ["Files and Code Sections", list(files.map(fileText))],
    [
      "Errors and Fixes",
      list(
        errors.map(({ call, text, fix }) => {
          const then = fix === undefined ? "not fixed yet" : `then ${callText(fix)}`;
          return `${callText(call)}: ${quoted(text)} (${then})`;
        }),
      ),
    ],
    ["Problem Solving", list(replies.slice(0, -1).map(quoted))],
    ["All User Messages", allMessages(facts)],
    ["Pending Tasks", list(openTodos)],
    [titles.work, list([...replies.slice(-1).map(quoted), ...facts.calls.slice(-3).map(callText)])],
    [titles.next, nextStep(facts)],
  ];
}

const none = "- None.";

/** The newest, since they matter most where there are too many. */
const list = (lines: readonly string[]): string =>
  lines.length === 0
    ? none
    : lines
        .slice(-listedMax)
        .map((line) => `- ${line}`)
        .join("\n");

/** What an earlier summary listed comes first, as it stood. */
function allMessages({ carried, messages }: Facts): string {
  const lines = messages.map((message) => `- ${message}`);
  return [...(carried.messages === undefined ? [] : [carried.messages]), ...lines].join("\n") || none;
}

function fileText({ path, how, code }: FileUse): string {
  if (code === undefined) return `${path} (${how})`;
  const shown = code.split("\n").slice(0, codeLinesMax).join("\n");
  return `${path} (${how})\n\`\`\`\n${shown}\n\`\`\``;
}

const codeLinesMax = 20;

/** Endings of files, tools, and what was set in backticks. */
function conceptsOf({ files, calls, messages, replies }: Facts): readonly string[] {
  const endings = files.flatMap(({ path }) => /\.(\w{1,8})$/.exec(path)?.[1] ?? []).map((ending) => `.${ending} files`);
  const tools = calls.map(({ name }) => `the ${name} tool`);
  const terms = [...messages, ...replies].flatMap((text) => text.match(/`[^`\n]{2,60}`/g) ?? []);
  return [...new Set([...endings, ...tools, ...terms])];
}

function nextStep({ openTodos, replies, messages, carried }: Facts): string {
  const sentences = replies.at(-1)?.match(/[^.!?\n]+[.!?]?/g) ?? [];
  const plan = sentences.find((sentence) => /\b(?:next|I'll|I will|let me)\b/i.test(sentence))?.trim();
  const [todo] = openTodos;
  const request = messages.at(-1) ?? carried.request;
  if (todo !== undefined) return `- ${todo}`;
  if (plan !== undefined && plan !== "") return `- As said: "${quoted(plan)}"`;
  return request === undefined ? none : `- Carry on with: "${quoted(request)}"`;
}
