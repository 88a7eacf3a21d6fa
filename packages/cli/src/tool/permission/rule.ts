import { isInside } from "../resolve-real-path.ts";
import { pathPattern } from "palimpsest/internal/text/path-pattern";

/**
 * A rule as users write it: `Bash(git status:*)`, `Edit(src/**)`, `Read(~/.ssh/**)`, `WebFetch(domain:example.org)`,
 * `mcp__server`, `mcp__server__get_*`, `Skill(release)`, `Env(GITHUB_TOKEN)`, `Grep`. Tool names are case-insensitive.
 * `Edit` and `Write` cover every change of a file, `Read` every read.
 */
export type Rule =
  | { readonly kind: "tool"; readonly text: string; readonly name: string }
  /** A tool of a tool server: its full name, or a pattern with `*`. */
  | { readonly kind: "server-tool"; readonly text: string; readonly form: RegExp }
  /** `Skill(release)`, `Skill(release-*)`: calls of skills with these names. */
  | { readonly kind: "skill"; readonly text: string; readonly form: RegExp }
  /** `Env(CI_*)`: variables with these names, in the environment of commands. */
  | { readonly kind: "variable"; readonly text: string; readonly form: RegExp }
  | {
      readonly kind: "path";
      readonly text: string;
      readonly act: "read" | "write";
      readonly pattern: string | undefined;
    }
  | { readonly kind: "shell"; readonly text: string; readonly pattern: ShellPattern }
  /** `WebFetch(domain:example.org)`; undefined: every host. */
  | { readonly kind: "fetch"; readonly text: string; readonly domain: DomainPattern | undefined };

export type ShellPattern =
  | { readonly kind: "any" }
  /** `git status:*`: these words, then any others. */
  | { readonly kind: "starts"; readonly words: readonly string[] }
  /** `program`: its first word; undefined if that is itself a pattern. */
  | { readonly kind: "like"; readonly form: RegExp; readonly program: string | undefined };

export type RuleUse = "allow" | "ask" | "deny";

/** `deny` beats `ask`, and `ask` beats `allow`. */
export type Rules = { readonly [Use in RuleUse]: readonly Rule[] };

/** As users write them. */
export type RuleTexts = { readonly [Use in RuleUse]?: readonly string[] };

export interface RuleProblem {
  readonly use: RuleUse;
  /** Begins with the rule as written. */
  readonly what: string;
}

type ParsedRules = { readonly rules: Rules; readonly problems: readonly RuleProblem[] };

/** A rule that can't be parsed is reported, never guessed. */
export function parseRules(texts: RuleTexts): ParsedRules {
  const problems: RuleProblem[] = [];
  const parseUse = (use: RuleUse): readonly Rule[] =>
    (texts[use] ?? []).flatMap((text) => {
      const rule = parseRule(text.trim(), use);
      if (rule !== undefined) return [rule];
      problems.push({
        use,
        what: `${text}: not a rule; write a tool's name, or Bash(…), Read(…), Edit(…), WebFetch(domain:…) or Env(…)`,
      });
      return [];
    });
  return { rules: { allow: parseUse("allow"), ask: parseUse("ask"), deny: parseUse("deny") }, problems };
}

const actByTool: ReadonlyMap<string, "read" | "write"> = new Map([
  ["read", "read"],
  ["edit", "write"],
  ["write", "write"],
  ["multiedit", "write"],
]);

/**
 * Tools of other agents, whose rules users bring along. We don't have these tools, so brackets in a deny rule don't
 * matter: it is treated as denying the whole tool.
 */
export const foreignToolNames: ReadonlySet<string> = new Set([
  "agent",
  "ls",
  "multiedit",
  "notebookedit",
  "notebookread",
  "slashcommand",
  "task",
  "websearch",
]);

/** Other agents' names for tools that we have too. */
const ownNameByAlias: ReadonlyMap<string, string> = new Map([
  ["bashoutput", "bash_output"],
  ["killbash", "bash_kill"],
  ["killshell", "bash_kill"],
]);

