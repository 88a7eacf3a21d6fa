import type { PermissionDep } from "palimpsest/internal/ports/tools";
import { decide, type Policy, stricter } from "./permission/decide.ts";
import { suggestedRules } from "./permission/suggest.ts";
import { pathMatcher, type Places, type Rule, type Rules } from "./permission/rule.ts";
import { isSecret, type MayPass } from "./shell/environment.ts";

export interface PermitOptions extends Policy {
  /** Of the agent that started this one: its answer is the most that is given. */
  readonly parent?: PermissionDep["permit"];
  /** Asked for where something is written: links may have changed since. */
  readonly guardedNow?: () => Promise<readonly string[]>;
  /** Asked for each request: while a session is open its sandbox may be turned on. Absent: as `sandbox` says. */
  readonly sandboxNow?: () => "on" | "off";
}

export function permitFor({ parent, guardedNow, sandboxNow, ...policy }: PermitOptions): PermissionDep["permit"] {
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
    const own = decide(now, request);
    if (parent !== undefined) return stricter(own, await parent(request));
    const rules = own.kind === "ask" ? suggestedRules(now, request) : undefined;
    return rules === undefined ? own : { ...own, suggestedRules: rules };
  };
}

/** For tools that find files by themselves: whether no rule forbids to show this one, or wants it asked about. */
export function mayReadFor({ rules, ...places }: Places & { readonly rules: Rules }): (path: string) => boolean {
  const hidden = [...rules.deny, ...rules.ask].flatMap((rule) =>
    rule.kind === "path" && rule.act === "read" ? [pathMatcher(rule.pattern, { ...places, use: "deny" })] : [],
  );
  return (path) => !hidden.some((matches) => matches(path));
}

/** Which variables commands have: secrets only by an allow rule, and nothing that a deny rule names. */
export function mayPassFor({ allow, deny }: Pick<Rules, "allow" | "deny">): MayPass {
  return (name, value) => !isNamed(deny, name) && (!isSecret(name, value) || isNamed(allow, name));
}

const isNamed = (rules: readonly Rule[], name: string): boolean =>
  rules.some((rule) => rule.kind === "variable" && rule.form.test(name));
