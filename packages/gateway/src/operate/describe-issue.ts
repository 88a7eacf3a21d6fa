import { nearestName } from "palimpsest/internal/text/nearest-name";
import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** What is wrong with a value and where: `users[0].name: expected string, received number`. `fields`: all that there are, such as `context.recall`. */
export function describeIssue(issue: Issue, fields: readonly string[], place: Issue["path"] = []): string {
  const path = [...place, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const near = findNear(key, { fields, place: formatPath(path) });
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

/** By its name alone if it belongs to the same place, else with the place where it belongs. */
function findNear(
  key: string,
  { fields, place }: { readonly fields: readonly string[]; readonly place: string },
): string | undefined {
  const near = nearestName(key, fields.map(lastName));
  const beside = place === "" ? near : `${place}.${near}`;
  return fields.includes(beside ?? "") ? near : fields.find((field) => lastName(field) === near);
}

const lastName = (field: string): string => field.slice(field.lastIndexOf(".") + 1);

/** `users[0].name` */
const formatPath = (path: Issue["path"]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
