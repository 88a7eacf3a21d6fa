import { expect, it } from "vitest";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { PolicyName } from "../../schema/policy-names.ts";
import { clearableResults, isRerunnable } from "./is-rerunnable.ts";

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

it.each<[PolicyName, readonly string[], number]>([
  ["palimpsest", ["bash"], 100],
  ["claude-code-2.0", ["bash"], 0],
  ["claude-code-2026-all", ["bash"], 0],
  ["opencode", ["bash", "task", "mcp__notes__add"], 0],
])("%s clears results of %j, from %i tokens on", (name, tools, tokensMin) => {
  const { isClearable, residentTokensMin } = clearableResults(getPreset(name));
  expect(["bash", "task", "mcp__notes__add", "skill", "Skill"].filter(isClearable)).toEqual(tools);
  expect(residentTokensMin).toBe(tokensMin);
});
