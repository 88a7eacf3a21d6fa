import { describe, expect, it } from "vitest";
import { toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { type CallFacts, readCall } from "./read-call.ts";

const read = (name: string, input: JsonObject): Partial<CallFacts> => {
  const reading = readCall({ type: "tool_use", id: toolUseId("t"), name, input });
  // Only what it says.
  return Object.fromEntries(
    Object.entries(reading).filter(([, value]) => value !== undefined && value !== false && String(value) !== ""),
  );
};

const patch = "*** Begin Patch\n*** Update File: a.ts\n@@\n*** Add File: b.ts\n+x\n*** End Patch";

describe("a call", () => {
  it.each<[string, string, JsonObject, Partial<CallFacts>]>([
    ["reads a file", "Read", { file_path: "/a.ts", offset: 3 }, { reads: ["/a.ts"] }],
    ["changes a file", "Edit", { file_path: "/a.ts", old_string: "a" }, { modifies: ["/a.ts"] }],
    ["changes a file by a server's tool", "mcp__disk__write_file", { path: "/a.ts" }, { modifies: ["/a.ts"] }],
    ["of an editor views", "str_replace_based_edit_tool", { command: "view", path: "/a" }, { reads: ["/a"] }],
    ["of an editor creates", "str_replace_based_edit_tool", { command: "create", path: "/a" }, { modifies: ["/a"] }],
    ["patches several files", "apply_patch", { input: patch }, { modifies: ["a.ts", "b.ts"] }],
    ["patches from a shell", "shell", { command: ["apply_patch", patch] }, { modifies: ["a.ts", "b.ts"] }],
    [
      "runs a command, of which the first line counts",
      "Bash",
      { command: "npm test\necho done" },
      { command: "npm test" },
    ],
    ["runs a command given as words", "shell", { command: ["ls", "-l"] }, { command: "ls -l" }],
    ["runs a command that a shell is given", "shell", { command: ["bash", "-lc", "ls -l"] }, { command: "ls -l" }],
    ["only searches", "Grep", { pattern: "x", path: "/src" }, {}],
    ["asks the user", "AskUserQuestion", { questions: [] }, { asksUser: true }],
    ["gives work to another", "Task", { prompt: "x" }, {}],
    [
      "sets the list of what is to be done",
      "TodoWrite",
      {
        todos: [
          { content: "one", status: "completed" },
          { content: "two", status: "in_progress" },
          { content: "three" },
        ],
      },
      { todos: { kind: "list", open: ["two", "three"] } },
    ],
    [
      "sets a plan",
      "update_plan",
      { plan: [{ step: "one", status: "pending" }] },
      { todos: { kind: "list", open: ["one"] } },
    ],
    ["adds a task", "TaskCreate", { subject: "one" }, { todos: { kind: "created", words: "one" } }],
    [
      "ends a task",
      "TaskUpdate",
      { taskId: "4", status: "completed" },
      { todos: { kind: "updated", task: "4", words: undefined, isOpen: false } },
    ],
  ])("%s", (_, name, input, says) => {
    expect(read(name, input)).toEqual(says);
  });
});
