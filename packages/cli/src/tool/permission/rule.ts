import { isInside } from "../resolve-real-path.ts";
import { pathPattern } from "../path-pattern.ts";

/**
 * A rule as people write it: `Bash(git status:*)`, `Edit(src/**)`, `Read(~/.ssh/**)`, `WebFetch(domain:example.org)`,
 * `mcp__server`, `mcp__server__get_*`, `Skill(release)`, `Env(GITHUB_TOKEN)`, `Grep`.
 * Names of tools are taken in any case. `Edit` and `Write` are about every change of a file, `Read` about every read.
 */
export type Rule =
  | { readonly kind: "tool"; readonly text: string; readonly name: string }
  /** A tool of a server of tools: by its whole name, or by one with `*` for any letters. */
  | { readonly kind: "server-tool"; readonly text: string; readonly form: RegExp }
  /** `Skill(release)`, `Skill(release-*)`: calls for skills of such names. */
  | { readonly kind: "skill"; readonly text: string; readonly form: RegExp }
  /** `Env(CI_*)`: variables of such names, in the environment of commands. */
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
  /** `program`: its first word; undefined where that is a pattern itself. */
  | { readonly kind: "like"; readonly form: RegExp; readonly program: string | undefined };

export type RuleUse = "allow" | "ask" | "deny";

/** `deny` beats `ask`, and `ask` beats `allow`. */
export type Rules = { readonly [Use in RuleUse]: readonly Rule[] };

/** As people write them. */
export type RuleTexts = { readonly [Use in RuleUse]?: readonly string[] };

export interface RuleProblem {
  readonly use: RuleUse;
  /** Begins with the rule as it is written. */
  readonly what: string;
}

type ParsedRules = { readonly rules: Rules; readonly problems: readonly RuleProblem[] };

/** A rule that can't be read is told, never guessed at. */
export function parseRules(given: RuleTexts): ParsedRules {
  const problems: RuleProblem[] = [];
  const parsed = (use: RuleUse): readonly Rule[] =>
    (given[use] ?? []).flatMap((text) => {
      const rule = parseRule(text.trim(), use);
      if (rule !== undefined) return [rule];
      problems.push({
        use,
        what: `${text}: not a rule; write a tool's name, or Bash(…), Read(…), Edit(…), WebFetch(domain:…) or Env(…)`,
      });
      return [];
    });
  return { rules: { allow: parsed("allow"), ask: parsed("ask"), deny: parsed("deny") }, problems };
}

const actByTool: ReadonlyMap<string, "read" | "write"> = new Map([
  ["read", "read"],
  ["edit", "write"],
  ["write", "write"],
  ["multiedit", "write"],
]);

/**
 * Tools of agents whose rules people bring along. None of them is here, so what a rule says of them in brackets narrows
 * nothing: a ban on all of it is as good.
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

/** As other agents call tools that are here too. */
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
 * `mcp__server` is every tool of it, as `mcp__server__*` is. A leave names its server: one for `mcp__*` would be for
 * servers that nobody knows yet.
 */
function serverToolRule(text: string, use: RuleUse): Rule | undefined {
  const [, server = "", tool] = /^mcp__([a-z\d*-]+(?:_[a-z\d*-]+)*)(?:__([^\s()]+))?(?:\(\*?\))?$/i.exec(text) ?? [];
  if (server === "" || (use === "allow" && server.includes("*"))) return undefined;
  const form = `^mcp__${replaceStars(server, "[a-z0-9_-]*")}__${replaceStars(tool ?? "*", ".*")}$`;
  return { kind: "server-tool", text, form: new RegExp(form, "isu") };
}

/** `Skill(release:*)` and `Skill(release *)` are about its arguments, which decide nothing here. */
function skillRule(text: string, pattern: string): Rule {
  const name = pattern.replace(/(?::| )\*$/, "").trim();
  return { kind: "skill", text, form: new RegExp(`^${replaceStars(name, ".*")}$`, "isu") };
}

/**
 * A deny rule holds for every spelling, an allow rule for what it says, and it says some letters: a rule for all would pass
 * secrets that nobody has thought of. A command can't be asked about a variable.
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

/** What a ban says in words that nobody knows narrows it by nothing. */
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
 * `//x`: from the root of the file system. `~/x`: from home. `/x` and `a/b`: from the project's folder. `x`: of that
 * name in any folder of the project. What a rule names includes what is below it.
 */
export function pathMatcher(pattern: string | undefined, places: MatcherInput): (path: string) => boolean {
  if (pattern === undefined) return () => true;
  // A ban holds for every spelling and every folder; a leave only for what it says.
  const letters = places.use === "allow" ? "as-given" : "any-case";
  const roots = places.use === "allow" ? places.roots.slice(0, 1) : places.roots;
  const forms = absolutePatterns(pattern.normalize("NFC"), { roots, home: places.home }).flatMap((absolute) =>
    [absolute, `${absolute}/**`].map((one) => pathPattern(one, letters)),
  );
  return (path) => forms.some((form) => form.test(path.normalize("NFC")));
}

/**
 * What becomes of the files of a ban when a whole folder is changed: `some` lie in it by their name alone; `perhaps`,
 * where only a look at every name in it could tell.
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

/** However it is spelled. */
const normalizeSpelling = (path: string): string => path.normalize("NFC").toLowerCase();

interface LiteralPrefix {
  readonly part: string;
  /** The pattern is for this and what lies below it, whatever its name. */
  readonly isWhole: boolean;
}

/** The folders of a pattern before the first name that is one itself. */
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
  /** As it is; the pattern begins below it. */
  readonly folder: string;
  /** Begins with a slash; empty for the folder itself. */
  readonly below: string;
}

export function rootPatterns(pattern: string, { roots, home }: RuleRoots): readonly RootedPattern[] {
  const bare = pattern.replace(/\/+$/, "");
  if (bare.startsWith("//")) return [{ folder: "/", below: bare.slice(1) }];
  if (bare === "~" || bare.startsWith("~/")) return [{ folder: home, below: bare.slice(1) }];
  const below = bare.replace(/^\.?\//, "");
  const anywhere = !bare.includes("/");
  return roots.map((root) => ({ folder: root, below: `/${anywhere ? "**/" : ""}${below}` }));
}

/** A folder's own name is no pattern. */
export const escapePattern = (path: string): string => path.replaceAll(/[*?[{},\]]/g, "[$&]");

interface DomainPattern {
  /** As an address has it: lower case, other scripts in their ASCII form, no dot at its end. */
  readonly host: string;
  /** `*.example.org`: hosts below it, not itself. */
  readonly reach: "itself" | "below";
}

/** Of `domain:example.org` or `domain:*.example.org`; undefined where it is neither. */
function parseDomainPattern(written: string): DomainPattern | undefined {
  const [, below, name = ""] = /^domain:\s*(\*\.)?([^\s*/?#@\\]+)$/.exec(written) ?? [];
  const host = parseHost(`http://${name}`);
  return name === "" || host === undefined ? undefined : { host, reach: below === undefined ? "itself" : "below" };
}

/** In its one spelling; undefined where it is no address. */
export function parseHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/\.$/, "");
  return host === "" ? undefined : host;
}

/** A leave is for what it names; a ban and a question are for everything below it, too. */
export function matchesDomain(
  host: string,
  { domain, use }: { readonly domain: DomainPattern; readonly use: "allow" | "ask" | "deny" },
): boolean {
  const isBelow = host.endsWith(`.${domain.host}`);
  return domain.reach === "below" ? isBelow : host === domain.host || (use !== "allow" && isBelow);
}
