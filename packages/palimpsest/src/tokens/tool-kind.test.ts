import { expect, it } from "vitest";
import { fileActOf, fileReaders, fileWriters } from "./file-act.ts";
import { type ToolKind, toolKindOf } from "./tool-kind.ts";

it.each<[string, ToolKind | undefined]>([
  ["Read", "read"],
  ["str_replace_editor", "read"],
  ["MultiEdit", "write"],
  ["create_file", "write"],
  ["Bash", "shell"],
  ["run_command", "shell"],
  ["Grep", "search"],
  ["web_search", "search"],
  ["LS", "list"],
  ["WebFetch", "fetch"],
  ["Task", undefined],
  ["mcp__files__read", undefined],
  ["constructor", undefined],
  ["", undefined],
])("%j is of kind %s", (tool, kind) => {
  expect(toolKindOf(tool)).toBe(kind);
});

it.each(["grep_search", "grep-search", "GrepSearch", "grepsearch"])("%s is a search, however it is spelled", (tool) => {
  expect(toolKindOf(tool)).toBe("search");
});

it("whatever acts on a file is of that kind", () => {
  for (const tool of [...fileReaders, ...fileWriters]) expect(toolKindOf(tool)).toBe(fileActOf(tool));
});
