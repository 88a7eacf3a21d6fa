import { type JsonObject, text } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { memoriesMax } from "../limits.ts";
import { memoryTool } from "../memory-tool.ts";
import type { SaidBlock } from "./actor.ts";
import { lastingStatements, memoryOf, type MemoryType } from "./memories.ts";
import { callsOf, type HeardCall, userTexts } from "./request-text.ts";

export const hasMemoryTool = ({ tools }: MessagesRequest): boolean =>
  (tools ?? []).some(({ type }) => type === memoryTool.type);

/**
 * The next calls of the provider's memory tool; none once everything is written down. First the folder is looked at.
 * A file that is not there is created; one that is there is read, and what it lacks is put behind its heading, or at
 * its beginning where it has none of ours. What has been done is read off the calls since the person spoke.
 */
export function memoryToolCalls(request: MessagesRequest): readonly SaidBlock[] {
  const askedAt = userTexts(request).at(-1)?.at ?? 0;
  const done = callsOf(request).filter(({ name, at }) => name === memoryTool.name && at > askedAt);
  const listing = done.find((call) => isCall(call, { command: "view", path: folder }));
  if (listing === undefined) return [commanded({ command: "view", path: folder })];
  return [...linesByType(request)].flatMap(([type, lines]) => fileCalls({ type, lines, listing, done }));
}

const folder = "/memories";
const headingOf = (type: MemoryType): string => `# Memories: ${type}`;

/** Every lasting statement, also one in the very message that asks for it. */
function linesByType(request: MessagesRequest): ReadonlyMap<MemoryType, readonly string[]> {
  const statements = userTexts(request)
    .flatMap((heard) => lastingStatements(heard.text))
    .filter((statement) => !/\bmemor(?:y|ies)\b/i.test(statement));
  const lines = new Map<MemoryType, readonly string[]>();
  for (const { type, statement } of [...new Set(statements)].slice(0, memoriesMax).map(memoryOf))
    lines.set(type, [...(lines.get(type) ?? []), `- ${statement}`]);
  return lines;
}

interface FileOfMemories {
  readonly type: MemoryType;
  readonly lines: readonly string[];
  readonly listing: HeardCall;
  readonly done: readonly HeardCall[];
}

function fileCalls({ type, lines, listing, done }: FileOfMemories): readonly SaidBlock[] {
  const path = `${folder}/${type}.md`;
  const heading = headingOf(type);
  const changed = done.some((call) => text(call.input, "path") === path && text(call.input, "command") !== "view");
  if (changed) return [];
  if (!(listing.result?.text ?? "").includes(path))
    return [commanded({ command: "create", path, file_text: `${[heading, ...lines].join("\n")}\n` })];
  const content = done.find((call) => isCall(call, { command: "view", path }))?.result?.text;
  if (content === undefined) return [commanded({ command: "view", path })];
  const missing = lines.filter((line) => !content.includes(line));
  if (missing.length === 0) return [];
  const added = missing.join("\n");
  return [
    commanded(
      content.split(heading).length === 2
        ? { command: "str_replace", path, old_str: heading, new_str: `${heading}\n${added}` }
        : { command: "insert", path, insert_line: 0, insert_text: `${added}\n` },
    ),
  ];
}

const isCall = ({ input }: HeardCall, wanted: { readonly command: string; readonly path: string }): boolean =>
  text(input, "command") === wanted.command && text(input, "path") === wanted.path;

const commanded = (input: JsonObject): SaidBlock => ({ type: "tool_use", name: memoryTool.name, input });
