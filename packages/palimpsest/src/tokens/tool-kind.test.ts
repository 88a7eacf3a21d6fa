import { expect, it } from "vitest";
import { fileAction, fileReaders, fileWriters, type ToolKind, classifyTool } from "./tool-kind.ts";

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
  expect(classifyTool(tool)).toBe(kind);
});

it.each(["grep_search", "grep-search", "GrepSearch", "grepsearch"])("%s is a search, however it is spelled", (tool) => {
  expect(classifyTool(tool)).toBe("search");
});

it("whatever acts on a file is of that kind", () => {
  for (const tool of [...fileReaders, ...fileWriters]) expect(classifyTool(tool)).toBe(fileAction(tool));
});
