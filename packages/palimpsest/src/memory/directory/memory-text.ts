import type { MemoryType } from "../../ports/memories.ts";
import { maskSecrets } from "../../text/find-secrets.ts";
import { type FrontMatter, readFrontText, splitFrontMatter } from "../../text/front-matter.ts";
import { oneLine } from "../../text/to-printable.ts";
import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { frontMatterLinesMax, memoryDescriptionCharsMax, memoryNameCharsMax } from "./limits.ts";

export const memoryTypes = ["user", "feedback", "project", "reference"] as const satisfies readonly MemoryType[];

export interface ParsedMemory {
  readonly name: string;
  /** One line. It decides whether the memory is relevant. */
  readonly description: string;
  readonly type: MemoryType | undefined;
  readonly body: string;
  /** Lines of the front matter that mean nothing here; they are written back as they are. */
  readonly otherLines: readonly string[];
}

/**
 * Reads a memory with or without front matter. Without it the file's name is the name, the first line the description, and
 * a name like `feedback-tests.md` tells the type. Only the flat part of YAML is understood: `key: value`, quoted or not,
 * and a text that goes on in indented lines.
 */
export function parseMemory(text: string, path: string): ParsedMemory {
  const { lines, body } = readFront(text);
  const valueByKey = new Map<string, string>();
  const otherLines: string[] = [];
  for (let at = 0; at < lines.length;) {
    const [, key = "", rest = ""] = /^([A-Za-z][\w-]*):(?:[ \t]+(.*))?$/.exec(lines[at] ?? "") ?? [];
    let end = at + 1;
    while (end < lines.length && /^[ \t]+\S/.test(lines[end] ?? "")) end += 1;
    if (isOwnKey(key) && !valueByKey.has(key))
      valueByKey.set(key, readFrontText({ first: rest, more: lines.slice(at + 1, end) }));
    else otherLines.push(...lines.slice(at, end));
    at = end;
  }
  const type = valueByKey.get("type")?.toLowerCase();
  // A user may write a key into a file by hand; what is taken from it for index and context does not repeat it.
  return {
    name: maskSecrets(clip(valueByKey.get("name") ?? "", memoryNameCharsMax) || titleFromPath(path)),
    description: maskSecrets(clip(valueByKey.get("description") ?? "", memoryDescriptionCharsMax) || firstLine(body)),
    type: memoryTypes.find((one) => one === type) ?? (valueByKey.has("type") ? undefined : typeFromPath(path)),
    body,
    otherLines,
  };
}

/** The text of a memory with its front matter. `parseMemory` reads the same values back. */
export function formatMemory({
  name,
  description,
  type,
  body,
  otherLines = [],
}: Omit<ParsedMemory, "otherLines"> & Partial<Pick<ParsedMemory, "otherLines">>): string {
  const lines = [
    "---",
    `name: ${formatValue(clip(name, memoryNameCharsMax))}`,
    `description: ${formatValue(clip(description, memoryDescriptionCharsMax))}`,
    ...(type === undefined ? [] : [`type: ${type}`]),
    ...otherLines,
    "---",
  ];
  return `${lines.join("\n")}\n\n${body.trim()}\n`;
}

/** Front matter of a memory is short; more is text. */
function readFront(text: string): FrontMatter {
  const front = splitFrontMatter(text);
  if (front === undefined || front.lines.length >= frontMatterLinesMax) return { lines: [], body: text };
  return { ...front, body: front.body.replace(/^\n+/, "") };
}

const isOwnKey = (key: string): boolean => key === "name" || key === "description" || key === "type";

/** Quoted only if a reader of YAML would read something else: files stay pleasant to edit. */
function formatValue(value: string): string {
  const isPlain =
    /^[\p{L}\p{N}]/u.test(value) &&
    !/: |:$| #/.test(value) &&
    !/^(?:true|false|yes|no|on|off|null|~|[\d.,:eE+-]+)$/i.test(value);
  return isPlain ? value : `"${value.replaceAll("\\", String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}

function clip(text: string, charsMax: number): string {
  const line = oneLine(text).trim();
  return line.length <= charsMax ? line : `${line.slice(0, safeCutIndex(line, charsMax - 1)).trimEnd()}…`;
}

/** `user-role.md` → `User role`. */
function titleFromPath(path: string): string {
  const stem = path.replace(/^.*\//, "").replace(/\.[^.]+$/, "");
  const words = stem.replaceAll(/[-_]+/g, " ").trim() || path;
  return clip(words.charAt(0).toUpperCase() + words.slice(1), memoryNameCharsMax);
}

const typeFromPath = (path: string): MemoryType | undefined =>
  memoryTypes.find((type) => new RegExp(String.raw`(?:^|/)${type}(?:[-_.]|$)`, "i").test(path));

function firstLine(body: string): string {
  const line = body.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one)) ?? "";
  return clip(line.replace(/^[\s#>*-]+/, ""), memoryDescriptionCharsMax);
}
