import { type permissionModeNames } from "../schema/settings.ts";
import type { Settings } from "../settings/given.ts";
import type { PermissionMode } from "../tool/permission/decide.ts";

export interface ToolChoice {
  readonly mode: PermissionMode;
  /** As in settings: `Bash(git status:*)`, `Edit(src/**)`. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** What the caller asks for on top of the settings; without a mode theirs counts. */
export interface ToolWishes extends Omit<ToolChoice, "mode"> {
  readonly mode?: PermissionMode | undefined;
}

export const toolChoice = (asked: ToolWishes, settings: Settings): ToolChoice => ({
  mode: asked.mode ?? modeByName[settings["permissions.defaultMode"].value],
  allow: [...settings["permissions.allow"].value, ...asked.allow],
  deny: [...settings["permissions.deny"].value, ...asked.deny],
});

const modeByName: { readonly [Name in (typeof permissionModeNames)[number]]: PermissionMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypassPermissions: "bypass",
};

/** Made anew only when what it is made from is another. */
export function whileSame<From, Made>(from: () => From, make: (from: From) => Made): () => Made {
  let last: { readonly from: From; readonly made: Made } | undefined;
  return () => {
    const now = from();
    if (last === undefined || last.from !== now) last = { from: now, made: make(now) };
    return last.made;
  };
}
