import type { Act, PermissionRequest, ShellAct, Verdict } from "palimpsest/internal/ports/tools";
import { isInside, isInsideAny, isSpecial } from "../inside.ts";
import { isOfDomain } from "./domain-rule.ts";
import { pathMatcher, type Places, reached, type Rule, type Rules, type RuleUse } from "./rule.ts";
import { hiddenFrom } from "./hidden-file.ts";
import { forbidsLine } from "./shell-ban.ts";
import { allowsLine, allowsReadsOf, changesUnnamed } from "./shell-rule.ts";

/**
 * default: a person is asked about changes and about commands not known to be harmless. acceptEdits: changes of files
 * inside the project pass. plan: nothing is changed. bypass: everything passes that no rule forbids or asks about.
 */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypass";

export interface Policy extends Places {
  readonly mode: PermissionMode;
  readonly rules: Rules;
  /** Real paths of folders that are read like the project's own, and not written. */
  readonly readRoots?: readonly string[];
  /** Real paths of files and folders that hold these rules: no rule is a leave to change them. */
  readonly guarded?: readonly string[];
  /**
   * `on`: the operating system keeps every command from what deny rules hide and from the guarded files, so nothing has
   * to be asked for their sake; and it keeps what runs unasked from changing anything. Absent: it does not.
   */
  readonly sandbox?: "on" | "off";
}

/** Bans first, then rules that ask, the mode, leaves; the strictest answer about any act is the answer. Pure. */
export function decide(given: Policy, request: PermissionRequest): Verdict {
  const isOutside = request.acts.some((act) => act.kind === "shell" && act.outsideReason !== undefined);
  const policy: Policy = isOutside ? { ...given, sandbox: "off" } : given;
  const forbidden = ruledBy(policy, { request, use: "deny" });
  if (forbidden?.kind === "denied") return forbidden;
  const asked = ruledBy(policy, { request, use: "ask" }) ?? allowed;
  const first = isOutside ? decideOutside(policy) : allowed;
  return [forbidden ?? allowed, unruled(policy, request), asked].reduce(stricter, first);
}

/** Neither a mode nor a rule answers it: whoever allowed a command did not mean it without the sandbox. */
function decideOutside({ mode }: Policy): Verdict {
  if (mode === "plan") return denied("in plan mode no command runs outside the sandbox");
  const reason =
    "it would run outside the sandbox: only the user can allow that, each time, or for a whole run by --no-sandbox";
  return { kind: "ask", reason, answeredBy: "user" };
}

/** What the mode and the leaves say where no rule is against it. */
function unruled(policy: Policy, request: PermissionRequest): Verdict {
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

interface Ruling {
  readonly request: PermissionRequest;
  readonly use: "ask" | "deny";
}

function ruledBy(policy: Policy, { request: { tool, acts }, use }: Ruling): Verdict | undefined {
  const byTool = policy.rules[use].find((rule) => isTool(rule, tool));
  if (byTool !== undefined) return ruling[use](byTool);
  let unclear: Verdict | undefined;
  for (const act of acts) {
    const rule = ruleFor(policy, { act, use });
    if (rule !== undefined && rule !== "unclear") return ruling[use](rule);
    if (rule === "unclear") unclear = ask("there are rules about commands, and this one can't be looked into");
    const hiding = act.kind === "shell" ? hidingRule(policy, { act, use }) : undefined;
    if (hiding !== undefined && hiding !== "unclear") return ruling[use](hiding);
    if (hiding === "unclear") unclear ??= ask("there are rules about files, and this command may show any file");
  }
  return unclear;
}

const hidingRule = (
  policy: Policy,
  { act, use }: { act: ShellAct; use: "ask" | "deny" },
): Rule | "unclear" | undefined =>
  hiddenFrom(
    {
      ...policy,
      rules: policy.rules[use],
      use,
      // A rule that asks hides nothing from a command that was answered with yes.
      files: policy.sandbox === "on" && use === "deny" ? "held" : "bare",
    },
    act,
  );

const ruling = {
  deny: (rule: Rule): Verdict => denied(`the rule ${rule.text} forbids it`),
  ask: (rule: Rule): Verdict => ask(`the rule ${rule.text} wants a person to decide it`),
} as const;

const isTool = (rule: Rule, tool: string): boolean =>
  (rule.kind === "tool" && tool.toLowerCase() === rule.name) || (rule.kind === "server-tool" && rule.form.test(tool));

const isToolNamed = (rules: readonly Rule[], tool: string): boolean => rules.some((rule) => isTool(rule, tool));

interface Sought {
  readonly act: Act;
  readonly use: RuleUse;
}

function ruleFor(policy: Policy, { act, use }: Sought): Rule | "unclear" | undefined {
  const rules = policy.rules[use];
  switch (act.kind) {
    case "read":
    case "write":
      return rules.find((rule) => {
        if (rule.kind !== "path" || rule.act !== act.kind) return false;
        if (pathMatcher(rule.pattern, { ...policy, use })(act.path)) return true;
        return use !== "allow" && isDeep(act) && reached(rule.pattern, policy)(act.path) === "some";
      });
    case "shell":
      if (use !== "allow") return forbidsLine(rules, act.command);
      return allowsLine(rules, act) ? rules.find((rule) => rule.kind === "shell") : undefined;
    case "fetch":
      return rules.find(
        (rule) =>
          rule.kind === "fetch" && (rule.domain === undefined || isOfDomain(act.host, { domain: rule.domain, use })),
      );
    case "mcp":
      return rules.find((rule) => isTool(rule, serverToolName(act)));
    case "state":
      return rules.find((rule) => rule.kind === "skill" && act.skill !== undefined && rule.form.test(act.skill));
  }
}

const isDeep = (act: Act): boolean => act.kind === "write" && act.byShell?.reach === "below";

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
      return act.byShell === undefined
        ? decideWrite(policy, { path: act.path, isAllowed })
        : decideShellWrite(policy, act);
    case "shell":
      return decideShell(policy, { act, isAllowed });
    case "fetch":
      return isAllowed ? allowed : ask(`it would ask ${act.host} for something, and tell it the address`);
    case "mcp":
      return decideServerCall(policy, { act, isAllowed });
    case "state":
      return ownStates.has(act.what) ? allowed : decideState(policy, act.what);
  }
}

