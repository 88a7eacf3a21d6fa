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
  /** The permit of the agent that started this one: this agent is never allowed more. */
  readonly parent?: PermissionDep["permit"];
  /** Called if something is written: links may have changed since. */
  readonly guardedNow?: () => Promise<readonly string[]>;
  /** Called for each request: the sandbox may be turned on while a session is open. Absent: as `sandbox` says. */
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
    const verdict = decidePermission(now, request);
    if (parent !== undefined) return stricterVerdict(verdict, await parent(request));
    const rules = verdict.kind === "ask" ? suggestRules(now, request) : undefined;
    return rules === undefined ? verdict : { ...verdict, suggestedRules: rules };
  };
}

/** For tools that find files by themselves: false if a rule forbids showing the file or wants the user to be asked. */
export function createMayRead({ rules, ...places }: RuleRoots & { readonly rules: Rules }): (path: string) => boolean {
  const hidden = [...rules.deny, ...rules.ask].flatMap((rule) =>
    rule.kind === "path" && rule.act === "read" ? [pathMatcher(rule.pattern, { ...places, use: "deny" })] : [],
  );
  return (path) => !hidden.some((matches) => matches(path));
}

/** Which variables commands get: secrets only by an allow rule, and nothing that a deny rule names. */
export function createMayPass({ allow, deny }: Pick<Rules, "allow" | "deny">): MayPass {
  return (name, value) => !isVariableNamed(deny, name) && (!isSecret(name, value) || isVariableNamed(allow, name));
}

const isVariableNamed = (rules: readonly Rule[], name: string): boolean =>
  rules.some((rule) => rule.kind === "variable" && rule.form.test(name));

/** Reports rules that match nothing: such a rule, above all a deny rule, must not seem effective. */
export function findRuleProblems(texts: RuleTexts): readonly RuleProblem[] {
  const { rules, problems } = parseRules(texts);
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

/** Denying a tool that only other agents have is always satisfied; allowing it means nothing. */
const isKnownTool = (name: string, use: RuleUse): boolean =>
  knownToolNames.has(name) || (use !== "allow" && foreignToolNames.has(name.toLowerCase()));

const knownToolNames: ReadonlySet<string> = new Set(toolNames);
