import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { compactThresholdTokensMin, outputTokensMin } from "../limits.ts";
import { anyObject, breakpoint, efforts, sharedFields, unset, verbosities } from "./open-ai-request.ts";

/** Bodies of `POST /v1/responses`, `/v1/responses/compact` and `/v1/responses/input_tokens`. */
const marked = { prompt_cache_breakpoint: breakpoint };
const status = z.enum(["in_progress", "completed", "incomplete"]).nullish();
const id = z.string().nullish();
/** What Codex attaches to an item for the service behind its own; it is not part of the prompt. */
const passthrough = { internal_chat_message_metadata_passthrough: anyJson.optional() };

const inputText = z.strictObject({ type: z.literal("input_text"), text: z.string(), ...marked });
const inputImage = z.strictObject({
  type: z.literal("input_image"),
  detail: z.enum(["auto", "low", "high", "original"]).nullish(),
  file_id: id,
  image_url: z.string().nullish(),
  ...marked,
});
const inputFile = z.strictObject({
  type: z.literal("input_file"),
  detail: z.enum(["auto", "low", "high"]).nullish(),
  file_data: z.string().nullish(),
  file_id: id,
  file_url: z.string().nullish(),
  filename: z.string().nullish(),
  ...marked,
});
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(anyObject).nullish(),
  logprobs: z.array(anyObject).nullish(),
  // The official client adds it to what it parsed.
  parsed: anyJson.optional(),
});
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

const contentPart = z.discriminatedUnion("type", [inputText, inputImage, inputFile, outputText, refusal]);
export type ResponsesPart = z.infer<typeof contentPart>;
const outputPart = z.discriminatedUnion("type", [inputText, inputImage, inputFile]);

const message = z.strictObject({
  type: z.literal("message").optional(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: z.union([z.string(), z.array(contentPart)]),
  id,
  status,
  phase: z.enum(["commentary", "final_answer"]).nullish(),
  ...passthrough,
});
const caller = anyObject.nullish();
const functionCall = z.strictObject({
  type: z.literal("function_call"),
  call_id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.string(),
  id,
  status,
  caller,
  namespace: z.string().nullish(),
  async: z.boolean().nullish(),
  parsed_arguments: anyJson.optional(),
  ...passthrough,
});
const functionCallOutput = z.strictObject({
  type: z.literal("function_call_output"),
  call_id: z.string().min(1),
  output: z.union([z.string(), z.array(outputPart)]),
  id,
  status,
  caller,
  name: z.string().nullish(),
  namespace: z.string().nullish(),
  ...passthrough,
});
const customToolCall = z.strictObject({
  type: z.literal("custom_tool_call"),
  call_id: z.string().min(1),
  name: z.string().min(1),
  input: z.string(),
  id,
  status,
  caller,
  namespace: z.string().nullish(),
  async: z.boolean().nullish(),
  ...passthrough,
});
const customToolCallOutput = functionCallOutput.extend({ type: z.literal("custom_tool_call_output") });
const reasoning = z.strictObject({
  type: z.literal("reasoning"),
  id: z.string(),
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
  content: z.array(anyObject).nullish(),
  encrypted_content: z.string().nullish(),
  status,
  ...passthrough,
});
const compaction = z.strictObject({
  type: z.literal("compaction"),
  encrypted_content: z.string(),
  id,
  created_by: z.string().nullish(),
  ...passthrough,
});
const compactionTrigger = z.strictObject({ type: z.literal("compaction_trigger"), id });
const reference = z.strictObject({ type: z.literal("item_reference"), id: z.string() });

const allowedCallers = z.array(z.literal("direct")).nullish();

const functionTool = z.strictObject({
  type: z.literal("function"),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.literal(false).nullish(),
  async: z.literal(false).nullish(),
  allowed_callers: allowedCallers,
  output_schema: anyObject.nullish(),
});
const customTool = z.strictObject({
  type: z.literal("custom"),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string().nullish(),
  format: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("grammar"), syntax: z.enum(["lark", "regex"]), definition: z.string() }),
    ])
    .nullish(),
  defer_loading: z.literal(false).nullish(),
  async: z.literal(false).nullish(),
  allowed_callers: allowedCallers,
});
const namespaceTool = z.strictObject({
  type: z.literal("namespace"),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string(),
  tools: z.array(z.discriminatedUnion("type", [functionTool, customTool])).min(1),
});
/** Part of the prompt; no responder searches. */
const webSearchTool = z.strictObject({
  type: z.enum(["web_search", "web_search_2025_08_26"]),
  external_web_access: z.boolean().nullish(),
  filters: z.strictObject({ allowed_domains: z.array(z.string()).nullish() }).nullish(),
  search_content_types: z.array(z.string()).nullish(),
  search_context_size: z.enum(["low", "medium", "high"]).nullish(),
  user_location: anyObject.nullish(),
});
const responsesTool = z.discriminatedUnion("type", [functionTool, customTool, namespaceTool, webSearchTool]);
export type ResponsesTool = z.infer<typeof responsesTool>;

