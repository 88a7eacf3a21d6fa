import type { AgentDefinition } from "palimpsest/internal/layers/7-agents/agent-definition";
import { permissionModeNames } from "palimpsest/internal/schema/setting-table";
import type { Settings } from "palimpsest/internal/settings/resolve-settings";
import type { PermissionMode } from "../../tool/permission/decide-permission.ts";

export interface PermissionChoice {
  readonly mode: PermissionMode;
  /** As in settings: `Bash(git status:*)`, `Edit(src/**)`. */
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
  /** `own`: the memory is of an agent's type, so that plan mode, which protects the project, does not close it. */
  readonly memory?: "own";
}

/** What the caller adds to the settings. If it has no mode, the mode of the settings applies. */
export interface ToolOptions extends Omit<PermissionChoice, "mode" | "ask"> {
  readonly mode?: PermissionMode | undefined;
  /** What the session can do at most. Absent: no such limit. */
  readonly limit?: PermissionChoice | undefined;
}

export const resolvePermissionChoice = (requested: ToolOptions, settings: Settings): PermissionChoice => ({
  mode: requested.mode ?? modeByName[settings["permissions.defaultMode"].value],
  allow: [...settings["permissions.allow"].value, ...requested.allow],
  ask: settings["permissions.ask"].value,
  deny: [...settings["permissions.deny"].value, ...requested.deny],
});

/**
 * The choice while a session is open, from the choice when it opened and the current settings. Changing a settings file
 * must give no advantage, since the agent itself may do it: what narrows counts at once and stays, what widens counts
 * when the session is opened again.
 */
export function narrowOnly(opening: PermissionChoice): (now: PermissionChoice) => PermissionChoice {
  const askRules = new Set(opening.ask);
  const denyRules = new Set(opening.deny);
  return (now) => {
    for (const rule of now.ask) askRules.add(rule);
    for (const rule of now.deny) denyRules.add(rule);
    const allowRules = new Set(now.allow);
    return {
      mode: opening.mode,
      allow: opening.allow.filter((rule) => allowRules.has(rule)),
      ask: [...askRules],
      deny: [...denyRules],
    };
  };
}

/**
 * What an agent of this type may do, started by one with the parent's choice: never more. The mode is the narrower of the two,
 * the type's deny rules are added, and every rule of the parent stays. A type in plan mode can still save what it learns,
 * unless its parent is in plan mode too.
 */
export function narrowChoice(
  parent: PermissionChoice,
  { permissionMode, denyRules = [], memory }: Pick<AgentDefinition, "permissionMode" | "denyRules" | "memory">,
): PermissionChoice {
  const wanted = permissionMode === undefined ? parent.mode : modeByName[permissionMode];
  const mode = modesByWidth.indexOf(wanted) < modesByWidth.indexOf(parent.mode) ? wanted : parent.mode;
  if (mode === parent.mode && denyRules.length === 0) return parent;
  const ownMemory = memory !== undefined && parent.mode !== "plan" ? { memory: "own" as const } : {};
  return { ...parent, ...ownMemory, mode, deny: [...parent.deny, ...denyRules] };
}

/** Narrowest first. */
const modesByWidth: readonly PermissionMode[] = ["plan", "default", "acceptEdits", "bypass"];

/** Follows the settings while a session is open. Returns the same object while nothing has changed. */
export function followPermissionChoice(requested: ToolOptions, current: () => Settings): () => PermissionChoice {
  const narrow = narrowOnly(resolvePermissionChoice(requested, current()));
  const followed = memoizeByInput(current, (now) => narrow(resolvePermissionChoice(requested, now)));
  return limitChoice(followed, requested.limit);
}

/** The narrower of two choices: what both allow, what either asks about or denies. */
function limitChoice(choice: () => PermissionChoice, limit: PermissionChoice | undefined): () => PermissionChoice {
  if (limit === undefined) return choice;
  const allowed = new Set(limit.allow);
  return memoizeByInput(choice, (now) => ({
    mode: narrowerMode(now.mode, limit.mode),
    allow: now.allow.filter((rule) => allowed.has(rule)),
    ask: [...new Set([...limit.ask, ...now.ask])],
    deny: [...new Set([...limit.deny, ...now.deny])],
  }));
}

const widthByMode: { readonly [Mode in PermissionMode]: number } = { plan: 0, default: 1, acceptEdits: 2, bypass: 3 };

export const narrowerMode = (one: PermissionMode, other: PermissionMode): PermissionMode =>
  widthByMode[one] <= widthByMode[other] ? one : other;
export const widerMode = (one: PermissionMode, other: PermissionMode): PermissionMode =>
  widthByMode[one] >= widthByMode[other] ? one : other;

/** Undefined if there is no such mode. */
export const parsePermissionMode = (name: string): PermissionMode | undefined => {
  const known = permissionModeNames.find((mode) => mode === name);
  return known && modeByName[known];
};

const modeByName: { readonly [Name in (typeof permissionModeNames)[number]]: PermissionMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypassPermissions: "bypass",
};

/** Rebuilt only when the input is another object. */
export function memoizeByInput<Input, Output>(read: () => Input, make: (input: Input) => Output): () => Output {
  let last: { readonly input: Input; readonly output: Output } | undefined;
  return () => {
    const input = read();
    if (last === undefined || last.input !== input) last = { input, output: make(input) };
    return last.output;
  };
}
