import type { ToolUseBlock } from "palimpsest/internal/schema/block";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { toFactLine } from "./text-facts.ts";

/** The facts that a call contains. A call may contain none. */
export interface CallFacts {
  readonly modifies: readonly string[];
  readonly reads: readonly string[];
  readonly command: string | undefined;
  /** Whether the call asks the user something; its result has the answer. */
  readonly asksUser: boolean;
  readonly todos: TodoChange | undefined;
}

/** `list`: replaces the whole list of open todos. */
export type TodoChange =
  | { readonly kind: "list"; readonly open: readonly string[] }
  | { readonly kind: "created"; readonly words: string }
  | {
      readonly kind: "updated";
      readonly task: string;
      readonly words: string | undefined;
      readonly isOpen: boolean | undefined;
    };

const noCallFacts: CallFacts = { modifies: [], reads: [], command: undefined, asksUser: false, todos: undefined };

export function readCall({ name, input }: ToolUseBlock): CallFacts {
  const tool = name.split("__").at(-1)?.toLowerCase() ?? "";
  const todos = readTodoChange(tool, input);
  if (todos !== undefined) return { ...noCallFacts, todos };
  if (/^ask|question/.test(tool)) return { ...noCallFacts, asksUser: true };
  const line = commandLine(input);
  const patched = findPatchedFiles(
    [line, textField(input, "patch"), textField(input, "input"), textField(input, "patchText")].join("\n"),
  );
  if (patched.length > 0) return { ...noCallFacts, modifies: patched };
  const path = pathKeys
    .map((key) => textField(input, key)?.trim())
    .find((value) => value !== undefined && value !== "");
  if (path === undefined)
    return line === undefined ? noCallFacts : { ...noCallFacts, command: toFactLine(firstLine(line)) };
  // Some editor tools take the action as an argument.
  const action = line ?? tool;
  if (/edit|write|create|replace|insert|patch|update/.test(action)) return { ...noCallFacts, modifies: [path] };
  return /read|view|cat|open|show/.test(action) ? { ...noCallFacts, reads: [path] } : noCallFacts;
}

const pathKeys = ["file_path", "path", "filePath", "absolute_path", "notebook_path", "filename", "file"] as const;

const firstLine = (command: string): string => command.trim().split("\n", 1)[0] ?? "";

function commandLine(input: JsonObject): string | undefined {
  const command = field(input, "command") ?? field(input, "cmd");
  if (typeof command === "string") return command.trim() === "" ? undefined : command;
  if (!isArray(command)) return undefined;
  const words = command.filter((word) => typeof word === "string");
  // For `sh -c <line>`, the command is the line.
  return words.length === 3 && /^-l?c$/.test(words[1] ?? "") ? words[2] : words.join(" ");
}

const findPatchedFiles = (patch: string): readonly string[] =>
  patch.includes("*** Begin Patch")
    ? [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): *(.+)$/gm)].map(([, path = ""]) =>
        path.trim(),
      )
    : [];

function readTodoChange(tool: string, input: JsonObject): TodoChange | undefined {
  const list = field(input, "todos") ?? field(input, "plan");
  if (/todo|plan/.test(tool) && isArray(list)) return { kind: "list", open: list.flatMap(openTodo) };
  if (/task_?create/.test(tool)) {
    const words = todoText(input);
    return words === undefined ? undefined : { kind: "created", words };
  }
  if (!/task_?update/.test(tool)) return undefined;
  const status = textField(input, "status");
  const isOpen = status === undefined ? undefined : !isDone(status);
  return { kind: "updated", task: textField(input, "taskId") ?? "", words: textField(input, "subject"), isOpen };
}

function openTodo(todo: Json): readonly string[] {
  if (!isObject(todo) || isDone(textField(todo, "status") ?? "")) return [];
  const words = todoText(todo);
  return words === undefined ? [] : [words];
}

const todoKeys = ["content", "subject", "step", "title", "text", "description"] as const;

function todoText(todo: JsonObject): string | undefined {
  const words = todoKeys
    .map((key) => textField(todo, key)?.trim())
    .find((value) => value !== undefined && value !== "");
  return words === undefined ? undefined : toFactLine(words);
}

const isDone = (status: string): boolean => /^(?:complet|done|cancel|delet|skip|finish)/i.test(status);