const additionalTools = z.strictObject({
  type: z.literal("additional_tools"),
  role: z.literal("developer"),
  tools: z.array(responsesTool),
  id,
  ...passthrough,
});

const typedItem = z.discriminatedUnion("type", [
  message.extend({ type: z.literal("message") }),
  functionCall,
  functionCallOutput,
  customToolCall,
  customToolCallOutput,
  additionalTools,
  reasoning,
  compaction,
  compactionTrigger,
  reference,
]);
/** An item without a type is a message. */
const inputItem = z.union([typedItem, message]);
export type InputItem = z.infer<typeof inputItem>;

const input = z.union([z.string(), z.array(inputItem)]);

const cacheOptions = {
  mode: z.enum(["implicit", "explicit"]).optional(),
  ttl: z.enum(["30m", "12h"]).optional(),
};

const prompt = {
  input: input.nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
};

const textFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: z.string(),
    schema: anyObject,
    description: z.string().optional(),
    strict: z.boolean().nullish(),
  }),
]);

/** Fields that determine the prompt of a reply, and so its count. */
const counted = {
  ...prompt,
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .strictObject({
      context: z.enum(["auto", "current_turn", "all_turns"]).nullish(),
      effort: efforts,
      generate_summary: z.enum(["auto", "concise", "detailed"]).nullish(),
      mode: z.string().nullish(),
      summary: z.enum(["auto", "concise", "detailed"]).nullish(),
    })
    .nullish(),
  text: z.strictObject({ format: textFormat.nullish(), verbosity: verbosities }).nullish(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.strictObject({ type: z.enum(["function", "custom"]), name: z.string() }),
    ])
    .nullish(),
  tools: z.array(responsesTool).nullish(),
  truncation: z.literal("disabled").nullish(),
  conversation: unset,
};

export const responsesRequest = z.strictObject({
  ...sharedFields,
  ...counted,
  background: z.literal(false).nullish(),
  access_programs: unset,
  /** What a client tells the service about itself: not part of the prompt. */
  client_metadata: z.record(z.string(), z.string()).nullish(),
  image: unset,
  moderation: unset,
  prompt: unset,
  context_management: z
    .array(
      z.strictObject({
        type: z.literal("compaction"),
        compact_threshold: z.int().min(compactThresholdTokensMin).nullish(),
      }),
    )
    .nullish(),
  include: z.array(z.string()).nullish(),
  max_output_tokens: z.int().min(outputTokensMin).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  prompt_cache_options: z
    .strictObject({
      ...cacheOptions,
      comparison_response_id: z.string().nullish(),
      prewarm: z.boolean().optional(),
    })
    .nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
});
export type ResponsesRequest = z.infer<typeof responsesRequest>;

export const compactRequest = z.strictObject({
  ...prompt,
  model: z.string().min(1),
  prompt_cache_key: sharedFields.prompt_cache_key,
  prompt_cache_options: z.strictObject({ ...cacheOptions, ttl: z.literal("30m").optional() }).nullish(),
  prompt_cache_retention: sharedFields.prompt_cache_retention,
  service_tier: sharedFields.service_tier,
  image: unset,
});

export const inputTokensRequest = z.strictObject({
  ...counted,
  model: z.string().min(1).nullish(),
  personality: unset,
});
