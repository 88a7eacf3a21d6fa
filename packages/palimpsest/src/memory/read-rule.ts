import { relative } from "node:path";
import { readFrontFields, readFrontList, splitFrontMatter } from "../text/front-matter.ts";
import { pathPattern } from "../text/path-pattern.ts";
import { ruleFrontCharsMax, rulePatternsMax } from "./limits.ts";
import { isInside } from "./instruction-files.ts";

/** A file of a `rules` folder, read. */
export interface RuleText {
  /** Without the front matter. */
  readonly body: string;
  /** When it counts. `never`: its author wants it chosen by hand or by the model. */
  readonly counts: "always" | "for-paths" | "never";
  /** Patterns of paths; empty unless it counts for paths. */
  readonly patterns: readonly string[];
}

/** `.claude/rules/*.md`: `paths` in the front matter is a pattern or a list of them; without it the rule always counts. */
export function readRule(source: string): RuleText {
  const { values, body } = readFront(source);
  const patterns = (values.get("paths") ?? []).slice(0, rulePatternsMax);
  // `**` names every file: such a rule need not wait for one.
  if (patterns.every((pattern) => pattern === "**" || pattern === "**/*"))
    return { body, counts: "always", patterns: [] };
  return { body, counts: "for-paths", patterns };
}

/** `.cursor/rules/*.mdc`: `alwaysApply`, else `globs`. */
export function readCursorRule(source: string): RuleText {
  const { values, body } = readFront(source);
  if (values.get("alwaysApply")?.[0]?.toLowerCase() === "true") return { body, counts: "always", patterns: [] };
  const patterns = (values.get("globs") ?? []).slice(0, rulePatternsMax);
  return { body, counts: patterns.length === 0 ? "never" : "for-paths", patterns };
}

/** The patterns of a rule count below its folder. A pattern without wildcards also names what lies below it. */
export function matchesRule(
  { patterns, base }: { readonly patterns: readonly string[]; readonly base: string },
  path: string,
): boolean {
  if (!isInside(path, base)) return false;
  const below = relative(base, path);
  return patterns.some((pattern) => {
    const plain = pattern.replace(/^(?:\.?\/)+/, "");
    if (plain.endsWith("/")) return pathPattern(`${plain}**`, "as-given").test(below);
    const isMatch = pathPattern(plain, "as-given").test(below);
    return isMatch || (!/[*?[{]/.test(plain) && pathPattern(`${plain}/**`, "as-given").test(below));
  });
}

interface RuleFront {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
}

/**
 * Reads keys whose value is a text, a list in brackets, texts with commas between them, or a list with one item a line.
 * Patterns are often not valid YAML (`paths: **` + `/*.ts`), so this is no YAML parser. Any other front matter is
 * removed too.
 */
function readFront(source: string): RuleFront {
  const { lines, body } = splitFrontMatter(source) ?? {};
  if (lines === undefined || body === undefined || lines.join("\n").length > ruleFrontCharsMax)
    return { values: new Map(), body: source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n") };
  return { values: new Map(readFrontFields(lines).map((field) => [field.key, readFrontList(field)])), body };
}
