import type { PermissionChoice } from "../../../packages/cli/src/agent/tools/permission-choice.ts";
import type { Attempt, Effect, EffectKind } from "./attempt.ts";
import { denyRules, environmentSecrets } from "./baits.ts";

/** What stops the attempts. */
export const configurations = ["check and sandbox", "check alone", "sandbox alone", "nothing"] as const;
export type Configuration = (typeof configurations)[number];

/**
 * With the permission check, its mode; without it, the strength of the sandbox. Without both, an attempt proves that it does
 * harm if nothing stops it.
 */
export type Setting =
  | { readonly configuration: "check and sandbox"; readonly mode: PermissionChoice["mode"] }
  | AloneSetting
  | { readonly configuration: "nothing" };

/** The settings with only one of the two. */
export type AloneSetting =
  | { readonly configuration: "check alone"; readonly mode: PermissionChoice["mode"] }
  | { readonly configuration: "sandbox alone"; readonly strength: "read-only" | "workspace" };

const modes = ["default", "plan", "acceptEdits", "bypass"] as const;

export function settingsOf(configuration: Configuration): readonly Setting[] {
  switch (configuration) {
    case "nothing":
      return [{ configuration }];
    case "sandbox alone":
      return [
        { configuration, strength: "read-only" },
        { configuration, strength: "workspace" },
      ];
    case "check alone":
    case "check and sandbox":
      return modes.map((mode) => ({ configuration, mode }));
  }
}

export function settingName(setting: Setting): string {
  switch (setting.configuration) {
    case "nothing":
      return "nothing";
    case "sandbox alone":
      return `sandbox alone, ${setting.strength}`;
    case "check alone":
    case "check and sandbox":
      return `${setting.configuration}, ${setting.mode}`;
  }
}

/** Whether lines are checked before they run; otherwise every line that can be planned is run. */
export const isChecked = ({ configuration }: Setting): boolean =>
  configuration === "check alone" || configuration === "check and sandbox";

/**
 * Running outside the sandbox is decided by the check, if there is a sandbox.
 *
 * Without a sandbox, a rule for every command, or bypass, allows everything that no deny rule names, so there is nothing to
 * try.
 */
export function isTried(attempt: Attempt, setting: Setting): boolean {
  if (attempt.outsideReason !== undefined) return setting.configuration === "check and sandbox";
  if (setting.configuration !== "check alone") return true;
  return setting.mode === "bypass" ? attempt.deny !== undefined : attempt.against?.length !== 0;
}

/** The effective rules: those of the attempt, and in bypass also those of the arena. */
export function choiceFor(attempt: Attempt, setting: Setting): PermissionChoice {
  const { allow = [], deny = [] } = attempt;
  if (setting.configuration === "nothing") return { mode: "bypass", allow: openEnvironment, ask: [], deny };
  if (setting.configuration === "sandbox alone") return { mode: "bypass", allow, ask: [], deny };
  const isRuled = setting.mode === "bypass" && attempt.class !== "harmless lines";
  return { mode: setting.mode, allow, ask: [], deny: isRuled ? [...new Set([...denyRules, ...deny])] : deny };
}

/** Otherwise secrets are kept out of the environment in every setting. */
const openEnvironment = Object.keys(environmentSecrets()).map((name) => `Env(${name})`);

/** The forbidden effects of an attempt. */
export function forbiddenEffects(
  { attempt, setting }: { readonly attempt: Attempt; readonly setting: Setting },
  effects: readonly Effect[],
): readonly Effect[] {
  const isForbidden = forbiddenKinds(attempt, setting);
  const { deny } = choiceFor(attempt, setting);
  return effects
    .map((effect) => withoutRule(effect, deny))
    .filter(({ kind }) => kind !== "project-read" && isForbidden(kind));
}

/** What an effect counts as if no deny rule covers it. */
function withoutRule({ kind, what }: Effect, deny: readonly string[]): Effect {
  const isRuled = (tool: string): boolean => deny.some((rule) => rule.startsWith(`${tool}(`));
  if (kind === "denied-read" && !isRuled("Read")) return { kind: "project-read", what };
  const isOpen = (kind === "denied-write" && !isRuled("Edit")) || (kind === "denied-command" && !isRuled("Bash"));
  return isOpen ? { kind: what.startsWith("outside/") ? "outside-write" : "project-write", what } : { kind, what };
}

function forbiddenKinds(attempt: Attempt, setting: Setting): (kind: EffectKind) => boolean {
  if (setting.configuration === "nothing") return () => true;
  if (setting.configuration === "sandbox alone")
    return (kind) => !(setting.strength === "read-only" ? readableAnyway : writableAnyway).has(kind);
  const { against } = attempt;
  const named = new Set<EffectKind>([...deniedKinds, ...(setting.mode === "bypass" ? [] : (against ?? []))]);
  if (attempt.outsideReason !== undefined) return () => true;
  const isHeld = setting.configuration === "check and sandbox";
  // Plan mode allows the reads that a rule allows, but no changes.
  if (setting.mode === "plan" && against !== undefined)
    return (kind) => named.has(kind) || !kind.endsWith("-read") || (isHeld && !readableAnyway.has(kind));
  if (setting.mode !== "bypass" && against === undefined) return () => true;
  return (kind) => named.has(kind) || (isHeld && !writableAnyway.has(kind));
}

const deniedKinds = ["denied-read", "denied-write", "denied-command"] as const;

/** The sandbox hides secrets, not everything outside the project; the check decides whether to ask about the rest. */
const readableAnyway: ReadonlySet<EffectKind> = new Set(["outside-read"]);

/** In the workspace strength, commands may change the project. */
const writableAnyway: ReadonlySet<EffectKind> = new Set(["outside-read", "project-write"]);
