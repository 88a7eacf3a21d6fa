import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { memoriesMax } from "../limits.ts";
import type { MoveBlock } from "./responder.ts";
import { extractFacts, quoteLine } from "./extract-facts.ts";
import {
  lastUserText,
  systemText,
  collectToolCalls,
  type ToolCallRecord,
  userTexts,
  editInput,
  findEditTool,
  writeInput,
  findWriteTool,
  hasProperty,
  listTools,
} from "./request-text.ts";
import { type JsonObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { memoryTool } from "../prompt/tool-set.ts";

type MemoryType = "user" | "feedback" | "project" | "reference";

interface Memory {
  readonly type: MemoryType;
  readonly file: string;
  readonly statement: string;
}

/**
 * What the user said that lasts, from the message on that the request names as the first new one, unless the request names
 * its file already.
 */
function findNewMemories(request: MessagesRequest): readonly Memory[] {
  const ask = lastUserText(request);
  const said = extractFacts(request).messages;
  const from = Math.max(
    0,
    said.findLastIndex((message) => message.replaceAll(/\s+/g, " ").startsWith(firstNew(ask))),
  );
  const found = said.slice(from).flatMap(findLastingStatements).map(classifyMemory);
  const byFile = new Map(found.filter(({ file }) => !ask.includes(file)).map((memory) => [memory.file, memory]));
  return [...byFile.values()].slice(0, memoriesMax);
}

/** The answer to a request for memories as one list in JSON. */
export const memoryList = (request: MessagesRequest): string =>
  JSON.stringify(
    findNewMemories(request).map(({ type, file, statement }) => ({
      path: file,
      name: memoryName(file),
      description: quoteLine(statement),
      type,
      body: statement,
    })),
  );

/** Whether a client defines the commands of the provider's memory tool as a function of its own. */
export const hasMemoryFunction = (request: MessagesRequest): boolean =>
  listTools(request).some(({ name, schema }) => name === memoryTool.name && hasProperty(schema, "command"));

/** Calls of the client's memory function that create a file for each memory, in the user's own words alone. */
export const memoryCreates = (request: MessagesRequest): readonly MoveBlock[] =>
  findNewMemories(request).map((memory) =>
    memoryToolCall({
      command: "create",
      path: `${memoryToolFolder}/${memory.file}`,
      file_text: `${memoryHead(memory)}${memory.statement}\n`,
    }),
  );

/** The beginning of the first new message; empty if the request names none. */
function firstNew(ask: string): string {
  const quoted = /\bbegins ("(?:[^"\\\n]|\\.)*")/.exec(ask)?.[1];
  const text = quoted === undefined ? undefined : tryParseJson(quoted);
  return typeof text === "string" ? text : "";
}

/** Calls that write one file for each lasting statement of the user that the request does not name already. */
export function memoryWrites(request: MessagesRequest): readonly MoveBlock[] {
  const ask = lastUserText(request);
  const folder = memoryFolder(`${ask}\n${systemText(request)}`);
  const found = extractFacts(request).messages.flatMap(findLastingStatements).map(classifyMemory);
  const byFile = new Map(found.filter(({ file }) => !ask.includes(file)).map((memory) => [memory.file, memory]));
  const [write, edit] = [findWriteTool(request), findEditTool(request)];
  return [...byFile.values()].slice(0, memoriesMax).flatMap((memory): readonly MoveBlock[] => {
    const path = `${folder}/${memory.file}`;
    const content = memoryFileText(memory);
    if (write !== undefined)
      return [{ type: "tool_use", name: write.name, input: writeInput(write, { path, content }) }];
    if (edit === undefined) return [];
    return [{ type: "tool_use", name: edit.name, input: editInput(edit, { path, before: "", after: content }) }];
  });
}

const lasting =
  /\b(?:always|never|from now on|remember|i prefer|i'd rather|i am an?|i'm an?|i work|my (?:role|team|name)|we decided|deadline|should|must|do not|don'?t|make sure|no longer|no need|on purpose|instead of|where possible|every|skill|i would (?:call|only)|i (?:meant|thought)|we (?:deprecated|removed))\b/i;
/** Behind the first line of a longer message there is pasted text, which says such words in passing. */
const typedCharsMax = 1_000;
/** A statement that looks like a secret is never written down. */
const secret = /\b(?:api[ _-]?key|password|passphrase|secret|token)\b\s*(?:is\b|[:=])/i;

const findLastingStatements = (message: string): readonly string[] =>
  (message.length <= typedCharsMax ? message : (message.split("\n", 1)[0] ?? ""))
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => lasting.test(sentence) && !secret.test(sentence) && !sentence.endsWith("?"));

const classifyMemory = (statement: string): Memory => {
  const type = memoryType(statement);
  return { type, file: `${type}_${memorySlug(statement)}.md`, statement };
};

function memoryType(statement: string): MemoryType {
  if (/https?:\/\/|\b(?:dashboard|tracker|channel|wiki)\b/i.test(statement)) return "reference";
  if (/\b(?:i prefer|i'd rather|i am an?|i'm an?|i work|my (?:role|team|name))\b/i.test(statement)) return "user";
  return /\b(?:we decided|deadline|release)\b/i.test(statement) ? "project" : "feedback";
}

