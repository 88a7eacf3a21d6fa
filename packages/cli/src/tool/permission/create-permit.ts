import type { PermissionDep, ToolAction, PermissionRequest } from "palimpsest/internal/ports/tool";
import { decidePermission, type Policy, stricterVerdict } from "./decide-permission.ts";
import {
  pathMatcher,
  type RuleRoots,
  type Rule,
  type Rules,
  type RuleTexts,
  foreignToolNames,
  parseRules,
  type RuleProblem,
  type RuleUse,
  escapePattern,
} from "./rule.ts";
import { isSecret, type MayPass } from "../shell/shell-environment.ts";
import { toolNames } from "../builtin-tools.ts";
import { dirname } from "node:path";
import { isInside } from "../resolve-real-path.ts";
import { suggestedRulesMax, suggestedRulesTriedMax } from "../limits.ts";
import { parseLine } from "../shell/parse-line.ts";
import type { ShellWord } from "../shell/shell-word.ts";

export interface PermitOptions extends Policy {
  /** The permit of the agent that started this one: this agent is never allowed more. */
  readonly parent?: PermissionDep["permit"];
  /** Called if something is written: links may have changed since. */
  readonly guardedNow?: () => Promise<readonly string[]>;
  /** Called for each request: the sandbox may be turned on while a session is open. Absent: as `sandbox` says. */
  readonly sandboxNow?: () => "on" | "off";
}

export function createPermit({ parent, guardedNow, sandboxNow, ...policy }: PermitOptions): PermissionDep["permit"] {
  return async (request) => {
    const isWriting = request.acts.some(
      (act) => act.kind === "write" || (act.kind === "shell" && act.effect === "unknown"),
    );
    const guarded = isWriting && guardedNow !== undefined ? await guardedNow() : policy.guarded;
    const sandbox = sandboxNow?.() ?? policy.sandbox;
    const now = {
      ...policy,
      ...(guarded === undefined ? {} : { guarded }),
      ...(sandbox === undefined ? {} : { sandbox }),
    };
    const verdict = decidePermission(now, request);
    if (parent !== undefined) return stricterVerdict(verdict, await parent(request));
    const rules = verdict.kind === "ask" ? suggestRules(now, request) : undefined;
    return rules === undefined ? verdict : { ...verdict, suggestedRules: rules };
  };
}

/** For tools that find files by themselves: false if a rule forbids showing the file or wants the user to be asked. */
export function createMayRead({ rules, ...places }: RuleRoots & { readonly rules: Rules }): (path: string) => boolean {
  const hidden = [...rules.deny, ...rules.ask].flatMap((rule) =>
    rule.kind === "path" && rule.act === "read" ? [pathMatcher(rule.pattern, { ...places, use: "deny" })] : [],
  );
  return (path) => !hidden.some((matches) => matches(path));
}

/** Which variables commands get: secrets only by an allow rule, and nothing that a deny rule names. */
export function createMayPass({ allow, deny }: Pick<Rules, "allow" | "deny">): MayPass {
  return (name, value) => !isVariableNamed(deny, name) && (!isSecret(name, value) || isVariableNamed(allow, name));
}

const isVariableNamed = (rules: readonly Rule[], name: string): boolean =>
  rules.some((rule) => rule.kind === "variable" && rule.form.test(name));

/** Reports rules that match nothing: such a rule, above all a deny rule, must not seem effective. */
export function findRuleProblems(texts: RuleTexts): readonly RuleProblem[] {
  const { rules, problems } = parseRules(texts);
  const uses: readonly RuleUse[] = ["deny", "ask", "allow"];
  const unknown = uses.flatMap((use) =>
    rules[use].flatMap((rule) =>
      rule.kind === "tool" && !isKnownTool(rule.name, use)
        ? [{ use, what: `${rule.text}: there is no such tool` }]
        : [],
    ),
  );
  return [...problems, ...unknown];
}

/** Denying a tool that only other agents have is always satisfied; allowing it means nothing. */
const isKnownTool = (name: string, use: RuleUse): boolean =>
  knownToolNames.has(name) || (use !== "allow" && foreignToolNames.has(name.toLowerCase()));

const knownToolNames: ReadonlySet<string> = new Set(toolNames);

/**
 * Rules that the user may want to allow permanently: with them this request would have been allowed, and none of them
 * is superfluous. Undefined if there are none, as for files that hold the rules, or too many to review. Pure.
 */
export function suggestRules(policy: Policy, request: PermissionRequest): readonly string[] | undefined {
  const isEnough = (rules: readonly string[]): boolean => {
    const { allow } = parseRules({ allow: rules }).rules;
    const widened = { ...policy.rules, allow: [...policy.rules.allow, ...allow] };
    return decidePermission({ ...policy, rules: widened }, request).kind === "allowed";
  };
  const candidateRules = [...new Set(candidates(policy, request))].slice(0, suggestedRulesTriedMax);
  const single = candidateRules.find((rule) => isEnough([rule]));
  if (single !== undefined) return [single];
  let rules = [...new Set(request.acts.flatMap((act) => rulesForAct(policy, act)))];
  if (rules.length > suggestedRulesTriedMax || !isEnough(rules)) return undefined;
  for (const rule of rules) {
    const rest = rules.filter((one) => one !== rule);
    if (isEnough(rest)) rules = rest;
  }
  return rules.length > suggestedRulesMax ? undefined : rules;
}

