import { z } from "zod";
import { anyJson } from "./any-json.ts";
import type { JsonObject } from "./json.ts";

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
