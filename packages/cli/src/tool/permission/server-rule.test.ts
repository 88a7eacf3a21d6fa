import { expect, test } from "vitest";
import { decidePermission } from "./decide-permission.ts";
import { parseRules, type RuleUse } from "./rule.ts";

const verdict = (use: RuleUse, rule: string, name: string): string => {
  const { rules } = parseRules({ [use]: [rule] });
  const [, server = "", tool = ""] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  const request = { tool: name, input: {}, acts: [{ kind: "mcp" as const, server, tool }] };
  return decidePermission({ mode: "default", rules, roots: ["/p"], home: "/h" }, request).kind;
};

test.each<[string, string, "allowed" | "ask"]>([
  ["mcp__a", "mcp__a__go", "allowed"],
  ["MCP__A", "mcp__a__go", "allowed"],
  ["mcp__a", "mcp__ab__go", "ask"],
  ["mcp__a__go", "mcp__a__go", "allowed"],
  ["mcp__a__go", "mcp__a__gone", "ask"],
  ["mcp__a__get_*", "mcp__a__get_all", "allowed"],
  ["mcp__a__get_*", "mcp__a__forget_all", "ask"],
  ["mcp__a__*_all", "mcp__a__get_all", "allowed"],
  ["mcp__a__x.y", "mcp__a__xzy", "ask"],
  ["mcp__a__x/y:z", "mcp__a__x/y:z", "allowed"],
  ["mcp__*", "mcp__a__go", "ask"],
  ["mcp__*__go", "mcp__a__go", "ask"],
])("a permission %s for %s: %s", (rule, name, expected) => {
  expect(verdict("allow", rule, name)).toBe(expected);
});

test.each<[string, string, "denied" | "ask"]>([
  ["mcp__*", "mcp__a__go", "denied"],
  ["mcp__*__del*", "mcp__a__delete", "denied"],
  ["mcp__a*", "mcp__ab__go", "denied"],
  ["mcp__a__del*", "mcp__b__delete", "ask"],
  ["mcp__a__*__*", "mcp__a__x__y", "denied"],
])("a deny rule %s of %s: %s", (rule, name, expected) => {
  expect(verdict("deny", rule, name)).toBe(expected);
});

test.each(["mcp__", "mcp__a__", "mcp__a__go(x)", "mcp__a b"])("%s is no rule, and is told", (rule) => {
  expect(parseRules({ deny: [rule] }).problems).toHaveLength(1);
});
