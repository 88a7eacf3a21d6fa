import type { ToolAction, PermissionRequest, ShellAction, PermissionVerdict } from "palimpsest/internal/ports/tool";
import { isInside, isInsideAny, isSpecialPath } from "../resolve-real-path.ts";
import {
  matchesDomain,
  pathMatcher,
  type RuleRoots,
  createReachCheck,
  type Rule,
  type Rules,
  type RuleUse,
} from "./rule.ts";
import { findLineRule, allowsLine, allowsReads, mayChangeUnnamed } from "./allows-line.ts";

/**
 * default: the user is asked about changes and about commands not known to be harmless. acceptEdits: changes of files
 * inside the project are allowed. plan: nothing is changed. bypass: everything is allowed that no rule denies or asks
 * about.
 */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypass";

export interface Policy extends RuleRoots {
  readonly mode: PermissionMode;
  readonly rules: Rules;
  /** `own`: of an agent's type. Plan mode does not close it. */
  readonly memory?: "own" | undefined;
  /** Real paths of folders that may be read like the project's own but not written. */
  readonly readRoots?: readonly string[];
  /** Real paths of files and folders that hold these rules: no rule allows changing them. */
  readonly guarded?: readonly string[];
  /** Real paths of folders that only their own tool may write, in any mode: a text put there otherwise would pass for the user's. */
  readonly closed?: readonly string[];
  /** Real paths of the folder with a folder for each project, whose folder `memory` is closed too. */
  readonly projects?: readonly string[];
  /**
   * `on`: the operating system keeps every command away from files that deny rules hide and from the guarded files, so
   * these need no question; it also keeps commands that run without asking from changing anything. Absent: off.
   */
  readonly sandbox?: "on" | "off";
}

/** Closed folders first, then deny rules, then ask rules, the mode and allow rules; the strictest verdict on any act wins. Pure. */
export function decidePermission(basePolicy: Policy, request: PermissionRequest): PermissionVerdict {
  const isOutside = request.acts.some((act) => act.kind === "shell" && act.outsideReason !== undefined);
  const policy: Policy = isOutside ? { ...basePolicy, sandbox: "off" } : basePolicy;
  if (request.acts.some((act) => act.kind === "write" && isClosed(policy, act)))
    return denyVerdict("memories are written with the tool memory only");
  const byDenyRules = decideByRules(policy, { request, use: "deny" });
  if (byDenyRules?.kind === "denied") return byDenyRules;
  const byAskRules = decideByRules(policy, { request, use: "ask" }) ?? allowedVerdict;
  const first = isOutside ? decideOutside(policy) : allowedVerdict;
  return [byDenyRules ?? allowedVerdict, decideByMode(policy, request), byAskRules].reduce(stricterVerdict, first);
}

/** Also what is copied into a project's folder as a whole, since it may bring a folder of memories with it. */
function isClosed({ closed = [], projects = [] }: Policy, act: Extract<ToolAction, { kind: "write" }>): boolean {
  const isInProjects = projects.some((folder) => {
    if (!isInside(act.path, folder)) return false;
    const [, name] = act.path
      .slice(folder.length)
      .split("/")
      .filter((part) => part !== "");
    return name === undefined ? isRecursiveWrite(act) : memoryFolders.has(name.toLowerCase());
  });
  return isInProjects || isInsideAny(act.path, closed);
}

/** Memories, and which sessions are open that may not write them. */
const memoryFolders: ReadonlySet<string> = new Set(["memory", ".memory-sessions"]);

/** Neither a mode nor a rule answers this: an allow rule for a command did not mean running it without the sandbox. */
function decideOutside({ mode }: Policy): PermissionVerdict {
  if (mode === "plan") return denyVerdict("in plan mode no command runs outside the sandbox");
  const reason =
    "it would run outside the sandbox: only the user can allow that, each time, or for a whole run by --no-sandbox";
  return { kind: "ask", reason, answeredBy: "user" };
}

