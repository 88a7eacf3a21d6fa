import { z } from "zod";
import { anyJson } from "./any-json.ts";
import type { JsonObject } from "./json.ts";

/** The events that can trigger a hook, under the ecosystem's names. */
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

export const isHookEventName = (name: string): name is HookEventName => hookEventNames.some((known) => known === name);

/** A longer limit would let one hook block a session for longer than a user waits. */
export const hookTimeoutSecondsMax = 600;

/** One hook of a settings file, with everything that decides when it runs. */
export const hookSettingShape = z.strictObject({
  event: z.enum(hookEventNames),
  /** As in the file; empty: always. */
  matcher: z.string(),
  /** A shell command. */
  command: z.string().min(1),
  /** Absent: the event's default limit. */
  timeoutSeconds: z.number().gt(0).lte(hookTimeoutSecondsMax).optional(),
  /** The settings file that contains it. */
  from: z.string(),
});
export type HookSetting = z.infer<typeof hookSettingShape>;

/**
 *   "", "*"                                       everything
 *   letters, digits, `_`, `-`, space, `,`, `|`    a list of names, each compared in full
 *   anything else                                 a regular expression that may match anywhere in the name
 */
type Matcher =
  | { readonly kind: "all" }
  | { readonly kind: "names"; readonly names: ReadonlySet<string> }
  | { readonly kind: "pattern"; readonly pattern: RegExp }
  | { readonly kind: "wrong"; readonly why: string };

export function parseMatcher(source: string): Matcher {
  if (source === "" || source === "*") return { kind: "all" };
  if (nameListPattern.test(source)) {
    const names = source.split(/[,|]/).map((name) => name.trim());
    return { kind: "names", names: new Set(names.filter((name) => name !== "")) };
  }
  try {
    return { kind: "pattern", pattern: new RegExp(source) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "wrong", why: error.message };
  }
}

const nameListPattern = /^[\p{L}\p{N}_\- ,|]+$/u;

/** `names`: our name and the names that others use; one match is enough. */
export function isMatch(matcher: Matcher, names: readonly string[]): boolean {
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

const input = z.record(z.string(), anyJson) satisfies z.ZodType<JsonObject>;

/** The answer of one hook, whether it is a command or a function. Every field may be absent. */
export const hookAnswerShape = z.strictObject({
  /** The event must not happen; the text is the reason. */
  block: z.string().optional(),
  /** The turn ends here; the text is the reason. */
  stop: z.string().optional(),
  /** Shown to the model. */
  context: z.string().optional(),
  /** Shown to the user. */
  message: z.string().optional(),
  /** For a call: `allow` runs it without asking, `ask` asks in any case. To deny it, set `block`. */
  permission: z.enum(["allow", "ask"]).optional(),
  /** For a call: replaces its input. */
  updatedInput: input.optional(),
});
export type HookAnswer = z.infer<typeof hookAnswerShape>;

/** What a command may print, in the ecosystem's format. Unknown keys are ignored. */
export const hookOutputShape = z.looseObject({
  continue: z.boolean().optional(),
  stopReason: z.string().optional(),
  systemMessage: z.string().optional(),
  decision: z.enum(["block", "approve"]).optional(),
  reason: z.string().optional(),
  hookSpecificOutput: z
    .looseObject({
      hookEventName: z.string().optional(),
      additionalContext: z.string().optional(),
      permissionDecision: z.enum(["allow", "deny", "ask"]).optional(),
      permissionDecisionReason: z.string().optional(),
      updatedInput: input.optional(),
      /** For PermissionRequest. */
      decision: z
        .looseObject({
          behavior: z.enum(["allow", "deny"]),
          message: z.string().optional(),
          updatedInput: input.optional(),
        })
        .optional(),
    })
    .optional(),
});
export type HookOutput = z.infer<typeof hookOutputShape>;
