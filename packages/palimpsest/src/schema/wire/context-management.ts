import { z } from "zod";

/** Edits that the server makes to what the model is shown; the client's own messages stay whole. */
const inputTokens = z.strictObject({ type: z.literal("input_tokens"), value: z.int().nonnegative() });
const toolUses = z.strictObject({ type: z.literal("tool_uses"), value: z.int().nonnegative() });

const clearToolUses = z.strictObject({
  type: z.literal("clear_tool_uses_20250919"),
  trigger: z.discriminatedUnion("type", [inputTokens, toolUses]).nullish(),
  keep: toolUses.nullish(),
  clear_at_least: inputTokens.nullish(),
  exclude_tools: z.array(z.string()).nullish(),
  clear_tool_inputs: z.union([z.boolean(), z.array(z.string())]).nullish(),
});

const clearThinking = z.strictObject({
  type: z.literal("clear_thinking_20251015"),
  keep: z
    .union([
      z.literal("all"),
      z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("all") }),
        z.strictObject({ type: z.literal("thinking_turns"), value: z.int().positive() }),
      ]),
    ])
    .nullish(),
});

const compact = z.strictObject({
  type: z.literal("compact_20260112"),
  trigger: inputTokens.nullish(),
  pause_after_compaction: z.boolean().nullish(),
  /** In place of the server's own words to the model. */
  instructions: z.string().nullish(),
});

export const contextManagement = z.strictObject({
  edits: z.array(z.discriminatedUnion("type", [clearToolUses, clearThinking, compact])).nullish(),
});
export type ContextManagement = z.infer<typeof contextManagement>;
export type ContextEdit = NonNullable<ContextManagement["edits"]>[number];
export type ContextEditOf<Type extends ContextEdit["type"]> = Extract<ContextEdit, { type: Type }>;

/** The whole conversation is summed up and nothing is said behind it. */
export const compactionConfig = z.strictObject({
  type: z.literal("summarize"),
  instructions: z.string().nullish(),
});

/** A conversation that the server holds between two requests. */
export const threadParam = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("create") }),
  z.strictObject({ type: z.literal("continue"), previous_message_id: z.string() }),
]);
