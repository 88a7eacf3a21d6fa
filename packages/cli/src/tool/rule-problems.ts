import { type GivenRules, othersTools, parseRules, type RuleProblem, type RuleUse } from "./permission/rule.ts";
import { toolNames } from "./toolset.ts";

/** A rule about nothing must not pass for one that does something, least of all a ban. */
export function ruleProblems(given: GivenRules): readonly RuleProblem[] {
  const { rules, problems } = parseRules(given);
  const uses: readonly RuleUse[] = ["deny", "ask", "allow"];
  const unknown = uses.flatMap((use) =>
    rules[use].flatMap((rule) =>
      rule.kind === "tool" && !isKnown(rule.name, use) ? [{ use, what: `${rule.text}: there is no such tool` }] : [],
    ),
  );
  return [...problems, ...unknown];
}

/** A ban on a tool that other agents have holds by itself here; leave for it means nothing. */
const isKnown = (name: string, use: RuleUse): boolean =>
  names.has(name) || (use !== "allow" && othersTools.has(name.toLowerCase()));

const names: ReadonlySet<string> = new Set(toolNames);