/** Narrow rules first, except for acts that no user wants to allow one by one. */
function candidates(policy: Policy, { tool, acts }: PermissionRequest): readonly string[] {
  const byAct = acts.flatMap((act) => candidatesFor(policy, act));
  // For a tool that touches files or runs commands, its bare name would allow all of them.
  return acts.every(({ kind }) => kind === "state") ? [...byAct, tool] : byAct;
}

/** One rule for each command of a line, or one for the act. */
const rulesForAct = (policy: Policy, act: ToolAction): readonly string[] =>
  act.kind === "shell" ? partRules(act.command) : candidatesFor(policy, act).slice(0, 1);

function candidatesFor(policy: Policy, act: ToolAction): readonly string[] {
  switch (act.kind) {
    case "read":
      return pathRules(act.path, policy).map((pattern) => `Read(${pattern})`);
    case "write":
      return act.byShell === undefined ? pathRules(act.path, policy).map((pattern) => `Edit(${pattern})`) : [];
    case "shell":
      return commandRules(act.command);
    case "fetch":
      return namesOne(act.host) ? [`WebFetch(domain:${act.host})`] : [];
    case "mcp":
      return namesOne(act.server) && namesOne(act.tool) ? [`mcp__${act.server}__${act.tool}`] : [];
    case "state":
      return [];
  }
}

/** `*` would be a wildcard in a rule. */
const namesOne = (name: string): boolean => !name.includes("*");

/**
 * Everything in the file's folder; only the file if its folder is a project's root, or if the file is outside the
 * project or next to hidden ones. No rule for files that hold keys or decide which programs run: the user decides each
 * use.
 */
function pathRules(path: string, { roots }: Policy): readonly string[] {
  const [root = "/"] = roots;
  const isOwn = isInside(path, root) && root !== "/";
  const names = (isOwn ? path.slice(root.length) : path).split("/").filter((name) => name !== "");
  if (names.some((name) => secretForm.test(name))) return [];
  const named = (whole: string): string => escapePattern(isOwn ? whole.slice(root.length) : `/${whole}`);
  const folder = dirname(path);
  const isNarrow = !isOwn || names.some((name) => name.startsWith(".")) || roots.some((one) => isInside(one, folder));
  return [isNarrow ? named(path) : `${named(folder)}/**`];
}

/** Files of repositories themselves, and files that usually hold keys. */
const secretForm =
  /^(?:\.git|\.ssh|\.gnupg|\.aws|\.netrc|\.npmrc|\.pypirc|\.env(?:\..+|rc)?|id_(?:rsa|dsa|ecdsa|ed25519).*|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)|.*credentials.*|.*secrets?(?:\..+)?)$/i;

/**
 * Verbs of which any use is like any other: they build and test the project, or commit it. For every other command
 * exactly the given line is offered; commands that only read need no rule, except for uses that do more.
 */
const interchangeableVerbs: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["cargo", new Set(["build", "check", "clippy", "doc", "fmt", "test"])],
  ["git", new Set(["add", "commit"])],
  ["go", new Set(["build", "test", "vet"])],
  ["npm", new Set(["test"])],
  ["pnpm", new Set(["test"])],
  ["yarn", new Set(["test"])],
]);

/**
 * `git add:*` and the like for interchangeable verbs; otherwise exactly this line, or exactly the words of one part of
 * it.
 */
function commandRules(command: string): readonly string[] {
  const line = parseLine(command);
  if (line.kind === "unclear" || line.commands.length === 0) return [];
  const verbs = line.commands.flatMap(({ words }) => verbRule(words));
  return [...verbs, ...(/[*\n()]/.test(command) ? [] : [`Bash(${command.trim()})`]), ...partRules(command)];
}

function partRules(command: string): readonly string[] {
  const line = parseLine(command);
  if (line.kind === "unclear") return [];
  return line.commands.flatMap(({ words }) => {
    const [verb] = verbRule(words);
    if (verb !== undefined) return [verb];
    const isPlain = words.length > 0 && words.every(({ kind, value }) => kind === "plain" && /^[^\s*()]+$/.test(value));
    return isPlain ? [`Bash(${words.map(({ value }) => value).join(" ")})`] : [];
  });
}

function verbRule(words: readonly ShellWord[]): readonly string[] {
  if (words.some(({ kind }, index) => index < 2 && kind !== "plain")) return [];
  const [program = "", verb = ""] = words.map(({ value }) => value);
  return interchangeableVerbs.get(program)?.has(verb) === true ? [`Bash(${program} ${verb}:*)`] : [];
}
