import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { memoriesMax } from "../limits.ts";
import type { SaidBlock } from "./actor.ts";
import { factsOf, quoted } from "./facts.ts";
import { lastUserText, systemText } from "./request-text.ts";
import { editInput, editTool, writeInput, writeTool } from "./tool-shape.ts";

export type MemoryType = "user" | "feedback" | "project" | "reference";

export interface Memory {
  readonly type: MemoryType;
  readonly file: string;
  readonly statement: string;
}

/** Calls that write one file for each lasting statement of the user that the request does not name already. */
export function memoryWrites(request: MessagesRequest): readonly SaidBlock[] {
  const ask = lastUserText(request);
  const folder = memoryFolder(`${ask}\n${systemText(request)}`);
  const found = factsOf(request).messages.flatMap(lastingStatements).map(memoryOf);
  const byFile = new Map(found.filter(({ file }) => !ask.includes(file)).map((memory) => [memory.file, memory]));
  const [write, edit] = [writeTool(request), editTool(request)];
  return [...byFile.values()].slice(0, memoriesMax).flatMap((memory): readonly SaidBlock[] => {
    const path = `${folder}/${memory.file}`;
    const content = contentOf(memory);
    if (write !== undefined)
      return [{ type: "tool_use", name: write.name, input: writeInput(write, { path, content }) }];
    if (edit === undefined) return [];
    return [{ type: "tool_use", name: edit.name, input: editInput(edit, { path, before: "", after: content }) }];
  });
}

const lasting =
  /\b(?:always|never|from now on|remember|i prefer|i'd rather|i am an?|i'm an?|i work|my (?:role|team|name)|we decided|deadline)\b/i;
/** Nothing that looks like one is ever written down. */
const secret = /\b(?:api[ _-]?key|password|passphrase|secret|token)\b\s*(?:is\b|[:=])/i;

export const lastingStatements = (message: string): readonly string[] =>
  message
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => lasting.test(sentence) && !secret.test(sentence) && !sentence.endsWith("?"));

export const memoryOf = (statement: string): Memory => {
  const type = typeOf(statement);
  return { type, file: `${type}_${slugOf(statement)}.md`, statement };
};

function typeOf(statement: string): MemoryType {
  if (/https?:\/\/|\b(?:dashboard|tracker|channel|wiki)\b/i.test(statement)) return "reference";
  if (/\b(?:i prefer|i'd rather|i am an?|i'm an?|i work|my (?:role|team|name))\b/i.test(statement)) return "user";
  return /\b(?:we decided|deadline|release)\b/i.test(statement) ? "project" : "feedback";
}

const slugWords = 5;

/** Letters of any language; a statement without a single one gets a name all the same. */
const slugOf = (statement: string): string =>
  (statement.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["unnamed"]).slice(0, slugWords).join("_");

function contentOf({ type, file, statement }: Memory): string {
  const name = file.replace(/\.md$/, "").replaceAll("_", " ");
  const head = `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(quoted(statement))}\ntype: ${type}\n---\n\n`;
  if (type !== "feedback") return `${head}${statement}\n`;
  return `${head}${statement}\n\n**Why:** the user said so, in these words.\n**How to apply:** wherever it concerns the work at hand.\n`;
}

/** A path with a folder named for memories; that of an index file in it counts too. */
function memoryFolder(text: string): string {
  const paths = text.split(/[\s`"'<>()]+/).flatMap((word) => /^.*memor(?:y|ies)[^,;]*/i.exec(word) ?? []);
  const path = paths.find((found) => found.includes("/")) ?? "memory";
  const slash = path.lastIndexOf("/");
  const folder = /\.md\.?$/i.test(path) ? path.slice(0, Math.max(slash, 0)) : path;
  return withoutEnd(folder) || "memory";
}

/** Without slashes and full stops behind it. */
function withoutEnd(path: string): string {
  let end = path.length;
  while (end > 0 && "/.".includes(path.charAt(end - 1))) end -= 1;
  return path.slice(0, end);
}