/** The verdict of the mode and the allow rules, if no other rule objects. */
function decideByMode(policy: Policy, request: PermissionRequest): PermissionVerdict {
  if (policy.mode === "bypass" || (policy.mode !== "plan" && isToolNamed(policy.rules.allow, request.tool)))
    return allowedVerdict;
  return request.acts.map((act) => decideAct(policy, { act, request })).reduce(stricterVerdict, allowedVerdict);
}

const allowedVerdict: PermissionVerdict = { kind: "allowed" };
const askVerdict = (reason: string): PermissionVerdict => ({ kind: "ask", reason });
const denyVerdict = (reason: string): PermissionVerdict => ({ kind: "denied", reason });

/** Of a sub-agent's verdict and its parent's: a sub-agent inherits or narrows permissions, never widens them. */
export function stricterVerdict(one: PermissionVerdict, other: PermissionVerdict): PermissionVerdict {
  return strictness[other.kind] > strictness[one.kind] ? other : one;
}

const strictness = { allowed: 0, ask: 1, denied: 2 } as const;

function decideByRules(
  policy: Policy,
  { request: { tool, acts }, use }: { readonly request: PermissionRequest; readonly use: "ask" | "deny" },
): PermissionVerdict | undefined {
  const byTool = policy.rules[use].find((rule) => isTool(rule, tool));
  if (byTool !== undefined) return verdictByUse[use](byTool);
  let unclear: PermissionVerdict | undefined;
  for (const act of acts) {
    const rule = ruleFor(policy, { act, use });
    if (rule !== undefined && rule !== "unclear") return verdictByUse[use](rule);
    if (rule === "unclear") unclear = askVerdict("there are rules about commands, and this one can't be analysed");
    const hiding = act.kind === "shell" ? hidingRule(policy, { act, use }) : undefined;
    if (hiding !== undefined && hiding !== "unclear") return verdictByUse[use](hiding);
    if (hiding === "unclear") unclear ??= askVerdict("there are rules about files, and this command may show any file");
  }
  return unclear;
}

const hidingRule = (
  policy: Policy,
  { act, use }: { act: ShellAction; use: "ask" | "deny" },
): Rule | "unclear" | undefined =>
  findHidingRule(
    {
      ...policy,
      rules: policy.rules[use],
      use,
      // An ask rule hides nothing from a command that the user has allowed.
      files: policy.sandbox === "on" && use === "deny" ? "held" : "bare",
    },
    act,
  );

const verdictByUse = {
  deny: (rule: Rule): PermissionVerdict => denyVerdict(`the rule ${rule.text} forbids it`),
  ask: (rule: Rule): PermissionVerdict => askVerdict(`the rule ${rule.text} wants the user to decide it`),
} as const;

const isTool = (rule: Rule, tool: string): boolean =>
  (rule.kind === "tool" && tool.toLowerCase() === rule.name) || (rule.kind === "server-tool" && rule.form.test(tool));

const isToolNamed = (rules: readonly Rule[], tool: string): boolean => rules.some((rule) => isTool(rule, tool));

function ruleFor(
  policy: Policy,
  { act, use }: { readonly act: ToolAction; readonly use: RuleUse },
): Rule | "unclear" | undefined {
  const rules = policy.rules[use];
  switch (act.kind) {
    case "read":
    case "write":
      return rules.find((rule) => {
        if (rule.kind !== "path" || rule.act !== act.kind) return false;
        if (pathMatcher(rule.pattern, { ...policy, use })(act.path)) return true;
        return use !== "allow" && isRecursiveWrite(act) && createReachCheck(rule.pattern, policy)(act.path) === "some";
      });
    case "shell":
      if (use !== "allow") return findLineRule(rules, act.command);
      return allowsLine(rules, act) ? rules.find((rule) => rule.kind === "shell") : undefined;
    case "fetch":
      return rules.find(
        (rule) =>
          rule.kind === "fetch" && (rule.domain === undefined || matchesDomain(act.host, { domain: rule.domain, use })),
      );
    case "mcp":
      return rules.find((rule) => isTool(rule, serverToolName(act)));
    case "state":
      return rules.find((rule) => rule.kind === "skill" && act.skill !== undefined && rule.form.test(act.skill));
  }
}

