import { permissionModeNames } from "palimpsest/internal/schema/setting-table";
import type { Settings } from "palimpsest/internal/settings/resolve-settings";
import type { PermissionMode } from "../../tool/permission/decide-permission.ts";

export interface ToolChoice {
  readonly mode: PermissionMode;
  /** As in settings: `Bash(git status:*)`, `Edit(src/**)`. */
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
}

/** What the caller asks for on top of the settings; without a mode, theirs counts. */
export interface ToolOptions extends Omit<ToolChoice, "mode" | "ask"> {
  readonly mode?: PermissionMode | undefined;
}

export const resolveToolChoice = (asked: ToolOptions, settings: Settings): ToolChoice => ({
  mode: asked.mode ?? modeByName[settings["permissions.defaultMode"].value],
  allow: [...settings["permissions.allow"].value, ...asked.allow],
  ask: settings["permissions.ask"].value,
  deny: [...settings["permissions.deny"].value, ...asked.deny],
});

/**
 * The choice while a session is open, from the choice when it opened and the current settings. Changing a settings file
 * must give no advantage, since the agent itself may do it: what narrows counts at once and stays, what widens counts
 * when the session is opened again.
 */
export function narrowOnly(opening: ToolChoice): (now: ToolChoice) => ToolChoice {
  const asking = new Set(opening.ask);
  const denying = new Set(opening.deny);
  return (now) => {
    for (const rule of now.ask) asking.add(rule);
    for (const rule of now.deny) denying.add(rule);
    const allowing = new Set(now.allow);
    return {
      mode: opening.mode,
      allow: opening.allow.filter((rule) => allowing.has(rule)),
      ask: [...asking],
      deny: [...denying],
    };
  };
}

/** Undefined if there is no such mode. */
export const parsePermissionMode = (name: string): PermissionMode | undefined => {
  const known = permissionModeNames.find((one) => one === name);
  return known && modeByName[known];
};

const modeByName: { readonly [Name in (typeof permissionModeNames)[number]]: PermissionMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypassPermissions: "bypass",
};

/** Rebuilt only when the input is another object. */
export function memoizeByInput<From, Made>(from: () => From, make: (from: From) => Made): () => Made {
  let last: { readonly from: From; readonly made: Made } | undefined;
  return () => {
    const now = from();
    if (last === undefined || last.from !== now) last = { from: now, made: make(now) };
    return last.made;
  };
}
