import { assert, constantFrom, dictionary, oneof, property, string } from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../../schema/json.ts";
import { describeCall } from "./describe-call.ts";
import { progressWordsMax } from "./limits.ts";

it.each<readonly [string, JsonObject, string | undefined]>([
  ["read", { path: "src/loop.ts" }, "Reading loop.ts"],
  ["Read", { file_path: "/project/src/Makefile" }, "Reading Makefile"],
  ["edit", { file_path: "src\\loop.ts", new_string: "x" }, "Editing loop.ts"],
  ["Write", { file_path: "a/b.md", content: "secret" }, "Writing b.md"],
  ["str_replace_editor", { command: "create", path: "/a.py" }, "Writing a.py"],
  ["str_replace_editor", { command: "str_replace", path: "/a.py" }, "Editing a.py"],
  ["str_replace_editor", { command: "view", path: "/a.py" }, "Reading a.py"],
  ["Grep", { pattern: String.raw`\bplanClear\(` }, "Searching for planClear"],
  ["grep", { pattern: "aa.*bbb|cccc", path: "src/loop.ts" }, "Searching loop.ts"],
  ["Glob", { pattern: "**/loop.ts" }, "Searching for loop.ts"],
  ["Glob", { pattern: "*" }, undefined],
  ["web_search", { query: "fast-check" }, "Asking the web for fast-check"],
  ["ls", { path: "/project/src/" }, "Listing src"],
  ["web_fetch", { url: "https://user:pw@example.org/a?key=1" }, "Fetching example.org"],
  ["bash", { command: "npm test" }, "Running npm test"],
  ["Bash", { command: "cd /p && CI=1 timeout 60 npx vitest run src/loop.test.ts" }, "Running vitest run loop.test.ts"],
  ["bash", { command: "sed -n '1,20p' src/loop.ts" }, "Reading loop.ts"],
  ["bash", { command: "sed -i s/a/b/ src/loop.ts" }, "Running sed loop.ts"],
  ["bash", { command: "cat src/loop.ts | head" }, "Reading loop.ts"],
  ["bash", { command: "rg -n retry src/loop.ts" }, "Searching loop.ts"],
  ["bash", { command: "curl -H 'Authorization: Bearer abc' https://x.org" }, "Running curl"],
  ["bash", { command: "grep -rn retry" }, "Running grep"],
  ["apply_patch", { input: "*** Begin Patch\n*** Update File: src/loop.ts\n@@\n-a\n+b" }, "Editing loop.ts"],
  ["apply_patch", { patchText: "--- a/src/loop.ts\n+++ b/src/loop.ts\n" }, "Editing loop.ts"],
  ["bash", { command: "" }, undefined],
  ["mcp__github__get_issue", { number: 3 }, "Using mcp__github__get_issue"],
  ["read", {}, undefined],
  ["read", { path: "src/a b\u001B[2J.ts" }, undefined],
])("%s %o: %s", (tool, input, line) => expect(describeCall(tool, input)).toBe(line));

it("whatever a call is, its line is a verb in -ing and at most five words, without control characters", () => {
  const tool = oneof(constantFrom("read", "bash", "grep", "write", "web_fetch", "ls"), string());
  const key = constantFrom("path", "command", "pattern", "query", "url", "file_path", "x");
  assert(
    property(tool, dictionary(key, string()), (name, input) => {
      const line = describeCall(name, input);
      if (line === undefined) return;
      expect(line).toMatch(/^[A-Z][a-z]+ing( [\p{L}\p{N}._@+:-]+)+$/u);
      expect(line.split(" ").length).toBeLessThanOrEqual(progressWordsMax);
    }),
  );
});