const isRecursiveWrite = (act: ToolAction): boolean => act.kind === "write" && act.byShell?.reach === "below";

function decideAct(
  policy: Policy,
  { act, request }: { readonly act: ToolAction; readonly request: PermissionRequest },
): PermissionVerdict {
  const isAllowed = ruleFor(policy, { act, use: "allow" }) !== undefined;
  switch (act.kind) {
    case "read":
      return isAllowed ? allowedVerdict : decideRead(policy, { act, request });
    case "write":
      return act.byShell === undefined
        ? decideWrite(policy, { path: act.path, isAllowed })
        : decideShellWrite(policy, act);
    case "shell":
      return decideShell(policy, { act, isAllowed });
    case "fetch":
      return isAllowed ? allowedVerdict : askVerdict(`it would ask ${act.host} for something, and tell it the address`);
    case "mcp":
      return decideServerCall(policy, { act, isAllowed });
    case "state":
      return ownStates.has(act.what) ||
        (lastingStates.has(act.what) && policy.mode !== "plan") ||
        (act.what === "memory" && policy.memory === "own")
        ? allowedVerdict
        : decideState(policy, act.what);
  }
}

type ServerAct = Extract<ToolAction, { kind: "mcp" }>;

const serverToolName = ({ server, tool }: ServerAct): string => `mcp__${server}__${tool}`;

/** Servers claim that some tools only read. Such claims are not trusted. */
function decideServerCall(
  { mode }: Policy,
  { act, isAllowed }: { act: ServerAct; isAllowed: boolean },
): PermissionVerdict {
  const name = serverToolName(act);
  if (mode === "plan")
    return denyVerdict(`in plan mode nothing is changed, and what ${name} does only its server knows`);
  return isAllowed ? allowedVerdict : askVerdict(`what ${name} does only its server knows`);
}

/** The engine's own state: changing it changes nothing of the user's. Whatever an agent does then is decided by itself. */
const ownStates: ReadonlySet<string> = new Set(["todo", "compaction", "skill", "plan", "message", "tasks", "agent"]);

/**
 * Like these, but they outlast the session, so plan mode leaves them alone. A teammate can do no more than its starter,
 * and only a session that the user opened as a leader can start one.
 */
const lastingStates: ReadonlySet<string> = new Set(["memory", "teammates", "worktree"]);

const decideState = ({ mode }: Policy, what: string): PermissionVerdict =>
  mode === "plan" ? denyVerdict(`in plan mode nothing is changed: ${what}`) : askVerdict(`it would change ${what}`);

function decideRead(
  { roots, readRoots = [], rules }: Policy,
  { act, request }: { readonly act: Extract<ToolAction, { kind: "read" }>; readonly request: PermissionRequest },
): PermissionVerdict {
  const { path, ofCommand: index } = act;
  if (isSpecialPath(path)) return askVerdict(`${path} is no ordinary file`);
  const isOfNamedCommand = request.acts.some(
    (one) => one.kind === "shell" && allowsReads(rules.allow, { command: one.command, index }),
  );
  return isOfNamedCommand || isInsideAny(path, [...roots, ...readRoots])
    ? allowedVerdict
    : askVerdict(`${path} is outside the project`);
}

function decideWrite(policy: Policy, { path, isAllowed }: { path: string; isAllowed: boolean }): PermissionVerdict {
  const { mode, roots } = policy;
  if (mode === "plan") return denyVerdict("in plan mode no file is changed");
  if (isInsideAny(path, policy.guarded ?? [])) return askVerdict(rulesFileReason(path));
  if (isAllowed) return allowedVerdict;
  if (!isInsideAny(path, roots)) return askVerdict(`${path} is outside the project`);
  if (isGuarded(path, roots)) return askVerdict(`${path} decides what programs run`);
  return mode === "acceptEdits" ? allowedVerdict : askVerdict(`it would change ${path}`);
}

const rulesFileReason = (path: string): string => `${path} decides what you may do`;

