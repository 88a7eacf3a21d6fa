import type { Workspace, AllowRulePlace } from "../../host/workspace.ts";
import type { AllowRuleDep, AllowRuleOutcome } from "palimpsest/internal/ports/tool";
import type { FlagInput } from "../../settings/flag-values.ts";
import { findRuleProblems } from "../../tool/permission/create-permit.ts";
import { type ToolChoice, memoizeByInput } from "./tool-choice.ts";

interface SessionAllowRulesInput {
  readonly engine: Pick<Workspace, "addAllowRules" | "allowRulePlace" | "settings">;
  readonly flags: readonly FlagInput[];
  /** Without what the user allows while the session is open; the same object while nothing has changed. */
  readonly choice: () => ToolChoice;
  /** What the settings allow now. */
  readonly inSettings: () => readonly string[];
}

/** What the user allows for good while the session is open. Rules in `deny` and `ask` still come first. */
export interface SessionAllowRules extends AllowRuleDep {
  readonly choice: () => ToolChoice;
  /** What was allowed so far, oldest first. */
  readonly granted: () => readonly string[];
}

/**
 * Where a rule that counts is stored. `here`: only in this session. `written`: in a settings file, but the watch has
 * not reported it yet. `seen`: the watch has reported it; if it is removed there, it no longer counts.
 */
type AllowRuleState = "here" | "written" | "seen";

export function openSessionAllowRules({
  engine,
  flags,
  choice,
  inSettings,
}: SessionAllowRulesInput): SessionAllowRules {
  let given: readonly string[] = [];
  const held = new Map<string, AllowRuleState>();
  let widened = choice;
  const widen = (): void => {
    widened = memoizeByInput(choice, (now) => {
      syncWithSettings(held, new Set(inSettings()));
      return { ...now, allow: [...now.allow, ...held.keys()] };
    });
  };
  return {
    choice: () => widened(),
    granted: () => given,
    describeProjectRule: async () => placeText(await engine.allowRulePlace()),
    allowAlways: async ({ rules, scope }) => {
      const [problem] = findRuleProblems({ allow: rules });
      if (problem !== undefined) return { kind: "wrong", why: problem.what };
      given = [...new Set([...given, ...rules])];
      for (const rule of rules) if (!held.has(rule)) held.set(rule, "here");
      widen();
      if (scope === "session") return { kind: "kept" };
      const kept = await writeAllowRules({ engine, flags }, rules);
      if (kept.kind === "kept" && kept.warning === undefined) {
        for (const rule of rules) held.set(rule, "written");
        widen();
      }
      return kept;
    },
  };
}

function syncWithSettings(held: Map<string, AllowRuleState>, now: ReadonlySet<string>): void {
  for (const [rule, state] of Array.from(held)) {
    if (state === "here") continue;
    if (now.has(rule)) held.set(rule, "seen");
    else if (state === "seen") held.delete(rule);
  }
}

const placeText = ({ path, root }: AllowRulePlace): string => `kept in ${path} for ${root}`;

/** The rules count for this session even if they can't be written. */
async function writeAllowRules(
  { engine, flags }: Pick<SessionAllowRulesInput, "engine" | "flags">,
  rules: readonly string[],
): Promise<AllowRuleOutcome> {
  const added = await engine.addAllowRules(rules);
  switch (added.kind) {
    case "added":
    case "known": {
      const { reading } = await engine.settings({ flags });
      const counting = new Set(reading.settings["permissions.allow"].value);
      const { path } = await engine.allowRulePlace();
      return rules.every((rule) => counting.has(rule))
        ? { kind: "kept" }
        : sessionOnly(`It does not count in ${path}.`);
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
