import { type JsonObject, textField } from "../../schema/json.ts";
import { callFilePath, classifyTool, type ToolKind } from "../../tokens/tool-kind.ts";
import { callNameCharsMax } from "./limits.ts";

/** A call as a progress line, without asking a model: `read src/loop.ts` is "Reading loop.ts". Undefined if its input names nothing. */
export function describeCall(tool: string, input: JsonObject): string | undefined {
  const kind = classifyTool(tool);
  const path = callFilePath({ input }) ?? textField(input, "file") ?? textField(input, "dir_path");
  switch (kind) {
    case "read":
    case "write":
      return join(verb(kind, tool, input), baseName(path ?? findPatchedPath(input)));
    case "list":
      return join("Listing", baseName(path));
    case "search":
      return describeSearch(tool, { pattern: textField(input, "pattern") ?? textField(input, "query"), path });
    case "fetch":
      return join("Fetching", hostName(textField(input, "url")));
    case "shell":
      return describeCommand(textField(input, "command") ?? textField(input, "cmd"));
    case undefined:
      return join("Using", toName(tool));
  }
}

const join = (doing: string, name: string | undefined): string | undefined =>
  name === undefined ? undefined : `${doing} ${name}`;

function verb(kind: Extract<ToolKind, "read" | "write">, tool: string, input: JsonObject): string {
  // One tool of some agents both views and edits.
  const command = textField(input, "command") ?? tool;
  if (/create|write/i.test(command)) return "Writing";
  if (kind === "write" || /insert|replace|edit/i.test(textField(input, "command") ?? "")) return "Editing";
  return "Reading";
}

/** The first file that a patch in the input changes. */
function findPatchedPath(input: JsonObject): string | undefined {
  for (const text of Object.values(input)) {
    const found = typeof text === "string" ? /^(?:\*\*\* \w+ File: |\+\+\+ (?:b\/)?)(\S+)\s*$/m.exec(text) : null;
    if (found !== null) return found[1];
  }
  return undefined;
}

/** The last part of a path, if it can stand in a line. */
const baseName = (path: string | undefined): string | undefined => toName(path?.split(/[\\/]+/).findLast(Boolean));

/** Only what looks like a name: no blanks, no quotes, nothing that a terminal would obey. */
const toName = (text: string | undefined): string | undefined =>
  text !== undefined &&
  text.length <= callNameCharsMax &&
  /^[\p{L}\p{N}._@+-]*[\p{L}\p{N}_][\p{L}\p{N}._@+-]*$/u.test(text)
    ? text
    : undefined;

function describeSearch(
  tool: string,
  { pattern, path }: { readonly pattern: string | undefined; readonly path: string | undefined },
): string | undefined {
  // The only name in many patterns: `\bplanClear\(`, `**/loop.ts`.
  const [name, ...others] = pattern?.replaceAll(/\\[bBdDsSwW]/g, " ").match(/[\p{L}_][\p{L}\p{N}_.-]{2,}/gu) ?? [];
  const wanted = others.length === 0 && name !== undefined ? toName(name.replace(/[.-]+$/, "")) : undefined;
  if (wanted !== undefined) return `${/web/i.test(tool) ? "Asking the web for" : "Searching for"} ${wanted}`;
  return join("Searching", baseName(path));
}

function hostName(url: string | undefined): string | undefined {
  return toName(/^https?:\/\/(?:[^/@]*@)?([^/:?#]+)/i.exec(url ?? "")?.[1]);
}

const programs: ReadonlyMap<string, string> = new Map([
  ...["cat", "sed", "head", "tail", "less", "nl"].map((name) => [name, "Reading"] as const),
  ...["grep", "rg", "ag"].map((name) => [name, "Searching"] as const),
]);

/** The program, its command and the first file that it names. Arguments are left out: some are long, and some are secret. */
function describeCommand(command: string | undefined): string | undefined {
  const words = firstCommand(command ?? "");
  const [first, second] = words;
  const program = baseName(first);
  if (program === undefined) return undefined;
  const file = baseName(words.slice(1).find((word) => filePattern.test(word)));
  const known = words.includes("-i") ? undefined : programs.get(program);
  if (known !== undefined && file !== undefined) return `${known} ${file}`;
  const subcommand = second !== undefined && /^[a-z][a-z:-]{1,20}$/.test(second) ? second : undefined;
  return ["Running", program, subcommand, file].filter((word) => word !== undefined).join(" ");
}

const filePattern = /^[\w@.+~/-]*[\w-]\.[a-z]\w{0,7}$/i;

/** Without what leads to it: `cd a && X=1 timeout 60 npx vitest run` is `vitest run`. */
function firstCommand(command: string): readonly string[] {
  const parts = command.split(/&&|\|\||[;|\n]/).map((part) => part.trim().split(/\s+/));
  const part =
    parts.find(([word]) => word !== undefined && !/^(?:cd|export|set|source|\.|true|echo|#.*|)$/.test(word)) ?? [];
  const start = part.findIndex((word) => !/^(?:\w+=.*|sudo|timeout|time|env|npx|-.*|\d+[smh]?)$/.test(word));
  return start === -1 ? [] : part.slice(start);
}