/** Another act decides whether the command may run at all; allowing it does not allow changing these files. */
function decideShellWrite(policy: Policy, act: Extract<ToolAction, { kind: "write" }>): PermissionVerdict {
  const { guarded = [], rules } = policy;
  if (isInsideAny(act.path, guarded) || (isRecursiveWrite(act) && guarded.some((path) => isInside(path, act.path))))
    return askVerdict(rulesFileReason(act.path));
  const isDoubtful =
    isRecursiveWrite(act) &&
    writeRules(rules).some(({ pattern }) => createReachCheck(pattern, policy)(act.path) !== undefined);
  return isDoubtful
    ? askVerdict(`there are rules about changing files, and ${act.path} may hold such files`)
    : allowedVerdict;
}

/** Files of these names decide which programs git, editors and agents run: writing one is as good as running it. */
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

function decideShell(policy: Policy, { act, isAllowed }: { act: ShellAction; isAllowed: boolean }): PermissionVerdict {
  const { mode, rules } = policy;
  if (act.effect === "read-only") {
    // The files that a pattern matches may change a moment later; then only a sandbox keeps the command harmless.
    if (policy.sandbox === "on" || act.words === "literal" || isAllowed) return allowedVerdict;
    const why = "there is no sandbox, and the shell would expand some of its words";
    return mode === "plan" ? denyVerdict(`in plan mode nothing is changed: ${why}`) : askVerdict(why);
  }
  if (mode === "plan") return denyVerdict("in plan mode only commands that are known to change nothing are run");
  if (!isAllowed) return askVerdict("it is not known to be harmless");
  if (writeRules(rules).length > 0 && (act.writes === "unclear" || mayChangeUnnamed(rules.allow, act.command)))
    return askVerdict("there are rules about changing files, and this command may change any file");
  return mayWriteGuarded(policy, act)
    ? askVerdict("it can't be told which files it changes, and some decide what you may do")
    : allowedVerdict;
}

/**
 * An unknown program that is not given a guarded file, such as `make`, needs no question: the user's allow rule answers
 * for what it does.
 */
function mayWriteGuarded({ guarded = [], sandbox }: Policy, { writes, shows }: ShellAction): boolean {
  if (sandbox === "on" || guarded.length === 0) return false;
  return writes === "unclear" || (shows?.files.some(({ path }) => isInsideAny(path, guarded)) ?? true);
}

type PathRule = Extract<Rule, { kind: "path" }>;

const writeRules = ({ ask, deny }: Rules): readonly PathRule[] =>
  [...deny, ...ask].filter((rule): rule is PathRule => rule.kind === "path" && rule.act === "write");

interface HidingRulesInput extends RuleRoots {
  readonly rules: readonly Rule[];
  readonly use: RuleUse;
  /** `held`: the operating system hides these files from every command. */
  readonly files: "held" | "bare";
}

/**
 * The read rule that a line certainly breaks, or `unclear` if it may break one. Which commands are allowed does not
 * matter. If the files are held, only the files that the line names count: it can't find any others.
 */
function findHidingRule(
  { rules, use, files, ...places }: HidingRulesInput,
  act: ShellAction,
): Rule | "unclear" | undefined {
  const hiding = rules.filter((rule) => rule.kind === "path").filter((rule) => rule.act === "read");
  if (hiding.length === 0) return undefined;
  let isUnclear = files === "bare" && act.shows?.others !== "none";
  for (const rule of hiding) {
    const isHidden = pathMatcher(wholeFolder(rule.pattern), { ...places, use });
    const isReached = createReachCheck(rule.pattern, places);
    for (const { path, reach, sight } of act.shows?.files ?? []) {
      const below = reach === "below" && files === "bare" ? isReached(path) : undefined;
      const isSure = isHidden(path) || below === "some";
      if (isSure && sight === "sure") return rule;
      if ((isSure && files === "bare") || below === "perhaps") isUnclear = true;
    }
  }
  return isUnclear ? "unclear" : undefined;
}

/** `secret/**` covers the folder's content; a command that is given the folder reads that too. */
const wholeFolder = (pattern: string | undefined): string | undefined => pattern?.replace(/(?<=[^/*])(?:\/\*\*)+$/, "");
