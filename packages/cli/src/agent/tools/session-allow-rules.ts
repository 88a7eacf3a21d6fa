import type { Workspace, AllowRulePlace } from "../../host/workspace.ts";
import type { AllowRuleDep, AllowRuleOutcome } from "palimpsest/internal/ports/tool";
import type { FlagInput } from "../../settings/flag-values.ts";
import { findRuleProblems } from "../../tool/permission/create-permit.ts";
import { type PermissionChoice, memoizeByInput } from "./permission-choice.ts";

interface SessionAllowRulesInput {
  readonly workspace: Pick<Workspace, "addAllowRules" | "allowRulePlace" | "settings">;
  readonly flags: readonly FlagInput[];
  /** Without what the user allows while the session is open; the same object while nothing has changed. */
  readonly choice: () => PermissionChoice;
  /** What the settings allow now. */
  readonly inSettings: () => readonly string[];
}

/** What the user allows for good while the session is open. Rules in `deny` and `ask` still come first. */
export interface SessionAllowRules extends AllowRuleDep {
  readonly choice: () => PermissionChoice;
  /** What was allowed so far, oldest first. */
  readonly granted: () => readonly string[];
}

/**
 * Where a rule that counts is stored. `here`: only in this session. `written`: in a settings file, but the watch has
 * not reported it yet. `seen`: the watch has reported it; if it is removed there, it no longer counts.
 */
type AllowRuleState = "here" | "written" | "seen";

export function openSessionAllowRules({
  workspace,
  flags,
  choice,
  inSettings,
}: SessionAllowRulesInput): SessionAllowRules {
  let granted: readonly string[] = [];
  const stateByRule = new Map<string, AllowRuleState>();
  let widened = choice;
  const widen = (): void => {
    widened = memoizeByInput(choice, (now) => {
      syncWithSettings(stateByRule, new Set(inSettings()));
      return { ...now, allow: [...now.allow, ...stateByRule.keys()] };
    });
  };
  return {
    choice: () => widened(),
    granted: () => granted,
    describeProjectRule: async () => placeText(await workspace.allowRulePlace()),
    allowAlways: async ({ rules, scope }) => {
      const [problem] = findRuleProblems({ allow: rules });
      if (problem !== undefined) return { kind: "wrong", why: problem.what };
      granted = [...new Set([...granted, ...rules])];
      for (const rule of rules) if (!stateByRule.has(rule)) stateByRule.set(rule, "here");
      widen();
      if (scope === "session") return { kind: "kept" };
      const outcome = await writeAllowRules({ workspace, flags }, rules);
      if (outcome.kind === "kept" && outcome.warning === undefined) {
        for (const rule of rules) stateByRule.set(rule, "written");
        widen();
      }
      return outcome;
    },
  };
}

/**
 * What the user allows an agent in a worktree. Its rules name paths from there, and would name the project's own files if
 * they counted for its parent: so they count for this agent and those that it starts, and are not saved.
 */
export function openAgentAllowRules(choice: () => PermissionChoice): Pick<SessionAllowRules, "choice" | "allowAlways"> {
  const granted = new Set<string>();
  let widened = choice;
  return {
    choice: () => widened(),
    allowAlways: async ({ rules }) => {
      const [problem] = findRuleProblems({ allow: rules });
      if (problem !== undefined) return { kind: "wrong", why: problem.what };
      for (const rule of rules) granted.add(rule);
      widened = memoizeByInput(choice, (now) => ({ ...now, allow: [...now.allow, ...granted] }));
      return { kind: "kept" };
    },
  };
}

function syncWithSettings(stateByRule: Map<string, AllowRuleState>, now: ReadonlySet<string>): void {
  for (const [rule, state] of Array.from(stateByRule)) {
    if (state === "here") continue;
    if (now.has(rule)) stateByRule.set(rule, "seen");
    else if (state === "seen") stateByRule.delete(rule);
  }
}

const placeText = ({ path, root }: AllowRulePlace): string => `kept in ${path} for ${root}`;

/** The rules count for this session even if they can't be written. */
async function writeAllowRules(
  { workspace, flags }: Pick<SessionAllowRulesInput, "workspace" | "flags">,
  rules: readonly string[],
): Promise<AllowRuleOutcome> {
  const added = await workspace.addAllowRules(rules);
  switch (added.kind) {
    case "added":
    case "known": {
      const { reading } = await workspace.settings({ flags });
      const allowed = new Set(reading.settings["permissions.allow"].value);
      const { path } = await workspace.allowRulePlace();
      return rules.every((rule) => allowed.has(rule)) ? { kind: "kept" } : sessionOnly(`It does not count in ${path}.`);
    }
    case "refused":
      return sessionOnly(added.why);
    case "failed":
      return sessionOnly(added.message);
  }
}

const sessionOnly = (why: string): AllowRuleOutcome => ({
  kind: "kept",
  warning: `What you allowed counts only while this session is open. ${why}`,
});
