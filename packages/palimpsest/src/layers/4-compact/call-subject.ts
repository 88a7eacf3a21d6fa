import type { ToolUseBlock } from "../../schema/block.ts";
import { field, isArray, type JsonObject, text } from "../../schema/json.ts";
import { fileActOf, filePathOf } from "../../tokens/file-act.ts";
import { clipped } from "../1-offload/cut.ts";
import { commandCharsMax, pathCharsMax } from "./fact-limits.ts";

/** What a call is about. A call of several files is a patch. */
export type CallSubject =
  | { readonly kind: "file"; readonly act: "read" | "write"; readonly paths: readonly string[] }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "tool" };

export function subjectOf(call: ToolUseBlock): CallSubject {
  const name = plainName(call.name);
  const command = commandText(call.input);
  const patched = patchedPaths(patchText(call.input) ?? command);
  if (patched.length > 0) return { kind: "file", act: "write", paths: patched };
  const path = filePathOf(call);
  const act = editors.test(name) ? editorAct(call.input) : fileActOf(name);
  if (path !== undefined && path.trim() !== "" && act !== undefined)
    return { kind: "file", act, paths: [clipped(path, pathCharsMax)] };
  return command === undefined ? { kind: "tool" } : { kind: "command", command: clipped(command, commandCharsMax) };
}

/**
 * Under which name success ends what a failure began: the same command, whatever its output is cut down to, the same
 * file, whatever was done to it, else the same tool.
 */
export function keysOf(subject: CallSubject, tool: string): readonly string[] {
  switch (subject.kind) {
    case "file":
      return subject.paths.map((path) => `file ${path}`);
    case "command":
      return [`command ${plainCommand(subject.command)}`];
    case "tool":
      return [`tool ${tool}`];
  }
}

/** Tools of MCP servers carry the server's name in front. */
const plainName = (name: string): string => name.split("__").at(-1) ?? name;

/** Editors that take what to do as an argument. */
const editors = /^str_replace(?:_based)?_edit/i;
const editorAct = (input: JsonObject): "read" | "write" => (text(input, "command") === "view" ? "read" : "write");

function commandText(input: JsonObject): string | undefined {
  const value = field(input, "command") ?? field(input, "cmd");
  if (typeof value === "string") return value.trim() === "" ? undefined : value;
  if (!isArray(value) || !value.every((part) => typeof part === "string")) return undefined;
  // Given as words, the shell itself often comes first: `bash -lc <line>`.
  const [shell = "", option = "", line] = value;
  return shell.endsWith("sh") && option.startsWith("-") && line !== undefined ? line : value.join(" ");
}

const patchKeys = ["patch", "input", "patchText"] as const;
const patchText = (input: JsonObject): string | undefined =>
  patchKeys.map((key) => text(input, key)).find((value) => value !== undefined);

const patchStart = "*** Begin Patch";
const patchedFile = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm;

function patchedPaths(source: string | undefined): readonly string[] {
  if (source === undefined || !source.includes(patchStart)) return [];
  const named = [...source.matchAll(patchedFile)].map(([, path = ""]) => clipped(path.trim(), pathCharsMax));
  return [...new Set(named)].filter((path) => path !== "");
}

/** Without the folder it starts in and what is done with its output: `cd a && npm test 2>&1 | tail` is `npm test`. */
const plainCommand = (command: string): string =>
  command
    .replace(/^\s*cd\s[^&;\n]*(?:&&|;)/, "")
    .replace(/\s(?:2>|\|(?!\|)).*$/s, "")
    .replaceAll(/\s+/g, " ")
    .trim();
