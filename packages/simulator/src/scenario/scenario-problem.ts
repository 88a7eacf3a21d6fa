import type { z } from "zod";

/** Something in a scenario that is wrong. */
export interface ScenarioProblem {
  readonly file: string;
  /** Counted from 1; absent for a module, which has no lines left once it runs. */
  readonly line?: number;
  readonly column?: number;
  /** Place in the scenario: `moves[2].tools[0].name`; empty if the problem is about the whole. */
  readonly path: string;
  /** A clause whose subject is the place, with what is allowed there. */
  readonly what: string;
}

export function formatScenarioProblem({ file, line, column, path, what }: ScenarioProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return path === "" ? `${place}: ${what}` : `${place}: ${path}: ${what}`;
}

/** Keys and indices from the top of the scenario down. */
export type Place = readonly PropertyKey[];

/** A problem before its file is known. */
export interface Flaw {
  readonly at: Place;
  readonly what: string;
}

export const formatPath = (at: Place): string =>
  at
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");

/** For values that were parsed with `reportInput`, which tells missing from wrong. */
export const collectFlaws = (issues: readonly z.core.$ZodIssue[], above: Place = []): readonly Flaw[] =>
  issues.flatMap((issue) => {
    const at = [...above, ...issue.path];
    switch (issue.code) {
      case "unrecognized_keys":
        return issue.keys.map((key) => ({ at: [...at, key], what: issue.message }));
      case "invalid_union":
        return unionFlaws(issue, at);
      default:
        return [{ at, what: issue.input === undefined ? `is missing; ${describeIssue(issue)}` : describeIssue(issue) }];
    }
  });

/** Of the forms that a value could have, the one that fits furthest is taken as the intended one. */
function unionFlaws(issue: z.core.$ZodIssueInvalidUnion, at: Place): readonly Flaw[] {
  const inner = issue.errors.map((issues) => collectFlaws(issues, at));
  const deepest = inner.toSorted((one, other) => flawDepth(other) - flawDepth(one))[0] ?? [];
  return flawDepth(deepest) > at.length ? deepest : [{ at, what: issue.message }];
}

const flawDepth = (flaws: readonly Flaw[]): number => Math.max(0, ...flaws.map(({ at }) => at.length));

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "object" ? issue.message : `expected ${nameByType[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `expected one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "expected a text that is not empty";
      return issue.origin === "array" ? "expected a list that is not empty" : `expected a number from ${issue.minimum}`;
    case "too_big":
      return `expected a number up to ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const nameByType: Readonly<Record<string, string>> = {
  string: "a text",
  int: "a whole number",
  number: "a number",
  array: "a list",
  record: "fields with values",
  boolean: "true or false",
};
