import { z } from "zod";
import { anyJson } from "../any-json.ts";
import { cacheControl } from "./cache-control.ts";
import { toolAdditionBlock, toolChange, toolRemovalBlock } from "./wire-tool.ts";

/**
 * Strict schemas of the content blocks in a request: an unknown field is refused by name, as by the API. The engine's
 * `Block` (schema/block.ts) is the lenient type of the same values, for logs that must open whatever they contain.
 */
const cacheableFields = { cache_control: cacheControl.nullish() };
const object = z.record(z.string(), anyJson);

/** Who made a call: the model itself, or its code. */
const caller = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("direct") }),
  z.strictObject({ type: z.enum(["code_execution_20250825", "code_execution_20260120"]), tool_id: z.string() }),
]);

/** Replies contain `file_id`, and the API accepts a reply back unchanged. A separate rule refuses cache marks here. */
const inDocument = {
  ...cacheableFields,
  cited_text: z.string(),
  document_index: z.int(),
  document_title: z.string().nullish(),
  file_id: z.string().nullish(),
};

const citation = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("char_location"),
    start_char_index: z.int(),
    end_char_index: z.int(),
    ...inDocument,
  }),
  z.strictObject({
    type: z.literal("page_location"),
    start_page_number: z.int(),
    end_page_number: z.int(),
    ...inDocument,
  }),
  z.strictObject({
    type: z.literal("content_block_location"),
    start_block_index: z.int(),
    end_block_index: z.int(),
    ...inDocument,
  }),
  z.strictObject({
    type: z.literal("web_search_result_location"),
    cited_text: z.string(),
    encrypted_index: z.string(),
    title: z.string().nullish(),
    url: z.string(),
    ...cacheableFields,
  }),
  z.strictObject({
    type: z.literal("search_result_location"),
    cited_text: z.string(),
    search_result_index: z.int(),
    start_block_index: z.int(),
    end_block_index: z.int(),
    source: z.string(),
    title: z.string().nullish(),
    ...cacheableFields,
  }),
]);

export const textBlock = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  citations: z.array(citation).nullish(),
  ...cacheableFields,
});

const imageSource = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("base64"),
    media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
    data: z.string(),
  }),
  z.strictObject({ type: z.literal("url"), url: z.string() }),
  z.strictObject({ type: z.literal("file"), file_id: z.string() }),
]);

export const imageBlock = z.strictObject({
  type: z.literal("image"),
  source: imageSource,
  transformations: object.nullish(),
  ...cacheableFields,
});

const documentSource = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("base64"), media_type: z.literal("application/pdf"), data: z.string() }),
  z.strictObject({ type: z.literal("text"), media_type: z.literal("text/plain"), data: z.string() }),
  z.strictObject({
    type: z.literal("content"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textBlock, imageBlock]))]),
  }),
  z.strictObject({ type: z.literal("url"), url: z.string() }),
  z.strictObject({ type: z.literal("file"), file_id: z.string() }),
]);

export const documentBlock = z.strictObject({
  type: z.literal("document"),
  source: documentSource,
  citations: z.strictObject({ enabled: z.boolean().optional() }).nullish(),
  context: z.string().nullish(),
  title: z.string().nullish(),
  ...cacheableFields,
});

const searchResultBlock = z.strictObject({
  type: z.literal("search_result"),
  content: z.array(textBlock),
  source: z.string(),
  title: z.string(),
  citations: z.strictObject({ enabled: z.boolean().optional() }).optional(),
  ...cacheableFields,
});

const thinkingBlock = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string(),
  /** Accepted here so that a separate rule can refuse it with a better message than "extra input". */
  ...cacheableFields,
});
const redactedThinkingBlock = z.strictObject({
  type: z.literal("redacted_thinking"),
  data: z.string(),
  ...cacheableFields,
});

const toolUseBlock = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: object,
  caller: caller.nullish(),
  toolset_name: z.string().nullish(),
  ...cacheableFields,
});

const toolReference = z.strictObject({ type: z.literal("tool_reference"), tool_name: z.string(), ...cacheableFields });
const browserState = z.looseObject({ type: z.literal("browser_state") });

export const resultPart = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  searchResultBlock,
  documentBlock,
  toolReference,
  browserState,
]);

const toolResultBlock = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(resultPart)]).optional(),
  is_error: z.boolean().nullish(),
  toolset_name: z.string().nullish(),
  ...cacheableFields,
});

const serverToolUseBlock = z.strictObject({
  type: z.literal("server_tool_use"),
  id: z.string(),
  name: z.string(),
  input: object,
  caller: caller.nullish(),
  ...cacheableFields,
});

const serverResult = <Type extends string>(type: Type) =>
  z.strictObject({
    type: z.literal(type),
    tool_use_id: z.string(),
    content: anyJson,
    caller: caller.nullish(),
    ...cacheableFields,
  });

const mcpToolUseBlock = z.strictObject({
  type: z.literal("mcp_tool_use"),
  id: z.string(),
  name: z.string(),
  server_name: z.string(),
  input: object,
  ...cacheableFields,
});

const mcpToolResultBlock = z.strictObject({
  type: z.literal("mcp_tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(textBlock)]).optional(),
  is_error: z.boolean().nullish(),
  ...cacheableFields,
});

const containerUploadBlock = z.strictObject({
  type: z.literal("container_upload"),
  file_id: z.string(),
  ...cacheableFields,
});

/** Replaces everything before it. Without content the compaction failed, and it replaces nothing. */
const compactionBlock = z.strictObject({
  type: z.literal("compaction"),
  content: z.string().nullish(),
  encrypted_content: z.string().nullish(),
  signature: z.string().nullish(),
  tool_changes: z.array(toolChange).nullish(),
  ...cacheableFields,
});

export const wireBlock = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  documentBlock,
  searchResultBlock,
  thinkingBlock,
  redactedThinkingBlock,
  toolUseBlock,
  toolResultBlock,
  serverToolUseBlock,
  serverResult("web_search_tool_result"),
  serverResult("web_fetch_tool_result"),
  serverResult("code_execution_tool_result"),
  serverResult("bash_code_execution_tool_result"),
  serverResult("text_editor_code_execution_tool_result"),
  serverResult("tool_search_tool_result"),
  mcpToolUseBlock,
  mcpToolResultBlock,
  containerUploadBlock,
  compactionBlock,
  toolAdditionBlock,
  toolRemovalBlock,
]);

export type WireBlock = z.infer<typeof wireBlock>;
export type WireResultPart = z.infer<typeof resultPart>;
