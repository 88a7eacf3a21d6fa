import type { PermissionDep } from "palimpsest/internal/ports/tool";
import { decidePermission, type Policy, stricterVerdict } from "./decide-permission.ts";
import { suggestRules } from "./suggest-rules.ts";
import {
  pathMatcher,
  type RuleRoots,
  type Rule,
  type Rules,
  type RuleTexts,
  foreignToolNames,
  parseRules,
  type RuleProblem,
  type RuleUse,
} from "./rule.ts";
import { isSecret, type MayPass } from "../shell/shell-environment.ts";
import { toolNames } from "../builtin-tools.ts";

export interface PermitOptions extends Policy {
  /** Of the agent that started this one: its answer is the most that is given. */
  readonly parent?: PermissionDep["permit"];
  /** Asked for where something is written: links may have changed since. */
  readonly guardedNow?: () => Promise<readonly string[]>;
  /** Asked for each request: while a session is open its sandbox may be turned on. Absent: as `sandbox` says. */
  readonly sandboxNow?: () => "on" | "off";
}

export function createPermit({ parent, guardedNow, sandboxNow, ...policy }: PermitOptions): PermissionDep["permit"] {
  return async (request) => {
    const isWriting = request.acts.some(
      (act) => act.kind === "write" || (act.kind === "shell" && act.effect === "unknown"),
    );
    const guarded = isWriting && guardedNow !== undefined ? await guardedNow() : policy.guarded;
    const sandbox = sandboxNow?.() ?? policy.sandbox;
    const now = {
      ...policy,
      ...(guarded === undefined ? {} : { guarded }),
      ...(sandbox === undefined ? {} : { sandbox }),
    };
    const own = decidePermission(now, request);
    if (parent !== undefined) return stricterVerdict(own, await parent(request));
    const rules = own.kind === "ask" ? suggestRules(now, request) : undefined;
    return rules === undefined ? own : { ...own, suggestedRules: rules };
  };
}

/** For tools that find files by themselves: whether no rule forbids to show this one, or wants it asked about. */
export function createMayRead({ rules, ...places }: RuleRoots & { readonly rules: Rules }): (path: string) => boolean {
  const hidden = [...rules.deny, ...rules.ask].flatMap((rule) =>
    rule.kind === "path" && rule.act === "read" ? [pathMatcher(rule.pattern, { ...places, use: "deny" })] : [],
  );
  return (path) => !hidden.some((matches) => matches(path));
}

/** Which variables commands have: secrets only by an allow rule, and nothing that a deny rule names. */
export function createMayPass({ allow, deny }: Pick<Rules, "allow" | "deny">): MayPass {
  return (name, value) => !isVariableNamed(deny, name) && (!isSecret(name, value) || isVariableNamed(allow, name));
}

const isVariableNamed = (rules: readonly Rule[], name: string): boolean =>
  rules.some((rule) => rule.kind === "variable" && rule.form.test(name));

/** A rule about nothing must not pass for one that does something, least of all a ban. */
export function findRuleProblems(given: RuleTexts): readonly RuleProblem[] {
  const { rules, problems } = parseRules(given);
  const uses: readonly RuleUse[] = ["deny", "ask", "allow"];
  const unknown = uses.flatMap((use) =>
    rules[use].flatMap((rule) =>
      rule.kind === "tool" && !isKnownTool(rule.name, use)
        ? [{ use, what: `${rule.text}: there is no such tool` }]
        : [],
    ),
  );
  return [...problems, ...unknown];
}

/** A ban on a tool that other agents have holds by itself here; leave for it means nothing. */
const isKnownTool = (name: string, use: RuleUse): boolean =>
  knownToolNames.has(name) || (use !== "allow" && foreignToolNames.has(name.toLowerCase()));

const knownToolNames: ReadonlySet<string> = new Set(toolNames);