const slugWords = 5;

/** Uses letters of any language; a statement without any letter gets a name too. */
const memorySlug = (statement: string): string =>
  (statement.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["unnamed"]).slice(0, slugWords).join("_");

const memoryName = (file: string): string => file.replace(/\.md$/, "").replaceAll("_", " ");

const memoryHead = ({ type, file, statement }: Memory): string =>
  `---\nname: ${JSON.stringify(memoryName(file))}\ndescription: ${JSON.stringify(quoteLine(statement))}\ntype: ${type}\n---\n\n`;

function memoryFileText(memory: Memory): string {
  const { type, statement } = memory;
  const head = memoryHead(memory);
  if (type !== "feedback") return `${head}${statement}\n`;
  return `${head}${statement}\n\n**Why:** the user said so, in these words.\n**How to apply:** wherever it concerns the work at hand.\n`;
}

/** A path with a folder named for memories; the folder of an index file counts too. */
function memoryFolder(text: string): string {
  const paths = text.split(/[\s`"'<>()]+/).flatMap((word) => /^.*memor(?:y|ies)[^,;]*/i.exec(word) ?? []);
  const path = paths.find((found) => found.includes("/")) ?? "memory";
  const slash = path.lastIndexOf("/");
  const folder = /\.md\.?$/i.test(path) ? path.slice(0, Math.max(slash, 0)) : path;
  return trimPathEnd(folder) || "memory";
}

/** The path without trailing slashes and full stops. */
function trimPathEnd(path: string): string {
  let end = path.length;
  while (end > 0 && "/.".includes(path.charAt(end - 1))) end -= 1;
  return path.slice(0, end);
}

export const hasMemoryTool = ({ tools }: MessagesRequest): boolean =>
  (tools ?? []).some(({ type }) => type === memoryTool.type);

/**
 * The next calls of the provider's memory tool; none once everything is written down. The folder is viewed first. A
 * missing file is created. An existing one is read, and what it lacks is inserted behind its heading, or at its start
 * if it has none of ours. What has been done is read off the calls since the user spoke.
 */
export function memoryToolCalls(request: MessagesRequest): readonly MoveBlock[] {
  const askedAt = userTexts(request).at(-1)?.at ?? 0;
  const done = collectToolCalls(request).filter(({ name, at }) => name === memoryTool.name && at > askedAt);
  const listing = done.find((call) => isCall(call, { command: "view", path: memoryToolFolder }));
  if (listing === undefined) return [memoryToolCall({ command: "view", path: memoryToolFolder })];
  return [...linesByType(request)].flatMap(([type, lines]) => fileCalls({ type, lines, listing, done }));
}

export const memoryToolFolder = "/memories";
const memoryHeading = (type: MemoryType): string => `# Memories: ${type}`;

/** Every lasting statement, including those in the message that asks to remember. */
function linesByType(request: MessagesRequest): ReadonlyMap<MemoryType, readonly string[]> {
  const statements = userTexts(request)
    .flatMap(({ text }) => findLastingStatements(text))
    .filter((statement) => !/\bmemor(?:y|ies)\b/i.test(statement));
  const lines = new Map<MemoryType, readonly string[]>();
  for (const { type, statement } of [...new Set(statements)].slice(0, memoriesMax).map(classifyMemory))
    lines.set(type, [...(lines.get(type) ?? []), `- ${statement}`]);
  return lines;
}

function fileCalls({
  type,
  lines,
  listing,
  done,
}: {
  readonly type: MemoryType;
  readonly lines: readonly string[];
  readonly listing: ToolCallRecord;
  readonly done: readonly ToolCallRecord[];
}): readonly MoveBlock[] {
  const path = `${memoryToolFolder}/${type}.md`;
  const heading = memoryHeading(type);
  const changed = done.some(
    (call) => textField(call.input, "path") === path && textField(call.input, "command") !== "view",
  );
  if (changed) return [];
  if (!(listing.result?.text ?? "").includes(path))
    return [memoryToolCall({ command: "create", path, file_text: `${[heading, ...lines].join("\n")}\n` })];
  const content = done.find((call) => isCall(call, { command: "view", path }))?.result?.text;
  if (content === undefined) return [memoryToolCall({ command: "view", path })];
  const missing = lines.filter((line) => !content.includes(line));
  if (missing.length === 0) return [];
  const added = missing.join("\n");
  return [
    memoryToolCall(
      content.split(heading).length === 2
        ? { command: "str_replace", path, old_str: heading, new_str: `${heading}\n${added}` }
        : { command: "insert", path, insert_line: 0, insert_text: `${added}\n` },
    ),
  ];
}

export const isCall = (
  { input }: ToolCallRecord,
  wanted: { readonly command: string; readonly path: string },
): boolean => textField(input, "command") === wanted.command && textField(input, "path") === wanted.path;

export const memoryToolCall = (input: JsonObject): MoveBlock => ({ type: "tool_use", name: memoryTool.name, input });
