import { z } from "zod";
import { anyJson } from "../any-json.ts";
import { textBlock, wireBlock } from "./block.ts";
import { cacheControl } from "./cache-control.ts";
import { cacheEditsParam } from "./cache-edits.ts";
import { compactionConfig, contextManagement, threadParam } from "./context-management.ts";
import { wireTool } from "./tool.ts";

/** `POST /v1/messages`, body. Rules that concern more than one field are not here: the simulator has them. */
const object = z.record(z.string(), anyJson);

const effort = z.enum(["low", "medium", "high", "xhigh", "max"]).nullish();

export const wireMessage = z.strictObject({
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(wireBlock)]),
  /** Only of system messages, and only with a beta; a rule says so. */
  output_config: z.strictObject({ effort }).nullish(),
  /** Only of system messages, and only with a beta. */
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

/** What a count of tokens takes too. */
const counted = {
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
  ...cacheEditsParam,
};

export const countRequest = z.strictObject(counted);

export const messagesRequest = z.strictObject({
  ...counted,
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
  diagnostics: z.strictObject({ previous_message_id: z.string().nullish() }).nullish(),
});

export type MessagesRequest = z.infer<typeof messagesRequest>;
export type CountRequest = z.infer<typeof countRequest>;
