import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { safeCutIndex } from "palimpsest/internal/schema/safe-cut-index";
import { titleCharsMax } from "../limits.ts";

/** What a call does to a file, as far as its input tells. */
export interface TextChange {
  readonly path: string;
  /** Undefined where the whole file is written: what stood there is not in the call. */
  readonly before: string | undefined;
  readonly after: string;
}

/** What a call is about: a file, a command, a pattern. In one line, cut. */
export function callTitle(tool: string, input: JsonObject): string {
  const called = parseServerCall(tool, input);
  if (called !== undefined) return cutTitle(`${called.server} · ${called.tool}`);
  const named = (fieldsByTool[tool] ?? []).map((name) => field(input, name));
  const [told = ""] = [...named, ...Object.values(input), firstQuestion(input)].flatMap(nonEmptyText);
  return cutTitle(told);
}

function cutTitle(told: string): string {
  const line = told.replaceAll(/\s+/g, " ").trim();
  return line.length <= titleCharsMax ? line : `${line.slice(0, safeCutIndex(line, titleCharsMax))}…`;
}

interface ServerCall {
  readonly server: string;
  readonly tool: string;
  /** What the server's tool is given. */
  readonly input: Json;
}

/** Undefined for a call that goes to no server, or not in the form by which one is called. */
export function parseServerCall(tool: string, input: JsonObject): ServerCall | undefined {
  const [server, name] = [textField(input, "server"), textField(input, "tool")];
  if (tool !== "use_tool" || server === undefined || name === undefined) return undefined;
  return { server, tool: name, input: field(input, "input") ?? {} };
}

/** Of a call that asks a person. */
function firstQuestion(input: JsonObject): Json | undefined {
  const questions = field(input, "questions");
  const [first] = isArray(questions) ? questions : [];
  return isObject(first) ? field(first, "question") : undefined;
}

/** The field that says most, for tools whose first one does not. */
const fieldsByTool: Readonly<Record<string, readonly string[]>> = {
  bash: ["command"],
  read: ["file_path"],
  write: ["file_path"],
  edit: ["file_path"],
  grep: ["pattern"],
  glob: ["pattern"],
  recall: ["id", "query"],
  web_fetch: ["url"],
  skill: ["name"],
};

const nonEmptyText = (value: Json | undefined): readonly string[] =>
  typeof value === "string" && value.trim() !== "" ? [value] : [];

/** Undefined for a call that changes no file, or gives no such input. */
export function parseTextChange(tool: string, input: JsonObject): TextChange | undefined {
  const path = textField(input, "file_path");
  if (path === undefined) return undefined;
  const [before, after] = [textField(input, "old_string"), textField(input, "new_string")];
  if (tool === "edit" && before !== undefined && after !== undefined) return { path, before, after };
  const content = textField(input, "content");
  return tool === "write" && content !== undefined ? { path, before: undefined, after: content } : undefined;
}

/** Of a command that runs and wants to connect: where to. Undefined for every other question. */
export function hostsToConnect({ tool, acts }: Pick<PermissionPrompt, "tool" | "acts">): readonly string[] | undefined {
  const hosts = acts.flatMap((act) => (act.kind === "fetch" ? [new URL(act.url).host] : []));
  return tool === "bash" && hosts.length > 0 && hosts.length === acts.length ? hosts : undefined;
}

/** Whether it would run on when the call has its answer. */
export const isInBackground = (tool: string, input: JsonObject): boolean =>
  tool === "bash" && input["background"] === true;

export const backgroundText = "goes on in the background, until it ends or is ended";

/** What holds a command while it runs; empty where nobody has looked. */
export function describeSandbox({ strength, outsideReason }: Pick<ShellAction, "strength" | "outsideReason">): string {
  if (outsideReason !== undefined) return "outside the sandbox: it can do everything that you can";
  if (strength === undefined) return "";
  switch (strength) {
    case "read-only":
      return "in the sandbox: it writes nothing and reaches no host";
    case "workspace":
      return "in the sandbox: it writes only in the project, and reaches only hosts that you allow";
    case "none":
      return "without a sandbox: it can do everything that you can";
  }
}

/** A path as one would type it in the working folder; one that lies elsewhere, or leaves it again, as it is. */
export function shortPath(path: string, cwd: string | undefined): string {
  if (cwd === undefined || !path.startsWith(`${cwd}/`)) return path;
  const below = path.slice(cwd.length + 1);
  return below === "" || below.split("/").some((part) => part === "..") || below.startsWith("/") ? path : below;
}

/** Somebody's words about files, with the paths in them as above. */
export function shortPaths(words: string, cwd: string | undefined): string {
  if (cwd === undefined || !words.includes(`${cwd}/`)) return words;
  return words
    .split(/(\s+)/)
    .map((word) => shortPath(word, cwd))
    .join("");
}
