import { expect, it } from "vitest";
import { isRerunnable } from "./is-rerunnable.ts";

it.each([
  "Read",
  "read_file",
  "Bash",
  "shell",
  "Grep",
  "Glob",
  "WebSearch",
  "web_fetch",
  "Edit",
  "Write",
  "MultiEdit",
  "exec",
  "run_command",
  "terminal",
  "GrepSearch",
])("results of %s can be had again", (tool) => {
  expect(isRerunnable(tool)).toBe(true);
});

it.each([
  "AskUserQuestion",
  "NotebookEdit",
  "Task",
  "TodoWrite",
  "mcp__files__read",
  "skill",
  "",
  "BashOutput",
  "write_stdin",
  "writeStdin",
  "NotebookRead",
  "ToolSearch",
])("results of %s stay", (tool) => {
  expect(isRerunnable(tool)).toBe(false);
});
