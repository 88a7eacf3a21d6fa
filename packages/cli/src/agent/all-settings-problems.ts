import { settingTable } from "palimpsest/internal/schema/setting-table";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { LoadedSettings } from "../settings/read-settings.ts";
import { findRuleProblems } from "../tool/permission/create-permit.ts";

/** Everything wrong with the settings, also rules in them that mean nothing: of what should narrow that is an error. */
export function allSettingsProblems({ problems, rulesByFile }: LoadedSettings): readonly Problem[] {
  const aboutRules = [...rulesByFile].flatMap(([where, rules]) =>
    findRuleProblems(rules).map(({ use, what }): Problem => ({
      severity: use === "allow" ? "warning" : "error",
      where,
      key: `permissions.${use}`,
      what,
    })),
  );
  return [...problems, ...aboutRules].toSorted((one, other) => one.severity.localeCompare(other.severity));
}

/**
 * Those by which something may run that a person meant to forbid: a file that can't be read at all may hold a ban, and a
 * ban that can't be read is none.
 */
export function unreadableDenyRules(reading: LoadedSettings): readonly Problem[] {
  const files = new Set(reading.files.map(({ path }) => path));
  return allSettingsProblems(reading).filter(
    ({ severity, where, key }) =>
      (severity === "error" && files.has(where) && mayHoldDenyRule(key)) || sandboxVariables.has(where),
  );
}

/** Who asks for a sandbox in a word that nobody knows must not go without one. */
const sandboxVariables: ReadonlySet<string> = new Set(
  settingTable.sandbox.environment.map((variable) => `environment ${variable}`),
);

/** Whatever stands among the permissions under a name that is none may have been meant to forbid. */
function mayHoldDenyRule(key: string): boolean {
  const inProject = /^projects\./i.test(key) ? key.toLowerCase().lastIndexOf(".permissions") : -1;
  const own = inProject === -1 ? key : key.slice(inProject + 1);
  if (own === "" || /^sandbox$/i.test(own) || /^projects(\.|$)/i.test(own)) return true;
  return /^permissions(\.|$)/i.test(own) && !/^permissions\.(allow|defaultMode)(\[|$)/i.test(own);
}
