import type { ToolUseBlock } from "../schema/block.ts";
import { textField } from "../schema/json.ts";

/** Common names of tools that show a file and of tools that change one, in lower case. */
export const fileReaders: ReadonlySet<string> = new Set(["read", "view", "read_file", "cat", "open_file"]);
export const fileWriters: ReadonlySet<string> = new Set([
  "edit",
  "write",
  "multiedit",
  "notebookedit",
  "write_file",
  "edit_file",
  "str_replace",
  "apply_patch",
  "replace",
]);
const pathKeys = ["file_path", "path", "filePath", "absolute_path", "notebook_path"] as const;

/** What a tool does with the file in its input. */
export function fileAction(tool: string): "read" | "write" | undefined {
  const name = tool.toLowerCase();
  return fileReaders.has(name) ? "read" : fileWriters.has(name) ? "write" : undefined;
}

export const callFilePath = ({ input }: Pick<ToolUseBlock, "input">): string | undefined =>
  pathKeys.map((key) => textField(input, key)).find((value) => value !== undefined);

const toolKinds = ["read", "write", "shell", "search", "list", "fetch"] as const;
export type ToolKind = (typeof toolKinds)[number];

/** What a tool does, by its common names in other agents; undefined for unknown tools, including MCP tools. Costs one look-up. */
export const classifyTool = (tool: string): ToolKind | undefined => kindByName.get(tool.toLowerCase());

/** In lower case. A tool that both views and edits counts as a read, because its results are needed again like those of reads. */
const namesByKind: Readonly<Record<ToolKind, readonly string[]>> = {
  read: [
    ...fileReaders,
    "notebookread",
    "open",
    "read_many_files",
    "str_replace_based_edit_tool",
    "str_replace_editor",
    "view_file",
    "view_image",
  ],
  write: [
    ...fileWriters,
    "create",
    "create_file",
    "delete_file",
    "insert",
    "insert_edit_into_file",
    "search_replace",
    "undo_edit",
  ],
  shell: [
    "bash",
    "bashoutput",
    "command",
    "container.exec",
    "exec",
    "exec_command",
    "execute_bash",
    "execute_command",
    "local_shell",
    "powershell",
    "read_bash",
    "run_command",
    "run_in_terminal",
    "run_shell_command",
    "run_terminal_cmd",
    "run_terminal_command",
    "shell",
    "shell_command",
    "terminal",
    "write_bash",
    "write_stdin",
  ],
  search: [
    "codebase_search",
    "code_search",
    "file_search",
    "find",
    "find_file",
    "find_files",
    "glob",
    "glob_search",
    "google_web_search",
    "grep",
    "grep_files",
    "grep_search",
    "rg",
    "ripgrep",
    "search",
    "search_dir",
    "search_file",
    "search_file_content",
    "search_files",
    "search_text",
    "tool_search",
    "web_search",
  ],
  list: ["list", "list_dir", "list_directory", "list_files", "ls"],
  fetch: ["fetch", "web_fetch"],
};

/** Names separate words with `_`, `-` or capitals. */
const spellings = (name: string): readonly string[] => [name, name.replaceAll("_", "-"), name.replaceAll("_", "")];

const kindByName: ReadonlyMap<string, ToolKind> = new Map(
  toolKinds.flatMap((kind) => namesByKind[kind].flatMap(spellings).map((name) => [name, kind] as const)),
);
