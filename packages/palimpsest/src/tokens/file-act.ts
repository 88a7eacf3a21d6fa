import type { ToolUseBlock } from "../schema/block.ts";
import { text } from "../schema/json.ts";

/** Tools that show a file and tools that change one, by the names that agents in the field give them, lower case. */
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

/** What a tool does with the file it names. */
export function fileActOf(tool: string): "read" | "write" | undefined {
  const name = tool.toLowerCase();
  return fileReaders.has(name) ? "read" : fileWriters.has(name) ? "write" : undefined;
}

export const filePathOf = ({ input }: ToolUseBlock): string | undefined =>
  pathKeys.map((key) => text(input, key)).find((value) => value !== undefined);
