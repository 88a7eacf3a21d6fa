import type { PermissionAsk } from "palimpsest/internal/ports/person";
import type { ShellAct } from "palimpsest/internal/ports/tools";
import { field, isArray, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
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
  const called = serverCallOf(tool, input);
  if (called !== undefined) return cutLine(`${called.server} · ${called.tool}`);
  const named = (fieldsByTool[tool] ?? []).map((name) => field(input, name));
  const [told = ""] = [...named, ...Object.values(input), firstQuestion(input)].flatMap(worded);
  return cutLine(told);
}

function cutLine(told: string): string {
  const line = told.replaceAll(/\s+/g, " ").trim();
  return line.length <= titleCharsMax ? line : `${line.slice(0, wholeCharacter(line, titleCharsMax))}…`;
}

export interface ServerCall {
  readonly server: string;
  readonly tool: string;
  /** What the server's tool is given. */
  readonly input: Json;
}

/** Undefined for a call that goes to no server, or not in the form by which one is called. */
export function serverCallOf(tool: string, input: JsonObject): ServerCall | undefined {
  const [server, name] = [text(input, "server"), text(input, "tool")];
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

const worded = (value: Json | undefined): readonly string[] =>
  typeof value === "string" && value.trim() !== "" ? [value] : [];

/** Undefined for a call that changes no file, or gives no such input. */
export function changeOf(tool: string, input: JsonObject): TextChange | undefined {
  const path = text(input, "file_path");
  if (path === undefined) return undefined;
  const [before, after] = [text(input, "old_string"), text(input, "new_string")];
  if (tool === "edit" && before !== undefined && after !== undefined) return { path, before, after };
  const content = text(input, "content");
  return tool === "write" && content !== undefined ? { path, before: undefined, after: content } : undefined;
}

/** Of a command that runs and wants to connect: where to. Undefined for every other question. */
export function connectingTo({ tool, acts }: Pick<PermissionAsk, "tool" | "acts">): readonly string[] | undefined {
  const hosts = acts.flatMap((act) => (act.kind === "fetch" ? [new URL(act.url).host] : []));
  return tool === "bash" && hosts.length > 0 && hosts.length === acts.length ? hosts : undefined;
}

/** Whether it would run on when the call has its answer. */
export const isInBackground = (tool: string, input: JsonObject): boolean =>
  tool === "bash" && input["background"] === true;

export const backgroundWords = "goes on in the background, until it ends or is ended";

/** What holds a command while it runs; empty where nobody has looked. */
export function strengthWords({ strength, outsideReason }: Pick<ShellAct, "strength" | "outsideReason">): string {
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