function parseRule(text: string, use: RuleUse): Rule | undefined {
  if (/^mcp__/i.test(text)) return serverToolRule(text, use);
  const [, name = "", inner] = /^([\w-]+)(?:\((.*)\))?$/s.exec(text) ?? [];
  if (name === "") return undefined;
  const tool = ownNameByAlias.get(name.toLowerCase()) ?? name.toLowerCase();
  const pattern = inner === undefined || inner === "" || inner === "*" ? undefined : inner;
  const act = actByTool.get(tool);
  if (act !== undefined) return { kind: "path", text, act, pattern };
  if (tool === "webfetch" || tool === "web_fetch") return fetchRule({ text, pattern, use });
  if (tool === "bash") return { kind: "shell", text, pattern: shellPattern(pattern) };
  if (tool === "env") return variableRule({ text, pattern: inner, use });
  if (tool === "skill" && pattern !== undefined) return skillRule(text, pattern);
  const isWhole = pattern === undefined || (use !== "allow" && foreignToolNames.has(tool));
  return isWhole ? { kind: "tool", text, name: tool } : undefined;
}

/**
 * `mcp__server` covers all of its tools, like `mcp__server__*`. An allow rule must name its server: `mcp__*` would
 * allow servers that are not known yet.
 */
function serverToolRule(text: string, use: RuleUse): Rule | undefined {
  const [, server = "", tool] = /^mcp__([a-z\d*-]+(?:_[a-z\d*-]+)*)(?:__([^\s()]+))?(?:\(\*?\))?$/i.exec(text) ?? [];
  if (server === "" || (use === "allow" && server.includes("*"))) return undefined;
  const form = `^mcp__${replaceStars(server, "[a-z0-9_-]*")}__${replaceStars(tool ?? "*", ".*")}$`;
  return { kind: "server-tool", text, form: new RegExp(form, "isu") };
}

/** `Skill(release:*)` and `Skill(release *)` refer to its arguments, which don't matter here. */
function skillRule(text: string, pattern: string): Rule {
  const name = pattern.replace(/(?::| )\*$/, "").trim();
  return { kind: "skill", text, form: new RegExp(`^${replaceStars(name, ".*")}$`, "isu") };
}

/**
 * A deny rule ignores case. An allow rule matches exactly and must contain some letters: a rule for everything would
 * pass secrets that the user has not thought of. There is no ask rule, because a command can't ask for a variable.
 */
function variableRule({ text, pattern = "", use }: RuleInput): Rule | undefined {
  if (use === "ask" || !/^[\w*]+$/.test(pattern) || (use === "allow" && !/\w/.test(pattern))) return undefined;
  return {
    kind: "variable",
    text,
    form: new RegExp(`^${replaceStars(pattern, ".*")}$`, use === "deny" ? "isu" : "su"),
  };
}

const replaceStars = (pattern: string, any: string): string =>
  pattern
    .split("*")
    .map((part) => RegExp.escape(part))
    .join(any);

interface RuleInput {
  readonly text: string;
  readonly pattern: string | undefined;
  readonly use: RuleUse;
}

/** A deny rule with an unknown condition applies to every host. */
function fetchRule({ text, pattern, use }: RuleInput): Rule | undefined {
  if (pattern === undefined) return { kind: "fetch", text, domain: undefined };
  const domain = parseDomainPattern(pattern);
  return domain === undefined && use === "allow" ? undefined : { kind: "fetch", text, domain };
}

function shellPattern(pattern: string | undefined): ShellPattern {
  if (pattern === undefined) return { kind: "any" };
  const start = /^(.*?)(?::| )\*$/s.exec(pattern)?.[1];
  if (start !== undefined && !start.includes("*")) return { kind: "starts", words: start.split(/\s+/).filter(Boolean) };
  const words = pattern.split(/\s+/).filter(Boolean).join(" ");
  const source = words.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\/]/g, String.raw`\$&`));
  const [program = ""] = words.split(" ");
  return {
    kind: "like",
    form: new RegExp(`^${source.join(".*")}$`, "su"),
    program: program.includes("*") ? undefined : program,
  };
}

export interface RuleRoots {
  /** Real paths; the project's own folder first. */
  readonly roots: readonly string[];
  readonly home: string;
}

interface MatcherInput extends RuleRoots {
  readonly use: RuleUse;
}

/**
 * `//x`: from the root of the file system. `~/x`: from home. `/x` and `a/b`: from the project's folder. `x`: that name
 * in any folder of the project. A rule also covers everything below what it names.
 */
