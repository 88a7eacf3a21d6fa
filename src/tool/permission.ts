import type { PermissionDep } from "../ports/tools.ts";
import { decide, type Policy, stricter } from "./permission/decide.ts";
import { pathMatcher, type Places, type Rules } from "./permission/rule.ts";

export interface PermitOptions extends Policy {
  /** Of the agent that started this one: its answer is the most that is given. */
  readonly parent?: PermissionDep["permit"];
}

export function permitFor({ parent, ...policy }: PermitOptions): PermissionDep["permit"] {
  return async (request) => {
    const own = decide(policy, request);
    return parent === undefined ? own : stricter(own, await parent(request));
  };
}

/** For tools that find files by themselves: whether no rule forbids to show this one. */
export function mayReadFor({ rules, ...places }: Places & { readonly rules: Rules }): (path: string) => boolean {
  const hidden = rules.deny.flatMap((rule) =>
    rule.kind === "path" && rule.act === "read" ? [pathMatcher(rule.pattern, { ...places, use: "deny" })] : [],
  );
  return (path) => !hidden.some((matches) => matches(path));
}
