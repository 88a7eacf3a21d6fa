import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { titleCharsMax } from "../limits.ts";

/** What a call does to a file, as far as its input says. */
export interface TextChange {
  readonly path: string;
  /** Undefined if the whole file is written: the call does not hold the old content. */
  readonly before: string | undefined;
  readonly after: string;
}

/** What a call is about, such as a file, a command or a pattern, in one line. */
export function callTitle(tool: string, input: JsonObject): string {
  const serverCall = parseServerCall(tool, input);
  if (serverCall !== undefined) return cutTitle(`${serverCall.server} · ${serverCall.tool}`);
  const agentTask = parseAgentCall(tool, input);
  if (agentTask !== undefined) return cutTitle(`${agentTask.type}: ${agentTask.description}`);
  const mainFields = (fieldsByTool[tool] ?? []).map((name) => field(input, name));
  const [title = ""] = [...mainFields, ...Object.values(input), firstQuestion(input)].flatMap(nonEmptyText);
  return cutTitle(title);
}

function cutTitle(title: string): string {
  const line = title.replaceAll(/\s+/g, " ").trim();
  return line.length <= titleCharsMax ? line : `${line.slice(0, safeCutIndex(line, titleCharsMax))}…`;
}

interface ServerCall {
  readonly server: string;
  readonly tool: string;
  /** The input of the server's tool. */
  readonly input: Json;
}

/** Undefined if the call does not go to a server, or is malformed. */
export function parseServerCall(tool: string, input: JsonObject): ServerCall | undefined {
  const [server, name] = [textField(input, "server"), textField(input, "tool")];
  if (tool !== "use_tool" || server === undefined || name === undefined) return undefined;
  return { server, tool: name, input: field(input, "input") ?? {} };
}

/** What kind of agent is started for what; undefined if the call starts none, or is malformed. */
function parseAgentCall(
  tool: string,
  input: JsonObject,
): { readonly type: string; readonly description: string } | undefined {
  const [type, description] = [textField(input, "type"), textField(input, "description")];
  return tool !== "agent" || type === undefined || description === undefined ? undefined : { type, description };
}

/** The first question of a call that asks the user. */
function firstQuestion(input: JsonObject): Json | undefined {
  const questions = field(input, "questions");
  const [first] = isArray(questions) ? questions : [];
  return isObject(first) ? field(first, "question") : undefined;
}

/** The most informative fields of a tool's input. */
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

/** Undefined if the call changes no file, or is malformed. */
export function parseTextChange(tool: string, input: JsonObject): TextChange | undefined {
  const path = textField(input, "file_path");
  if (path === undefined) return undefined;
  const [before, after] = [textField(input, "old_string"), textField(input, "new_string")];
  if (tool === "edit" && before !== undefined && after !== undefined) return { path, before, after };
  const content = textField(input, "content");
  return tool === "write" && content !== undefined ? { path, before: undefined, after: content } : undefined;
}

/** The hosts that a running command wants to connect to. Undefined for every other prompt. */
export function hostsToConnect({ tool, acts }: Pick<PermissionPrompt, "tool" | "acts">): readonly string[] | undefined {
  const hosts = acts.flatMap((act) => (act.kind === "fetch" ? [new URL(act.url).host] : []));
  return tool === "bash" && hosts.length > 0 && hosts.length === acts.length ? hosts : undefined;
}

/** Whether the command would continue after the call has ended. */
export const isInBackground = (tool: string, input: JsonObject): boolean =>
  tool === "bash" && input["background"] === true;

export const backgroundText = "goes on in the background, until it ends or is ended";

/** What confines a command while it runs; empty if that is unknown. */
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

/** A path relative to the working folder; unchanged if it is elsewhere, or leaves the folder again. */
export function shortPath(path: string, cwd: string | undefined): string {
  if (cwd === undefined || !path.startsWith(`${cwd}/`)) return path;
  const below = path.slice(cwd.length + 1);
  return below === "" || below.split("/").some((part) => part === "..") || below.startsWith("/") ? path : below;
}

/** Shortens all paths in a text. */
export function shortPaths(text: string, cwd: string | undefined): string {
  if (cwd === undefined || !text.includes(`${cwd}/`)) return text;
  return text
    .split(/(\s+)/)
    .map((word) => shortPath(word, cwd))
    .join("");
}
