import { describe, expect, test } from "vitest";
import type { PermissionPrompt, Question } from "palimpsest/internal/ports/user-port";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { changeLineCharsMax, changeLinesMax } from "../limits.ts";
import {
  choiceAnswer,
  permissionAnswer,
  permissionText,
  planAnswer,
  previewAnswer,
  questionAnswer,
} from "./questions.ts";

const ask: PermissionPrompt = {
  toolUse: toolUseId("t"),
  tool: "bash",
  input: { command: "rm -r build" },
  acts: [{ kind: "shell", command: "rm -r build", effect: "unknown", reads: "known", writes: "known" }],
  reason: "No rule allows it.",
  suggestedRules: ["Bash(rm -r build)"],
};

describe("a typed answer", () => {
  test.each([
    ["y", { kind: "once" }],
    [" YES ", { kind: "once" }],
    ["a", { kind: "always", rules: ["Bash(rm -r build)"], scope: "session" }],
    ["n", { kind: "denied" }],
    ["", { kind: "denied" }],
    ["yes please, but only once", { kind: "denied", words: "yes please, but only once" }],
    ["always", { kind: "denied", words: "always" }],
  ])("%j to a permission is %j: nothing but a plain yes allows anything", (line, answer) => {
    expect(permissionAnswer(line, ask)).toEqual(answer);
  });

  test("can't allow for good what no single rule allows", () => {
    const { suggestedRules: _, ...without } = ask;
    expect(permissionAnswer("a", without)).toEqual({ kind: "denied", words: "a" });
    expect(permissionText(without)).not.toContain("a: yes");
  });

  test("is asked for with what would run and why it is asked", () => {
    expect(permissionText(ask)).toContain("bash rm -r build");
    expect(permissionText(ask)).toContain("No rule allows it.");
    expect(permissionText(ask)).toContain("Bash(rm -r build)");
  });

  test("to a command that wants to connect is asked for with the host", () => {
    const text = permissionText({ ...ask, acts: [{ kind: "fetch", url: "https://a.org/", host: "a.org" }] });
    expect(text).toMatch(/^bash rm -r build\n {2}connects to a\.org\n {2}No rule allows it\.\nmay it connect\? /);
  });

  test("to a command is asked for with what will hold it, and with the reason to run it outside", () => {
    const [act] = ask.acts;
    if (act?.kind !== "shell") throw new Error("the fixture runs a command");
    const held = (parts: Partial<ShellAction>): string => permissionText({ ...ask, acts: [{ ...act, ...parts }] });
    expect(held({ strength: "workspace" })).toContain("\n  in the sandbox: it writes only in the project");
    expect(held({ strength: "none", outsideReason: "it needs\nthe bus" })).toContain(
      "\n  outside the sandbox: it can do everything that you can\n  the agent's reason: it needs the bus\n",
    );
  });

  test("to a change is asked for with what would be written, bounded", () => {
    const edit = { ...ask, tool: "edit", input: { file_path: "a.ts", old_string: "old", new_string: "new" }, acts: [] };
    expect(permissionText(edit)).toContain("edit a.ts\n  - old\n  + new\n");
    const content = Array.from({ length: changeLinesMax + 2 }, (_, n) => `line ${n}`).join("\n");
    const whole = permissionText({ ...ask, tool: "write", input: { file_path: "a.ts", content }, acts: [] });
    expect(whole).toContain(`  + line ${changeLinesMax - 1}\n  ! 2 more lines of it are not shown\n`);
    const long = { file_path: "a.ts", content: "x".repeat(changeLineCharsMax + 1) };
    expect(permissionText({ ...ask, tool: "write", input: long, acts: [] })).toContain("x… (1 more character)\n");
  });

  test("to a call of a server is asked for with what it is given", () => {
    const input = { server: "calc", tool: "add", input: { a: 2 } };
    const text = permissionText({
      ...ask,
      tool: "use_tool",
      input,
      acts: [{ kind: "mcp", server: "calc", tool: "add" }],
    });
    expect(text).toContain('use_tool calc · add\n  calls add of the server calc\n  with {"a":2}\n');
  });

  const question: Question = { question: "Which?", options: [{ label: "red" }, { label: "blue" }], choose: "one" };
  test.each<readonly [string, Question["choose"], readonly string[]]>([
    ["2", "one", ["blue"]],
    ["3", "one", ["3"]],
    ["green", "one", ["green"]],
    ["1, 2", "many", ["red", "blue"]],
    ["1, green", "many", ["1, green"]],
  ])("%j to a question, choose %s, is %j", (line, choose, answer) => {
    expect(questionAnswer(line, { ...question, choose })).toEqual(answer);
  });

  test.each([
    ["y", { kind: "accepted", mode: "default" }],
    [" Yes ", { kind: "accepted", mode: "default" }],
    ["a", { kind: "accepted", mode: "acceptEdits" }],
    ["", { kind: "refused" }],
    ["n", { kind: "refused" }],
    ["e", { kind: "refused", words: "e" }],
    ["smaller steps", { kind: "refused", words: "smaller steps" }],
  ])("%j to a plan is %j, by the letters of its dialog", (line, answer) => {
    expect(planAnswer(line)).toEqual(answer);
  });

  test.each([
    ["1", "x"],
    ["second", "y"],
    ["y", "y"],
    ["9", undefined],
    ["", undefined],
  ])("%j chooses %j", (line, value) => {
    const choices = [
      { value: "x", label: "first" },
      { value: "y", label: "second" },
    ];
    expect(choiceAnswer(line, choices)).toBe(value);
  });

  test.each([
    ["y", "commit"],
    ["e", "edit"],
    ["", "cancel"],
    ["x", "cancel"],
  ])("%j to a preview: %s", (line, answer) => {
    expect(previewAnswer(line)).toBe(answer);
  });
});
