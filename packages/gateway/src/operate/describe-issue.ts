import { nearestName } from "palimpsest/internal/text/nearest-name";
import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** What is wrong with a value and where: `users[0].name: expected string, received number`. */
export function describeIssue(issue: Issue, fields: readonly string[], place: Issue["path"] = []): string {
  const path = [...place, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const near = nearestName(key, fields);
    return `${formatPath([...path, key])}: there is no such field${near === undefined ? "" : `; did you mean ${near}?`}`;
  }
  if (issue.code === "invalid_union") {
    // The form that the value came nearest to, which says more than that it is none of them.
    const inner = issue.errors.flat().find((one) => one.path.length > 0);
    if (inner !== undefined) return describeIssue(inner, fields, path);
  }
  const message = issue.message.replace(/^(?:Invalid (?:input|option|string)|Too (?:big|small)): /, "");
  return path.length === 0 ? message : `${formatPath(path)}: ${message}`;
}

/** `users[0].name` */
const formatPath = (path: Issue["path"]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
