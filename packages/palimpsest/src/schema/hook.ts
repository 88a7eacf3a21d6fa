import { z } from "zod";
import { anyJson } from "./any-json.ts";
import type { JsonObject } from "./json.ts";

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
type Matcher =
  | { readonly kind: "all" }
  | { readonly kind: "names"; readonly names: ReadonlySet<string> }
  | { readonly kind: "pattern"; readonly pattern: RegExp }
  | { readonly kind: "wrong"; readonly why: string };

export function parseMatcher(written: string): Matcher {
  if (written === "" || written === "*") return { kind: "all" };
  if (nameListPattern.test(written)) {
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

const nameListPattern = /^[\p{L}\p{N}_\- ,|]+$/u;

/** `names`: what the thing is called, by us and by others; one that fits is enough. */
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

/** What one hook says, whether it is a command or a function. All of it may be absent: nothing to say. */
export const hookAnswerShape = z.strictObject({
  /** What was about to happen must not; the text is the reason. */
  block: z.string().optional(),
  /** The turn ends here; the text is the reason. */
  stop: z.string().optional(),
  /** For the model. */
  context: z.string().optional(),
  /** For the person. */
  message: z.string().optional(),
  /** Of a call: `allow` runs it without asking, `ask` asks in any case. To deny is to block. */
  permission: z.enum(["allow", "ask"]).optional(),
  /** Of a call: what it runs with instead. */
  updatedInput: input.optional(),
});
export type HookAnswer = z.infer<typeof hookAnswerShape>;

/** What a command may print, as the ecosystem has it. Keys that we do not know are somebody else's. */
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
      /** Of PermissionRequest. */
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
