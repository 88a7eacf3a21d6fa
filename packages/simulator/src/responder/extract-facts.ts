import { field, isArray, isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { quotedCharsMax } from "../limits.ts";
import { assistantTexts, collectToolCalls, type ToolCallRecord, lastUserText, userTexts } from "./request-text.ts";

/**
 * What happened in a conversation, read off the request alone. The last user text is not included: it is the
 * instruction for what to make of the rest.
 */
export interface Facts {
  /** What the user said, verbatim and in order. */
  readonly messages: readonly string[];
  readonly carried: CarriedSummary;
  /** What the assistant said. */
  readonly replies: readonly string[];
  readonly calls: readonly ToolCallRecord[];
  readonly files: readonly FileUse[];
  readonly commands: readonly string[];
  readonly errors: readonly Failure[];
  /** The items of the newest todo list that are not done. */
  readonly openTodos: readonly string[];
}

/**
 * What an earlier summary said, so that the next one does not forget it. Lists hold a section's items, oldest first.
 */
interface CarriedSummary {
  readonly messages?: string;
  readonly request?: string;
  /** The last of the user messages. */
  readonly newestRequest?: string;
  readonly concepts: readonly string[];
  readonly files: readonly string[];
  readonly errors: readonly string[];
  /** What was solved, and what was being worked on. */
  readonly steps: readonly string[];
  readonly openTodos: readonly string[];
}

export interface FileUse {
  readonly path: string;
  /** `named`: only mentioned, in a message or in a result. */
  readonly how: "read" | "changed" | "named";
  /** The content that was last written to it. */
  readonly code?: string;
}

interface Failure {
  readonly call: ToolCallRecord;
  readonly text: string;
  /** The next call that changed something. */
  readonly fix?: ToolCallRecord;
}

export function extractFacts(request: MessagesRequest): Facts {
  const texts = userTexts(request)
    .slice(0, -1)
    .map(({ text }) => text);
  const summaries = texts.filter(isSummary);
  const messages = texts.filter((text) => !isSummary(text));
  const calls = collectToolCalls(request);
  const replies = assistantTexts(request).map(({ text }) => text);
  const carried = parseCarried(summaries.at(-1) ?? "");
  return {
    messages: messages.length > 0 || summaries.length > 0 ? messages : parseSerialisedMessages(lastUserText(request)),
    carried,
    replies,
    calls,
    files: collectFileUses(calls, [...messages, ...replies]),
    commands: calls.flatMap(({ input }) => textField(input, "command") ?? []),
    errors: collectFailures(calls),
    openTodos: openTodos(calls) ?? carried.openTodos,
  };
}

/** One line, cut to the length that may be quoted in passing. */
export function quoteLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= quotedCharsMax) return line;
  // Half of a surrogate pair is not a character.
  return `${line.slice(0, quotedCharsMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** The call in a few words: `edit src/a.ts`, `bash npm test`. */
export function callText({ name, input }: ToolCallRecord): string {
  const object =
    findInputPath(input) ?? textField(input, "command") ?? textField(input, "pattern") ?? textField(input, "query");
  return quoteLine(object === undefined ? name : `${name} ${object}`);
}

const isChange = ({ name }: ToolCallRecord): boolean =>
  /edit|write|create|patch|replace/i.test(name) && !/todo/i.test(name);

export const findInputPath = (input: JsonObject): string | undefined =>
  pathFields.map((name) => textField(input, name)).find((path) => path !== undefined && path !== "");

const pathFields = ["file_path", "path", "filePath", "file", "filename", "notebook_path"];
const codeFields = ["new_string", "newText", "new_str", "newString", "content", "file_text"];

const isSummary = (text: string): boolean => requestHead.test(text) && messagesHead.test(text);

/** Allows blanks but no line ends before the number: a search over lines must not restart behind every empty one. */
const requestHead = /^[^\S\n]*1\. Primary Request[^\n]*\n/m;
const messagesHead = /^[^\S\n]*6\. All User Messages[^\n]*\n/m;

function parseCarried(summary: string): CarriedSummary {
  const messages = sectionBetween(summary, { head: messagesHead, next: /\n[^\S\n]*7\. / });
  const request = sectionBetween(summary, { head: requestHead, next: /\n[^\S\n]*2\. / });
  const newestRequest = carriedOn.exec(summary)?.[1] ?? listItems(messages).at(-1);
  const items = (head: RegExp, next: RegExp): readonly string[] => listItems(sectionBetween(summary, { head, next }));
  return {
    ...(messages === undefined ? {} : { messages }),
    ...(request === undefined ? {} : { request }),
    ...(newestRequest === undefined ? {} : { newestRequest }),
    concepts: items(/^[^\S\n]*2\. Key Technical[^\n]*\n/im, /\n[^\S\n]*3\. Files/i),
    files: items(/^[^\S\n]*3\. Files[^\n]*\n/im, /\n[^\S\n]*4\. Errors/i),
    errors: items(/^[^\S\n]*4\. Errors[^\n]*\n/im, /\n[^\S\n]*5\. Problem/i),
    steps: [
      ...items(/^[^\S\n]*5\. Problem[^\n]*\n/im, /\n[^\S\n]*6\. All User Messages/),
      ...items(/^[^\S\n]*8\. (?:Current Work|Work Completed)[^\n]*\n/im, /\n[^\S\n]*9\. /),
    ],
    openTodos: items(/^[^\S\n]*7\. Pending[^\n]*\n/im, /\n[^\S\n]*8\. /),
  };
}

/**
 * The newest request in one line, if the summary ends with it. This is more reliable than a list whose items may hold
 * lists.
 */
const carriedOn = /\n- Carry on with: "([^\n]+)"\s*(?:<\/summary>\s*)?$/;

/** The items of a list. A line of code inside a fence does not begin one. */
function listItems(section = ""): readonly string[] {
  const items: string[] = [];
  let isCode = false;
  for (const line of section.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const last = items.length - 1;
    if (line.startsWith("- ") && !isCode) items.push(line.slice(2));
    else if (last >= 0) items[last] += `\n${line}`;
  }
  return items.map((item) => item.trimEnd()).filter((item) => item !== "None.");
}

/** A section's text, if another section follows it. */
function sectionBetween(
  text: string,
  { head, next }: { readonly head: RegExp; readonly next: RegExp },
): string | undefined {
  const found = head.exec(text);
  if (found === null) return undefined;
  const rest = text.slice(found.index + found[0].length);
  const end = rest.search(next);
  return end === -1 ? undefined : rest.slice(0, end).trim();
}

/** Some clients write the conversation as one text with the speakers' names in front. */
const parseSerialisedMessages = (text: string): readonly string[] =>
  [...text.matchAll(/^\[?(?:User|Human)\]?:\s*(.+)$/gm)].flatMap(([, said]) => said?.trim() ?? []);

/** Files that were only mentioned come first, because a list is cut from its start. */
function collectFileUses(calls: readonly ToolCallRecord[], texts: readonly string[]): readonly FileUse[] {
  const byPath = new Map<string, FileUse>();
  for (const call of calls) {
    const path = findInputPath(call.input);
    if (path === undefined) continue;
    const before = byPath.get(path);
    const code = isChange(call) ? codeFields.map((name) => textField(call.input, name)).find(Boolean) : undefined;
    const newestCode = code ?? before?.code;
    const how = isChange(call) || before?.how === "changed" ? "changed" : "read";
    byPath.set(path, { path, how, ...(newestCode === undefined ? {} : { code: newestCode }) });
  }
  for (const path of calls.flatMap(({ input }) => findPaths(textField(input, "command") ?? "")))
    if (!byPath.has(path)) byPath.set(path, { path, how: "read" });
  const used = new Set([...byPath.keys()].flatMap((path) => [path, ...findPaths(path)]));
  const named = new Set([...texts, ...calls.flatMap(({ result }) => result?.text ?? [])].flatMap(findPaths));
  const only = [...named].filter((path) => !used.has(path));
  return [...only.map((path) => ({ path, how: "named" as const })), ...byPath.values()];
}

/** Words that can only be files: a folder, a name and an extension. URLs are excluded. */
const findPaths = (text: string): readonly string[] =>
  text
    .replaceAll(/\bhttps?:\S+/g, "")
    .split(/[^\w.@/-]+/)
    .flatMap(findPath);

/** Ends at the last part that looks like a file and starts where its folders begin: `/a/b.ts` is `a/b.ts`. */
function findPath(word: string): readonly string[] {
  const parts = word.split("/");
  const last = parts.findLastIndex((part, at) => at > 0 && parts[at - 1] !== "" && fileName.test(part));
  const [name] = fileName.exec(parts[last] ?? "") ?? [];
  if (name === undefined || last === -1) return [];
  const first = parts.findLastIndex((part, at) => at < last && part === "") + 1;
  return [[...parts.slice(first, last), name].join("/")];
}

const fileName = /^[\w.-]+\.\w+/;

function collectFailures(calls: readonly ToolCallRecord[]): readonly Failure[] {
  const failures: Failure[] = [];
  let fix: ToolCallRecord | undefined;
  for (const call of calls.toReversed()) {
    if (call.result !== undefined && isFailed(call))
      failures.push({ call, text: call.result.text, ...(fix === undefined ? {} : { fix }) });
    if (isChange(call)) fix = call;
  }
  return failures.toReversed();
}

/** Marked as failed, or a text that looks like it: the first line, or any line of a command's output. */
function isFailed({ input, result }: ToolCallRecord): boolean {
  if (result === undefined || result.failed) return result !== undefined;
  const [first = ""] = result.text.split("\n", 1);
  return errorLine.test(textField(input, "command") === undefined ? first : result.text);
}

const errorLine =
  /^[^\S\n]*(?:(?:[A-Z]\w*)?(?:Error|Exception)\b|error|fatal|panic|Traceback|FAIL(?:ED|URE)?)\b[:\s(]|\b[1-9]\d* (?:tests? )?failed\b|\bexit(?:ed with)? code [1-9]|\bcommand not found\b|\bno such file or directory\b|\bpermission denied\b/im;

/** Undefined if there is no todo list. */
function openTodos(calls: readonly ToolCallRecord[]): readonly string[] | undefined {
  const lists = calls.map(({ input }) => field(input, "todos")).filter((todos) => isArray(todos));
  return lists.at(-1)?.flatMap((todo) => {
    if (!isObject(todo) || textField(todo, "status") === "completed") return [];
    return textField(todo, "content") ?? textField(todo, "text") ?? [];
  });
}
