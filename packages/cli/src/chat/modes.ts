import type { PermissionMode } from "../tool/permission/decide.ts";

const round: readonly PermissionMode[] = ["default", "acceptEdits", "plan"];

/** By a key, round and round. What asks nobody is reached only where the chat was opened so: a slip must not lead there. */
export function nextModeOf(now: PermissionMode, opened: PermissionMode): PermissionMode {
  const reached = opened === "bypass" ? [...round, opened] : round;
  return reached[(reached.indexOf(now) + 1) % reached.length] ?? "default";
}