export function pathMatcher(pattern: string | undefined, places: MatcherInput): (path: string) => boolean {
  if (pattern === undefined) return () => true;
  // A deny or ask rule ignores case and applies in every root; an allow rule means exactly what it says.
  const caseMode = places.use === "allow" ? "as-given" : "any-case";
  const roots = places.use === "allow" ? places.roots.slice(0, 1) : places.roots;
  const forms = absolutePatterns(pattern.normalize("NFC"), { roots, home: places.home }).flatMap((absolute) =>
    [absolute, `${absolute}/**`].map((one) => pathPattern(one, caseMode)),
  );
  return (path) => forms.some((form) => form.test(path.normalize("NFC")));
}

/**
 * Whether changing a whole folder affects a rule's files: `some`, if the rule certainly names files in it; `perhaps`,
 * if only a check of every name in it could tell.
 */
export function createReachCheck(
  pattern: string | undefined,
  places: RuleRoots,
): (folder: string) => "some" | "perhaps" | undefined {
  const fixed = absolutePatterns(pattern ?? "**", places).map((one) => literalPrefix(normalizeSpelling(one)));
  return (folder) => {
    const path = normalizeSpelling(folder);
    if (fixed.some(({ part, isWhole }) => isWhole && isInside(part, path))) return "some";
    return fixed.some(({ part }) => isInside(path, part) || isInside(part, path)) ? "perhaps" : undefined;
  };
}

const normalizeSpelling = (path: string): string => path.normalize("NFC").toLowerCase();

interface LiteralPrefix {
  readonly part: string;
  /** The pattern covers this path and everything below it. */
  readonly isWhole: boolean;
}

/** The path of a pattern up to its first wildcard name. */
function literalPrefix(pattern: string): LiteralPrefix {
  const names = pattern.split("/");
  const first = names.findIndex((name) => /[*?[{]/.test(name));
  const fixed = first === -1 ? names : names.slice(0, first);
  const rest = names.slice(fixed.length);
  return { part: fixed.join("/") || "/", isWhole: rest.every((name) => name === "**" || name === "*") };
}

const absolutePatterns = (pattern: string, places: RuleRoots): readonly string[] =>
  rootPatterns(pattern, places).map(({ folder, below }) => escapePattern(folder === "/" ? "" : folder) + below);

interface RootedPattern {
  /** A literal path; the pattern begins below it. */
  readonly folder: string;
  /** Begins with a slash; empty for the folder itself. */
  readonly below: string;
}

export function rootPatterns(pattern: string, { roots, home }: RuleRoots): readonly RootedPattern[] {
  const trimmed = pattern.replace(/\/+$/, "");
  if (trimmed.startsWith("//")) return [{ folder: "/", below: trimmed.slice(1) }];
  if (trimmed === "~" || trimmed.startsWith("~/")) return [{ folder: home, below: trimmed.slice(1) }];
  const below = trimmed.replace(/^\.?\//, "");
  const anywhere = !trimmed.includes("/");
  return roots.map((root) => ({ folder: root, below: `/${anywhere ? "**/" : ""}${below}` }));
}

/** Escapes a folder's path, so that no character in it acts as a pattern. */
export const escapePattern = (path: string): string => path.replaceAll(/[*?[{},\]]/g, "[$&]");

interface DomainPattern {
  /** As in a URL: lower case, punycode, no trailing dot. */
  readonly host: string;
  /** `*.example.org`: its subdomains, not the domain itself. */
  readonly reach: "itself" | "below";
}

/** Parses `domain:example.org` or `domain:*.example.org`; undefined if it is neither. */
function parseDomainPattern(written: string): DomainPattern | undefined {
  const [, below, name = ""] = /^domain:\s*(\*\.)?([^\s*/?#@\\]+)$/.exec(written) ?? [];
  const host = parseHost(`http://${name}`);
  return name === "" || host === undefined ? undefined : { host, reach: below === undefined ? "itself" : "below" };
}

/** The normalised host of a URL; undefined if it is not a URL. */
export function parseHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/\.$/, "");
  return host === "" ? undefined : host;
}

/** An allow rule covers exactly what it names; deny and ask rules also cover subdomains. */
export function matchesDomain(
  host: string,
  { domain, use }: { readonly domain: DomainPattern; readonly use: "allow" | "ask" | "deny" },
): boolean {
  const isBelow = host.endsWith(`.${domain.host}`);
  return domain.reach === "below" ? isBelow : host === domain.host || (use !== "allow" && isBelow);
}
