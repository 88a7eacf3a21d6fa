import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { listedMax } from "../limits.ts";
import type { MoveBlock } from "./responder.ts";
import { findElements, collectToolCalls, lastUserText, systemText, editInput, findEditTool } from "./request-text.ts";
import { callText, type Facts, extractFacts, quoteLine } from "./extract-facts.ts";

/** Calls of the edit tool that bring every section up to date; none if there is nothing to write. */
export function notesEdits(request: MessagesRequest): readonly MoveBlock[] {
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
