import type { ReadFile } from "./files.ts";
import type { Problem } from "./problem.ts";

/**
 * A project's files, the local one too, may come with a clone: they may forbid, and may not allow. What would widen what
 * the person allowed is left out and said.
 */
export function narrowingOnly(file: ReadFile): ReadFile {
  if (file.scope === "user") return file;
  const values = new Map(file.parsed.values);
  const problems: Problem[] = [];
  const leaveOut = (key: "permissions.allow" | "permissions.defaultMode", what: string): void => {
    values.delete(key);
    problems.push({ severity: "warning", where: file.path, key, what });
  };
  const allow = values.get("permissions.allow");
  if (Array.isArray(allow) && allow.length > 0)
    leaveOut("permissions.allow", "counts only in your own settings, not in a project's; ignored");
  const mode = values.get("permissions.defaultMode");
  if (mode !== undefined && mode !== "plan")
    leaveOut("permissions.defaultMode", "may only be plan in a project's settings; ignored");
  return { ...file, parsed: { ...file.parsed, values, problems: [...file.parsed.problems, ...problems] } };
}
