import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Responder, Move, MoveBlock } from "./responder.ts";
import { classifyDream, dreamChanges, dreamMove, dreamQuestions } from "./dream-answers.ts";
import { echoMove } from "./echo-responder.ts";
import {
  hasMemoryFunction,
  hasMemoryTool,
  memoryCreates,
  memoryList,
  memoryToolCalls,
  memoryWrites,
} from "./memory-writes.ts";
import {
  messageBlocks,
  lastUserText,
  systemText,
  userTexts,
  collectToolCalls,
  findEditTool,
  findWriteTool,
  findElements,
  editInput,
  type ToolCallRecord,
} from "./request-text.ts";
import { compactionMove, summaryMove } from "./summary-move.ts";
import { isObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { findInputPath, callText, type Facts, extractFacts, quoteLine } from "./extract-facts.ts";
import { listedMax } from "../limits.ts";

/**
 * Makes what the engine asks a model for (summaries, notes, memories, lines of progress) by rule out of the request
 * itself. The wording of the request tells what is wanted, so that any client's prompt works; anything else is echoed.
 */
export const extractResponder: Responder = {
  name: "extract",
  respond: ({ request, purpose }) => ({
    move: purpose === "compaction" ? compactionMove(request) : extractMove(request),
  }),
};

function extractMove(request: MessagesRequest): Move {
  switch (classifyTask(request)) {
    case "summary":
      return summaryMove(request);
    case "notes":
      return callOnce(request, { blocks: () => notesEdits(request), done: "The notes are up to date." });
    case "remembering":
      return sayOrCall(memoryToolCalls(request), "It is written down.");
    case "memories":
      return callOnce(request, { blocks: () => memoryWrites(request), done: "There is nothing more to remember." });
    case "memory-creates":
      return callOnce(request, { blocks: () => memoryCreates(request), done: "Nothing to save." });
    case "dream-calls":
      return dreamMove(request);
    case "dream-questions":
      return sayText(dreamQuestions(request));
    case "dream-changes":
      return sayText(dreamChanges(request));
    case "memory-list":
      return sayText(memoryList(request));
    case "progress":
      return sayText(progressLine(request));
    case "other":
      return echoMove(request);
  }
}

export type ExtractTask =
  | "summary"
  | "notes"
  | "remembering"
  | "memories"
  | "memory-creates"
  | "memory-list"
  | "dream-questions"
  | "dream-changes"
  | "dream-calls"
  | "progress"
  | "other";

export function classifyTask(request: MessagesRequest): ExtractTask {
  const ask = lastUserText(request);
  const system = systemText(request);
  if (fewWords.test(ask) || progressAsk.test(ask) || (fewWords.test(system) && aboutProgress.test(system)))
    return "progress";
  if (/<summary>/i.test(ask)) return "summary";
  const dream = classifyDream(ask);
  if (dream !== undefined) return dream;
  if (/\bone JSON list\b/.test(ask) && savingVerb.test(ask) && /\bmemories\b/i.test(ask)) return "memory-list";
  const filed = classifyFileTask(request, ask);
  if (filed !== undefined) return filed;
  const asksForTitle = /\b(?:title|topic|headline)\b/i.test(ask);
  const asksForSummary = summaryAsk.test(ask) && !asksForTitle;
  return asksForSummary || /\bsummari[sz]ing (?:the |our )?conversations?\b/i.test(system) ? "summary" : "other";
}

const fewWords = /\b(?:3|three)\s*(?:-|–|to|or)\s*(?:5|five)[\s-]+words?\b/i;
/** A system prompt may mention a small number of words in passing. */
const aboutProgress = /\b(?:present[ -]tense|progress|status)\b/i;
const progressAsk =
  /\b(?:progress|status) (?:report|update|line)\b|\breport (?:on )?(?:your |the )?progress\b|\bwhat are you doing\b/i;
/** Matches a request for a summary, not a text that only mentions one. */
const summaryAsk =
  /\bsummari[sz](?:e|ing)\b|\bsum (?:\w+ ){0,3}up\b|\brecap\b|\btl;?dr\b|\bsummary of\b|\b(?:write|give|make|create|provide|produce|draft|generate|need|want|update)\b[^.?!\n]{0,60}\bsummary\b/i;

/** Notes or memories, whichever the request mentions more often. Paths do not count. */
function classifyFileTask(
  request: MessagesRequest,
  ask: string,
): "notes" | "remembering" | "memories" | "memory-creates" | undefined {
  const words = ask
    .split(/\s+/)
    .filter((word) => !word.includes("/") && !/.\.md\b/.test(word))
    .join(" ");
  const notes = /\b(?:file|sections?|template|take|update|write|keep|revise)\b/i.test(words)
    ? countMatches(words, /\bnotes\b/gi)
    : 0;
  const memories = savingVerb.test(words) ? countMatches(words, /\bmemor(?:y|ies)\b/gi) : 0;
  if (hasMemoryTool(request) && (memories > notes || rememberAsk.test(words))) return "remembering";
  if (notes >= memories && notes > 0 && findEditTool(request) !== undefined) return "notes";
  if (memories > 0 && hasMemoryFunction(request)) return "memory-creates";
  const canWrite = findWriteTool(request) !== undefined || findEditTool(request) !== undefined;
  return memories > 0 && canWrite ? "memories" : undefined;
}

const savingVerb = /\b(?:extract|save|store|write|record|keep|consolidate|update|add|create|collect|commit)\b/i;
/** If there is a tool for it, the word alone is a request; in a question it is not. */
const rememberAsk = /\bremember\b(?![^.!?]{0,400}\?)/i;
const countMatches = (text: string, form: RegExp): number => text.match(form)?.length ?? 0;

/** One reply with calls; whatever their results are, the next reply ends the task. */
function callOnce(
  request: MessagesRequest,
  { blocks, done }: { readonly blocks: () => readonly MoveBlock[]; readonly done: string },
): Move {
  const askedAt = userTexts(request).at(-1)?.at ?? 0;
  const called = request.messages
    .slice(askedAt + 1)
    .some((message) => message.role === "assistant" && messageBlocks(message).some(({ type }) => type === "tool_use"));
  return sayOrCall(called ? [] : blocks(), done);
}

const sayOrCall = (calls: readonly MoveBlock[], done: string): Move =>
  calls.length === 0 ? sayText(done) : { kind: "say", blocks: calls };

const sayText = (text: string): Move => ({ kind: "say", blocks: [{ type: "text", text }] });

/** Three to five words in the present tense about what the last call does, in the conversation or in an excerpt of it. */
function progressLine(request: MessagesRequest): string {
  const call = newestQuotedCall(lastUserText(request)) ?? collectToolCalls(request).at(-1);
  if (call === undefined) return "Thinking about the request";
  const verb = verbs.find(([form]) => form.test(call.name))?.[1] ?? "Using";
  const path = findInputPath(call.input);
  if (path !== undefined) {
    const [file = path, folder] = path.split(/[\\/]/).filter(Boolean).toReversed();
    return folder === undefined ? `${verb} ${file} right now` : `${verb} ${file} in ${folder}`;
  }
  const object =
    textField(call.input, "command") ?? textField(call.input, "pattern") ?? textField(call.input, "query") ?? call.name;
  const words = object.split(/\s+/).filter(Boolean).slice(0, objectWordsMax);
  return `${verb} ${words.join(" ")}${words.length < 2 ? " right now" : ""}`;
}

const objectWordsMax = 4;

/** `call: read {"file_path":"src/loop.ts"}` in an excerpt of the newest messages. */
function newestQuotedCall(ask: string): Pick<ToolCallRecord, "name" | "input"> | undefined {
  const [excerpt] = findElements(ask, (name) => name.startsWith("newest_messages"));
  const [, name, json] =
    excerpt?.inside
      .split("\n")
      .findLast((line) => line.startsWith("call: "))
      ?.match(/^call: (\S+) (.*)$/) ?? [];
  const input = json === undefined ? undefined : tryParseJson(json);
  return name !== undefined && isObject(input) ? { name, input } : undefined;
}

const verbs: readonly (readonly [RegExp, string])[] = [
  [/read|view|cat|open/i, "Reading"],
  [/edit|replace|patch/i, "Editing"],
  [/write|create/i, "Writing"],
  [/grep|search|glob|find/i, "Searching"],
  [/fetch|browse/i, "Fetching"],
  [/bash|shell|exec|run/i, "Running"],
];

/** Calls of the edit tool that bring every section up to date; none if there is nothing to write. */
function notesEdits(request: MessagesRequest): readonly MoveBlock[] {
  const tool = findEditTool(request);
  const path = notesPath(lastUserText(request));
  if (tool === undefined || path === undefined) return [];
  const facts = extractFacts(request);
  return currentSections(request).flatMap((section) => {
    const body = bodyFor(section.heading, facts);
    if (body === undefined || body === section.body) return [];
    const after = [section.heading, ...(section.hint === undefined ? [] : [section.hint]), "", body].join("\n");
    return [{ type: "tool_use", name: tool.name, input: editInput(tool, { path, before: section.whole, after }) }];
  });
}

/** Prefers a file in quotes over another word that ends like a file: a path may contain spaces. */
function notesPath(ask: string): string | undefined {
  const [quotedPath] = [...ask.matchAll(/[`"']([^`"'\n]+\.md)[`"']/g)].flatMap(([, path]) => path ?? []);
  return quotedPath ?? ask.split(/[\s`"'<>()]+/).flatMap((word) => /^.+\.md\b/.exec(word) ?? [])[0];
}

interface Section {
  readonly heading: string;
  readonly hint?: string;
  readonly body: string;
  /** As it stands in the file, from the heading to the last word. */
  readonly whole: string;
}

/** The notes are in the request itself, or in the result of reading their file. */
function currentSections(request: MessagesRequest): readonly Section[] {
  const read = collectToolCalls(request)
    .toReversed()
    .flatMap(({ result }) => result?.text ?? []);
  for (const text of [lastUserText(request), systemText(request), ...read]) {
    const sections = parseSections(text);
    if (sections.length > 0) return sections;
  }
  return [];
}

/** Inside an element named for notes every heading counts; elsewhere only one with an italic hint below it. */
function parseSections(text: string): readonly Section[] {
  const inside = findElements(text, (name) => name.includes("notes"))[0]?.inside.replace(/^\n/, "");
  const parts = (inside ?? text).split(/^(?=#{1,3} )/m).filter((part) => part.startsWith("#"));
  const sections = parts.map(parseSection);
  return inside === undefined ? sections.filter(({ hint }) => hint !== undefined) : sections;
}

function parseSection(part: string): Section {
  const [heading = "", ...rest] = untilEnd(part).split("\n");
  const [second = ""] = rest;
  const isHint = /^([_*]).+\1$/.test(second.trim());
  const body = (isHint ? rest.slice(1) : rest).join("\n").trim();
  return { heading, body, whole: untilEnd(part), ...(isHint ? { hint: second } : {}) };
}

/** The last section ends where the file ends, not where the request goes on: at a closing element, fence or rule. */
const untilEnd = (part: string): string => (part.split(/\n(?:<\/|```|---\s*\n)/)[0] ?? part).trimEnd();

type BodyRule = readonly [RegExp, (facts: Facts) => readonly string[]];

/** Chosen by words of the heading; the first match wins. A section that no rule can fill stays as it is. */
const bodyRules: readonly BodyRule[] = [
  [
    /title/i,
    ({ messages }) => messages.slice(0, 1).map((text) => quoteLine(text).split(" ").slice(0, titleWords).join(" ")),
  ],
  [/state|current/i, ({ replies, calls }) => [...replies.slice(-1).map(quoteLine), ...calls.slice(-3).map(callText)]],
  [/task|spec|request/i, ({ messages }) => messages.map(quoteLine)],
  [/file|function/i, ({ files }) => files.map(({ path, how }) => `${path} (${how})`)],
  [/workflow|command/i, ({ commands }) => [...new Set(commands.map(quoteLine))]],
  [/error|correction/i, ({ errors }) => errors.map(({ call, text }) => `${callText(call)}: ${quoteLine(text)}`)],
  [/worklog|log/i, ({ calls }) => calls.map(callText)],
  [/result/i, ({ replies }) => replies.slice(-1).map(quoteLine)],
];

const titleWords = 10;

function bodyFor(heading: string, facts: Facts): string | undefined {
  const lines = bodyRules.find(([form]) => form.test(heading))?.[1](facts) ?? [];
  if (lines.length === 0) return undefined;
  const listed = lines.slice(-listedMax);
  return /title/i.test(heading) ? listed.join(" ") : listed.map((line) => `- ${line}`).join("\n");
}
