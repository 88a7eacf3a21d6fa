import { z } from "zod";

/** What a hook can be called at, under the ecosystem's names. */
export const hookEventNames = [
  "SessionStart",
  "SessionEnd",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PermissionRequest",
  "Notification",
  "Stop",
  "SubagentStart",
  "SubagentStop",
  "PreCompact",
  "PostCompact",
  "InstructionsLoaded",
] as const;
export type HookEventName = (typeof hookEventNames)[number];

export const isHookEventName = (name: string): name is HookEventName => hookEventNames.some((one) => one === name);

/** More would let one hook hold up a session for longer than a person waits. */
export const hookTimeoutSecondsMax = 600;

/** One hook of a settings file, with everything around it that decides when it runs. */
export const hookSettingShape = z.strictObject({
  event: z.enum(hookEventNames),
  /** As written; empty: always. */
  matcher: z.string(),
  /** A line for the shell. */
  command: z.string().min(1),
  /** The event's own limit where it is absent. */
  timeoutSeconds: z.number().gt(0).lte(hookTimeoutSecondsMax).optional(),
  /** The file it stands in. */
  from: z.string(),
});
export type HookSetting = z.infer<typeof hookSettingShape>;

/**
 *   "", "*"                                       everything
 *   letters, digits, `_`, `-`, space, `,`, `|`    a list of names, each compared whole
 *   anything else                                 a regular expression, found anywhere in the name
 */
export type Matcher =
  | { readonly kind: "all" }
  | { readonly kind: "names"; readonly names: ReadonlySet<string> }
  | { readonly kind: "pattern"; readonly pattern: RegExp }
  | { readonly kind: "wrong"; readonly why: string };

export function matcherOf(written: string): Matcher {
  if (written === "" || written === "*") return { kind: "all" };
  if (nameList.test(written)) {
    const names = written.split(/[,|]/).map((name) => name.trim());
    return { kind: "names", names: new Set(names.filter((name) => name !== "")) };
  }
  try {
    return { kind: "pattern", pattern: new RegExp(written) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "wrong", why: error.message };
  }
}

const nameList = /^[\p{L}\p{N}_\- ,|]+$/u;

/** `names`: what the thing is called, by us and by others; one that fits is enough. */
export function isMatched(matcher: Matcher, names: readonly string[]): boolean {
  switch (matcher.kind) {
    case "all":
      return true;
    case "names":
      return names.some((name) => matcher.names.has(name));
    case "pattern":
      return names.some((name) => matcher.pattern.test(name));
    case "wrong":
      return false;
  }
}
