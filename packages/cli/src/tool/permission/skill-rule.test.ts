import { expect, test } from "vitest";
import type { PermissionRequest } from "palimpsest/internal/ports/tool";
import { decidePermission } from "./decide-permission.ts";
import { parseRules } from "./rule.ts";

const places = { roots: ["/p"], home: "/home/me" };

const calls = (skill: string): PermissionRequest => ({
  tool: "skill",
  input: {},
  acts: [{ kind: "state", what: "skill", skill }],
});

test.each([
  ["Skill(release)", "release", "denied"],
  ["Skill(release)", "Release", "denied"],
  ["Skill(release)", "release-notes", "allowed"],
  ["Skill(release-*)", "release-notes", "denied"],
  ["Skill(release:*)", "release", "denied"],
  ["Skill(release *)", "release", "denied"],
  ["Skill", "anything", "denied"],
  ["Skill(re.ease)", "release", "allowed"],
])("the deny rule %s and a call for the skill %s: %s", (rule, skill, kind) => {
  const { rules, problems } = parseRules({ deny: [rule] });
  expect(problems).toEqual([]);
  expect(decidePermission({ ...places, rules, mode: "default" }, calls(skill)).kind).toBe(kind);
});

test.each([
  ["BashOutput", "bash_output"],
  ["KillShell", "bash_kill"],
])("a deny rule on %s is one on %s", (rule, tool) => {
  const { rules } = parseRules({ deny: [rule] });
  expect(decidePermission({ ...places, rules, mode: "default" }, { tool, input: {}, acts: [] }).kind).toBe("denied");
});
