import { describe, expect, it } from "vitest";
import { answers, assistantSays, calls, requestOf, tool, userSays } from "../../../../test/fixture/scene.ts";
import { compileCondition } from "./compile-scenario.ts";
import { patternProblem, type ConditionForm } from "./scenario-form.ts";

const request = requestOf(
  [
    userSays("Fix the bug"),
    assistantSays("Reading first.", calls("t1", "read", { path: "a" })),
    answers("t1", "FAIL in a"),
    assistantSays(calls("t2", "bash", { command: "b" })),
    answers("t2", "all green"),
  ],
  { system: "You are a careful engineer.", tools: [tool("read"), tool("bash"), tool("edit")] },
);

describe("a condition holds", () => {
  it.each<[ConditionForm, boolean]>([
    [{ lastUser: "fix THE" }, true],
    [{ lastUser: "FAIL" }, false],
    [{ lastUser: "/^fix/" }, false],
    [{ lastUser: "/^fix/i" }, true],
    [{ anyText: "reading first" }, true],
    [{ anyText: "FAIL" }, true],
    [{ anyText: "careful" }, false],
    [{ system: "careful" }, true],
    [{ result: "green" }, true],
    [{ result: "FAIL" }, false],
    [{ tool: "edit" }, true],
    [{ tool: "edi" }, false],
    [{ called: "bash" }, true],
    [{ called: "edit" }, false],
    [{ turns: { atLeast: 2 } }, true],
    [{ turns: { atLeast: 3 } }, false],
    [{ turns: { atMost: 2 } }, true],
    [{ turns: { atMost: 1 } }, false],
    [{ tool: "edit", called: "edit" }, false],
    [{ not: { called: "edit" } }, true],
    [{ all: [{ tool: "edit" }, { called: "bash" }] }, true],
    [{ all: [{ tool: "edit" }, { called: "edit" }] }, false],
    [{ any: [{ called: "edit" }, { called: "bash" }] }, true],
    [{ any: [{ called: "edit" }, { called: "write" }] }, false],
  ])("%o: %s", (form, expected) => {
    expect(compileCondition(form)(request)).toBe(expected);
  });

  it("the same way every time, though the expression is global", () => {
    const holds = compileCondition({ lastUser: "/fix/gi" });
    expect([holds(request), holds(request), holds(request)]).toEqual([true, true, true]);
  });
});

it("a text that only begins like an expression is a text", () => {
  expect(patternProblem("/usr/bin/node")).toBeUndefined();
  expect(patternProblem("/(/")).toMatch(/regular expression/);
});
