import { settingTable } from "palimpsest/internal/schema/setting-table";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { LoadedSettings } from "../settings/read-settings.ts";
import { findRuleProblems } from "../tool/permission/create-permit.ts";

/**
 * All problems of the settings, including invalid rules. An invalid deny or ask rule is an error, an invalid allow rule
 * a warning.
 */
export function allSettingsProblems({ problems, rulesByFile }: LoadedSettings): readonly Problem[] {
  const ruleProblems = [...rulesByFile].flatMap(([where, rules]) =>
    findRuleProblems(rules).map(({ use, what }): Problem => ({
      severity: use === "allow" ? "warning" : "error",
      where,
      key: `permissions.${use}`,
      what,
    })),
  );
  return [...problems, ...ruleProblems].toSorted((one, other) => one.severity.localeCompare(other.severity));
}

/**
 * Problems by which something may run that the user meant to forbid: an unreadable file may hold a deny rule, and an
 * unreadable deny rule forbids nothing.
 */
export function unreadableDenyRules(reading: LoadedSettings): readonly Problem[] {
  const files = new Set(reading.files.map(({ path }) => path));
  return allSettingsProblems(reading).filter(
    ({ severity, where, key }) =>
      (severity === "error" && files.has(where) && mayHoldDenyRule(key)) || sandboxVariables.has(where),
  );
}

/** A user who asks for a sandbox with an unknown word must not run without one. */
const sandboxVariables: ReadonlySet<string> = new Set(
  settingTable.sandbox.environment.map((variable) => `environment ${variable}`),
);

/** An unknown name among the permissions may have been meant to forbid something. */
function mayHoldDenyRule(key: string): boolean {
  const inProject = /^projects\./i.test(key) ? key.toLowerCase().lastIndexOf(".permissions") : -1;
  const setting = inProject === -1 ? key : key.slice(inProject + 1);
  if (setting === "" || /^sandbox$/i.test(setting) || /^projects(\.|$)/i.test(setting)) return true;
  return /^permissions(\.|$)/i.test(setting) && !/^permissions\.(allow|defaultMode)(\[|$)/i.test(setting);
}