type ServerAct = Extract<Act, { kind: "mcp" }>;

const serverToolName = ({ server, tool }: ServerAct): string => `mcp__${server}__${tool}`;

/** Servers say of some tools that they only read. That is their word: here it counts for nothing. */
function decideServerCall({ mode }: Policy, { act, isAllowed }: { act: ServerAct; isAllowed: boolean }): Verdict {
  const name = serverToolName(act);
  if (mode === "plan") return denied(`in plan mode nothing is changed, and what ${name} does only its server knows`);
  return isAllowed ? allowed : ask(`what ${name} does only its server knows`);
}

/** What the engine keeps for itself: changing it changes nothing of the person's. */
const ownStates: ReadonlySet<string> = new Set(["todo", "compaction", "skill", "plan"]);

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

function decideWrite(policy: Policy, { path, isAllowed }: { path: string; isAllowed: boolean }): Verdict {
  const { mode, roots } = policy;
  if (mode === "plan") return denied("in plan mode no file is changed");
  if (isInsideAny(path, policy.guarded ?? [])) return ask(holdsRules(path));
  if (isAllowed) return allowed;
  if (!isInsideAny(path, roots)) return ask(`${path} is outside the project`);
  if (isGuarded(path, roots)) return ask(`${path} decides what programs run`);
  return mode === "acceptEdits" ? allowed : ask(`it would change ${path}`);
}

const holdsRules = (path: string): string => `${path} decides what you may do`;

/** Whether the command may run at all is decided by the act that names it; a leave for it is none for these files. */
function decideShellWrite(policy: Policy, act: Extract<Act, { kind: "write" }>): Verdict {
  const { guarded = [], rules } = policy;
  if (isInsideAny(act.path, guarded) || (isDeep(act) && guarded.some((path) => isInside(path, act.path))))
    return ask(holdsRules(act.path));
  const isDoubtful =
    isDeep(act) && writeBans(rules).some(({ pattern }) => reached(pattern, policy)(act.path) !== undefined);
  return isDoubtful ? ask(`there are rules about changing files, and ${act.path} may hold such files`) : allowed;
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

function decideShell(policy: Policy, { act, isAllowed }: { act: ShellAct; isAllowed: boolean }): Verdict {
  const { mode, rules } = policy;
  if (act.effect === "read-only") {
    // The files that a pattern finds may be others a moment later; then only a sandbox keeps the command harmless.
    if (policy.sandbox === "on" || act.words === "literal" || isAllowed) return allowed;
    const why = "there is no sandbox, and the shell would expand some of its words";
    return mode === "plan" ? denied(`in plan mode nothing is changed: ${why}`) : ask(why);
  }
  if (mode === "plan") return denied("in plan mode only commands that are known to change nothing are run");
  if (!isAllowed) return ask("it is not known to be harmless");
  if (writeBans(rules).length > 0 && (act.writes === "unclear" || changesUnnamed(rules.allow, act.command)))
    return ask("there are rules about changing files, and this command may change any file");
  return mayWriteGuarded(policy, act)
    ? ask("it can't be told which files it changes, and some decide what you may do")
    : allowed;
}

/**
 * An unknown program that is not given such a file, as `make`, is not asked about: the rule that allows it is the user's
 * word for what it does.
 */
function mayWriteGuarded({ guarded = [], sandbox }: Policy, { writes, shows }: ShellAct): boolean {
  if (sandbox === "on" || guarded.length === 0) return false;
  return writes === "unclear" || (shows?.files.some(({ path }) => isInsideAny(path, guarded)) ?? true);
}

type PathRule = Extract<Rule, { kind: "path" }>;

const writeBans = ({ ask: asking, deny }: Rules): readonly PathRule[] =>
  [...deny, ...asking].filter((rule): rule is PathRule => rule.kind === "path" && rule.act === "write");
