import { z } from "zod";
import { anyJson } from "../any-json.ts";
import { textBlock, wireBlock } from "./wire-block.ts";
import { cacheControl } from "./cache-control.ts";
import { extensionParams } from "./extension.ts";
import { wireTool } from "./wire-tool.ts";

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
  /** Replaces the server's own instructions to the model. */
  instructions: z.string().nullish(),
});

/** Edits that the server makes to what the model sees; the client's own messages stay unchanged. */
const contextManagement = z.strictObject({
  edits: z.array(z.discriminatedUnion("type", [clearToolUses, clearThinking, compact])).nullish(),
});
type ContextManagement = z.infer<typeof contextManagement>;
export type ContextEdit = NonNullable<ContextManagement["edits"]>[number];
export type ContextEditOf<Type extends ContextEdit["type"]> = Extract<ContextEdit, { type: Type }>;

/** The whole conversation is summarised, and no reply follows. */
const compactionConfig = z.strictObject({
  type: z.literal("summarize"),
  instructions: z.string().nullish(),
});

/** A conversation that the server holds between two requests. */
export const threadParam = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("create") }),
  z.strictObject({ type: z.literal("continue"), previous_message_id: z.string() }),
]);

const object = z.record(z.string(), anyJson);

const effort = z.enum(["low", "medium", "high", "xhigh", "max"]).nullish();

export const wireMessage = z.strictObject({
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(wireBlock)]),
  /** Only in system messages and only with a beta; a rule of the simulator checks that. */
  output_config: z.strictObject({ effort }).nullish(),
  /** Only in system messages and only with a beta. */
  clear_at: z.enum(["next_user_message", "never"]).nullish(),
});
export type WireMessage = z.infer<typeof wireMessage>;

const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const toolChoice = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("auto"), ...parallel }),
  z.strictObject({ type: z.literal("any"), ...parallel }),
  z.strictObject({ type: z.literal("tool"), name: z.string(), ...parallel }),
  z.strictObject({ type: z.literal("none") }),
]);

const blockBinding = z.strictObject({ prefix_mismatch_behavior: z.enum(["error", "drop_block"]).nullish() }).nullish();
const display = z.enum(["summarized", "omitted", "updates"]).nullish();
const thinkingConfig = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int(), display, block_binding: blockBinding }),
  z.strictObject({ type: z.literal("adaptive"), display, block_binding: blockBinding }),
  z.strictObject({ type: z.literal("between_tools") }),
  z.strictObject({ type: z.literal("disabled") }),
]);

const outputConfig = z.strictObject({
  effort,
  format: object.nullish(),
  task_budget: object.nullish(),
});

/** Fields that a request to count tokens accepts too. */
const countableFields = {
  model: z.string().min(1),
  messages: z.array(wireMessage),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  tools: z.array(wireTool).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: thinkingConfig.nullish(),
  cache_control: cacheControl.nullish(),
  output_config: outputConfig.nullish(),
  /** Older name of `output_config.format`. */
  output_format: object.nullish(),
  speed: z.enum(["standard", "fast"]).nullish(),
  mcp_servers: z.array(object).nullish(),
  context_management: contextManagement.nullish(),
  compaction: compactionConfig.nullish(),
  ...extensionParams,
};

export const countRequest = z.strictObject(countableFields);

export const messagesRequest = z.strictObject({
  ...countableFields,
  max_tokens: z.int().nonnegative(),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().nonnegative().nullish(),
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).nullish(),
  service_tier: z.enum(["auto", "standard_only"]).nullish(),
  inference_geo: z.string().nullish(),
  container: anyJson.optional(),
  thread: threadParam.nullish(),
  /** Checks beside the conversation, with what the client tells them about itself: nothing of it is in the prompt. */
  safeguards: z.array(z.looseObject({ type: z.string() })).nullish(),
  diagnostics: z.strictObject({ previous_message_id: z.string().nullish() }).nullish(),
});

export type MessagesRequest = z.infer<typeof messagesRequest>;
export type CountRequest = z.infer<typeof countRequest>;
