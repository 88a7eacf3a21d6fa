import { z } from "zod";
import { anyJson } from "../any-json.ts";
import { cacheControl } from "./cache-control.ts";

const object = z.record(z.string(), anyJson);

/** A client's tool has a schema; a provider's tool has a dated type and its own fields. */
export const wireTool = z.union([
  z.strictObject({
    type: z.literal("custom").nullish(),
    name: z.string(),
    description: z.string().optional(),
    input_schema: object,
    cache_control: cacheControl.nullish(),
    allowed_callers: z.array(z.string()).optional(),
    defer_loading: z.boolean().optional(),
    eager_input_streaming: z.boolean().nullish(),
    input_examples: z.array(object).optional(),
    strict: z.boolean().optional(),
  }),
  z.looseObject({
    type: z.string().regex(/_\d{8}$/),
    name: z.string().optional(),
    cache_control: cacheControl.nullish(),
    defer_loading: z.boolean().optional(),
  }),
]);
export type WireTool = z.infer<typeof wireTool>;

const toolReference = z.strictObject({ type: z.literal("tool_reference"), name: z.string() });
const mcpToolReference = z.strictObject({
  type: z.literal("mcp_tool_reference"),
  name: z.string(),
  server_name: z.string(),
});
const mcpToolsetReference = z.strictObject({ type: z.literal("mcp_toolset_reference"), server_name: z.string() });
const toolDefinition = z.strictObject({ type: z.literal("tool_definition"), definition: wireTool });

/** From here on the model has one more tool: one of `tools`, or one that is defined here. */
export const toolAdditionBlock = z.strictObject({
  type: z.literal("tool_addition"),
  tool: z.discriminatedUnion("type", [toolReference, mcpToolReference, mcpToolsetReference, toolDefinition]),
  cache_control: cacheControl.nullish(),
});

/** From here on the model has one tool less. */
export const toolRemovalBlock = z.strictObject({
  type: z.literal("tool_removal"),
  tool: z.discriminatedUnion("type", [toolReference, mcpToolReference, mcpToolsetReference]),
  cache_control: cacheControl.nullish(),
});

export const toolChange = z.discriminatedUnion("type", [toolAdditionBlock, toolRemovalBlock]);
export type ToolChange = z.infer<typeof toolChange>;
