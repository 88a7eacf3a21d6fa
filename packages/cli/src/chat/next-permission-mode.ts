import type { PermissionMode } from "../tool/permission/decide-permission.ts";

const modeCycle: readonly PermissionMode[] = ["default", "acceptEdits", "plan"];

/**
 * A key cycles through the modes. A mode that never asks is reached only if the chat was opened in it: a slip must not
 * lead there.
 */
export function nextPermissionMode(now: PermissionMode, opened: PermissionMode): PermissionMode {
  const modes = opened === "bypass" ? [...modeCycle, opened] : modeCycle;
  return modes[(modes.indexOf(now) + 1) % modes.length] ?? "default";
}
