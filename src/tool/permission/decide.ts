import type { Act, PermissionRequest, ShellAct, Verdict } from "../../ports/tools.ts";
import { isInside, isInsideAny, isSpecial } from "../inside.ts";
import { pathMatcher, type Places, type Rule, type Rules } from "./rule.ts";
import { forbidsLine } from "./shell-ban.ts";
import { allowsLine, allowsReadsOf, showsUnnamed } from "./shell-rule.ts";

/**
 * default: a person is asked about changes and about commands not known to be harmless. acceptEdits: changes of files
 * inside the project pass. plan: nothing is changed. bypass: everything passes that no rule forbids.
 */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypass";

export interface Policy extends Places {
  readonly mode: PermissionMode;
  readonly rules: Rules;
  /** Real paths of folders that are read like the project's own, and not written. */
  readonly readRoots?: readonly string[];
}

/** Bans first, then the mode, then leaves; the strictest answer about any act is the answer. Pure. */
export function decide(policy: Policy, request: PermissionRequest): Verdict {
  const forbidden = forbiddenBy(policy, request);
  if (forbidden !== undefined) return forbidden;
  if (policy.mode === "bypass" || (policy.mode !== "plan" && isToolNamed(policy.rules.allow, request.tool)))
    return allowed;
  return request.acts.map((act) => decideAct(policy, { act, request })).reduce(stricter, allowed);
}

const allowed: Verdict = { kind: "allowed" };
const ask = (reason: string): Verdict => ({ kind: "ask", reason });
const denied = (reason: string): Verdict => ({ kind: "denied", reason });

/** Of a sub-agent's own verdict and its parent's: it inherits or narrows, never widens. */
export function stricter(one: Verdict, other: Verdict): Verdict {
  return strictness[other.kind] > strictness[one.kind] ? other : one;
}

const strictness = { allowed: 0, ask: 1, denied: 2 } as const;

function forbiddenBy(policy: Policy, { tool, acts }: PermissionRequest): Verdict | undefined {
  const { deny } = policy.rules;
  const byTool = deny.find((rule) => rule.kind === "tool" && isTool(rule.name, tool));
  if (byTool !== undefined) return denied(forbids(byTool));
  let unclear: Verdict | undefined;
  for (const act of acts) {
    const rule = ruleFor(policy, { act, use: "deny" });
    if (rule !== undefined && rule !== "unclear") return denied(forbids(rule));
    if (rule === "unclear") unclear = ask("there are rules about commands, and this one can't be looked into");
  }
  return unclear;
}

const forbids = (rule: Rule): string => `the rule ${rule.text} forbids it`;

/** `mcp__server` is every tool of that server. */
const isTool = (name: string, tool: string): boolean =>
  tool.toLowerCase() === name || (name.startsWith("mcp__") && tool.toLowerCase().startsWith(`${name}__`));

const isToolNamed = (rules: readonly Rule[], tool: string): boolean =>
  rules.some((rule) => rule.kind === "tool" && isTool(rule.name, tool));

interface Sought {
  readonly act: Act;
  readonly use: "allow" | "deny";
}

function ruleFor(policy: Policy, { act, use }: Sought): Rule | "unclear" | undefined {
  const rules = policy.rules[use];
  switch (act.kind) {
    case "read":
    case "write":
      return rules.find(
        (rule) =>
          rule.kind === "path" && rule.act === act.kind && pathMatcher(rule.pattern, { ...policy, use })(act.path),
      );
    case "shell":
      if (use === "deny") return forbidsLine(rules, act.command);
      return allowsLine(rules, act) ? rules.find((rule) => rule.kind === "shell") : undefined;
    case "state":
      return undefined;
  }
}

interface Asked {
  readonly act: Act;
  readonly request: PermissionRequest;
}

function decideAct(policy: Policy, { act, request }: Asked): Verdict {
  const isAllowed = ruleFor(policy, { act, use: "allow" }) !== undefined;
  switch (act.kind) {
    case "read":
      return isAllowed ? allowed : decideRead(policy, { act, request });
    case "write":
      return decideWrite(policy, { path: act.path, isAllowed });
    case "shell":
      return decideShell(policy, { act, isAllowed });
    case "state":
      return ownStates.has(act.what) ? allowed : decideState(policy, act.what);
  }
}

/** What the engine keeps for itself: changing it changes nothing of the person's. */
const ownStates: ReadonlySet<string> = new Set(["todo"]);

const decideState = ({ mode }: Policy, what: string): Verdict =>
  mode === "plan" ? denied(`in plan mode nothing is changed: ${what}`) : ask(`it would change ${what}`);

interface AskedRead {
  readonly act: Extract<Act, { kind: "read" }>;
  readonly request: PermissionRequest;
}

function decideRead({ roots, readRoots = [], rules }: Policy, { act, request }: AskedRead): Verdict {
  const { path, ofCommand: index } = act;
  if (isSpecial(path)) return ask(`${path} is no ordinary file`);
  const isOfNamedCommand = request.acts.some(
    (one) => one.kind === "shell" && allowsReadsOf(rules.allow, { command: one.command, index }),
  );
  return isOfNamedCommand || isInsideAny(path, [...roots, ...readRoots])
    ? allowed
    : ask(`${path} is outside the project`);
}

function decideWrite({ mode, roots }: Policy, { path, isAllowed }: { path: string; isAllowed: boolean }): Verdict {
  if (mode === "plan") return denied("in plan mode no file is changed");
  if (isAllowed) return allowed;
  if (!isInsideAny(path, roots)) return ask(`${path} is outside the project`);
  if (isGuarded(path, roots)) return ask(`${path} decides what programs run`);
  return mode === "acceptEdits" ? allowed : ask(`it would change ${path}`);
}

/** Files here name programs that git, editors and agents run by themselves: writing one is as good as running it. */
const guardedNames: ReadonlySet<string> = new Set(
  (
    ".git .gitmodules .githooks .husky .palimpsest .claude .mcp.json .vscode .idea .envrc .bashrc " +
    ".bash_profile .profile .zshrc .gitconfig"
  ).split(" "),
);

function isGuarded(path: string, roots: readonly string[]): boolean {
  const root = roots.find((one) => isInside(path, one)) ?? "";
  return path
    .slice(root.length)
    .split("/")
    .some((name) => guardedNames.has(name.toLowerCase()));
}

function decideShell({ mode, rules }: Policy, { act, isAllowed }: { act: ShellAct; isAllowed: boolean }): Verdict {
  if (act.effect === "unknown") {
    if (mode === "plan") return denied("in plan mode only commands that are known to change nothing are run");
    if (!isAllowed) return ask("it is not known to be harmless");
  }
  return hidesFiles(rules) && showsUnnamed(rules.allow, act.command)
    ? ask("there are rules about files, and this command may show any file")
    : allowed;
}

const hidesFiles = ({ deny }: Rules): boolean => deny.some((rule) => rule.kind === "path" && rule.act === "read");
