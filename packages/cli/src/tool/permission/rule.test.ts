import { describe, expect, test } from "vitest";
import { decidePermission, type PermissionMode } from "./decide-permission.ts";
import { type RuleTexts, parseRules, type RuleUse } from "./rule.ts";
import type { PermissionRequest } from "palimpsest/internal/ports/tool";

function verdict(given: RuleTexts, url: string, mode: PermissionMode = "default") {
  const { rules, problems } = parseRules(given);
  expect(problems).toEqual([]);
  const act = { kind: "fetch", url, host: new URL(url).hostname.replace(/\.$/, "") } as const;
  return decidePermission({ roots: ["/p"], home: "/h", rules, mode }, { tool: "web_fetch", input: {}, acts: [act] })
    .kind;
}

test.each([
  ["default", "ask"],
  ["acceptEdits", "ask"],
  ["plan", "ask"],
  ["bypass", "allowed"],
] as const)("a fetch in mode %s: %s", (mode, expected) => {
  expect(verdict({}, "https://a.org/", mode)).toBe(expected);
});

test.each<[RuleTexts, string, string]>([
  [{ allow: ["WebFetch(domain:a.org)"] }, "https://a.org/x?y", "allowed"],
  [{ allow: ["WebFetch(domain:A.org.)"] }, "https://a.ORG:8443/", "allowed"],
  [{ allow: ["web_fetch(domain:a.org)"] }, "https://a.org./", "allowed"],
  [{ allow: ["WebFetch(domain:a.org)"] }, "https://b.a.org/", "ask"],
  [{ allow: ["WebFetch(domain:a.org)"] }, "https://xa.org/", "ask"],
  [{ allow: ["WebFetch(domain:a.org)"] }, "https://a.org.evil.com/", "ask"],
  [{ allow: ["WebFetch(domain:*.a.org)"] }, "https://b.a.org/", "allowed"],
  [{ allow: ["WebFetch(domain:*.a.org)"] }, "https://a.org/", "ask"],
  [{ allow: ["WebFetch(domain:bücher.de)"] }, "https://xn--bcher-kva.de/", "allowed"],
  [{ allow: ["WebFetch"] }, "https://any.org/", "allowed"],
  [{ allow: ["web_fetch"] }, "https://any.org/", "allowed"],
  [{ allow: ["WebFetch"], deny: ["WebFetch(domain:a.org)"] }, "https://b.a.org/", "denied"],
  [{ allow: ["WebFetch"], deny: ["WebFetch(domain:a.org)"] }, "https://ba.org/", "allowed"],
  [{ allow: ["WebFetch(domain:a.org)"], ask: ["WebFetch"] }, "https://a.org/", "ask"],
  [{ deny: ["WebFetch(whatever)"] }, "https://a.org/", "denied"],
])("%j on %s: %s", (given, url, expected) => {
  expect(verdict(given, url)).toBe(expected);
});

test("a deny rule on a host holds in every mode", () => {
  expect(verdict({ deny: ["WebFetch(domain:a.org)"] }, "https://a.org/", "bypass")).toBe("denied");
});

test.each(["WebFetch(a.org)", "WebFetch(domain:)", "WebFetch(domain:a.org/x)", "WebFetch(domain:a*.org)"])(
  "%s allows nothing, and that is told",
  (rule) => {
    const { rules, problems } = parseRules({ allow: [rule] });
    expect([rules.allow, problems.length]).toEqual([[], 1]);
  },
);

describe("server rule", () => {
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
});

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
