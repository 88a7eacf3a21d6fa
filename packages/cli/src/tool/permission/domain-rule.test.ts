import { expect, test } from "vitest";
import { decidePermission, type PermissionMode } from "./decide-permission.ts";
import { type RuleTexts, parseRules } from "./rule.ts";

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
