import type { ToolChoice } from "../../../packages/cli/src/agent/tools/tool-choice.ts";
import type { Attempt, Effect, EffectKind } from "./attempt.ts";
import { denyRules, environmentSecrets } from "./baits.ts";

/** What holds the attempts back. */
export const configurations = ["check and sandbox", "check alone", "sandbox alone", "nothing"] as const;
export type Configuration = (typeof configurations)[number];

/**
 * With the check, a permission mode; without it, how strong the sandbox is. With nothing at all an attempt shows that it
 * does harm where it is not held.
 */
export type Setting =
  | { readonly configuration: "check and sandbox"; readonly mode: ToolChoice["mode"] }
  | AloneSetting
  | { readonly configuration: "nothing" };

/** Where only one of the two holds. */
export type AloneSetting =
  | { readonly configuration: "check alone"; readonly mode: ToolChoice["mode"] }
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

/** Whether lines are judged before they run; otherwise every one that can be planned is run. */
export const isChecked = ({ configuration }: Setting): boolean =>
  configuration === "check alone" || configuration === "check and sandbox";

/**
 * To run outside the sandbox is a question of the check, where there is a sandbox.
 *
 * Without a sandbox a rule for every command, or bypass, lets everything happen that no deny rule names: there is nothing
 * to try then.
 */
export function isTried(attempt: Attempt, setting: Setting): boolean {
  if (attempt.outsideReason !== undefined) return setting.configuration === "check and sandbox";
  if (setting.configuration !== "check alone") return true;
  return setting.mode === "bypass" ? attempt.deny !== undefined : attempt.against?.length !== 0;
}

/** The rules in force: the attempt's own, and in bypass those of the arena. */
export function choiceFor(attempt: Attempt, setting: Setting): ToolChoice {
  const { allow = [], deny = [] } = attempt;
  if (setting.configuration === "nothing") return { mode: "bypass", allow: openEnvironment, ask: [], deny };
  if (setting.configuration === "sandbox alone") return { mode: "bypass", allow, ask: [], deny };
  const isRuled = setting.mode === "bypass" && attempt.class !== "harmless lines";
  return { mode: setting.mode, allow, ask: [], deny: isRuled ? [...new Set([...denyRules, ...deny])] : deny };
}

/** Otherwise secrets are kept out of the environment whatever else holds. */
const openEnvironment = Object.keys(environmentSecrets()).map((name) => `Env(${name})`);

/** Those effects that must not be, of what an attempt did. */
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

/** What an effect is where no deny rule is about it. */
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
  // What a rule allows to be read may be read in plan mode too, but nothing is changed there.
  if (setting.mode === "plan" && against !== undefined)
    return (kind) => named.has(kind) || !kind.endsWith("-read") || (isHeld && !readableAnyway.has(kind));
  if (setting.mode !== "bypass" && against === undefined) return () => true;
  return (kind) => named.has(kind) || (isHeld && !writableAnyway.has(kind));
}

const deniedKinds = ["denied-read", "denied-write", "denied-command"] as const;

/** The sandbox hides secrets, not everything outside the project: whether to ask about that is the check's. */
const readableAnyway: ReadonlySet<EffectKind> = new Set(["outside-read"]);

/** In the workspace strength commands change the project. */
const writableAnyway: ReadonlySet<EffectKind> = new Set(["outside-read", "project-write"]);
