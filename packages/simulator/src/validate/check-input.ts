import type { Model } from "palimpsest/internal/schema/model";
import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { CountRequest, MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/request";
import type { WireTool } from "palimpsest/internal/schema/wire/tool";
import type { ModelTraits } from "../model-traits.ts";
import type { Refusal } from "../refusal.ts";

export interface CheckInput {
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly betas: ReadonlySet<string>;
  readonly endpoint: "messages" | "count_tokens";
}

/** One idea of what a valid request is. Looks at a request that has its shape. */
export type Rule = (input: CheckInput) => Refusal | undefined;

/** The request if an answer is wanted; what concerns the answer is no matter of a count. */
export const answered = ({ request, endpoint }: CheckInput): MessagesRequest | undefined =>
  endpoint === "messages" && "max_tokens" in request ? request : undefined;

/** Content given as a text is one text block; an empty text is no block at all. */
export function blocksOf(content: WireMessage["content"]): readonly WireBlock[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

export const blockPath = (message: number, block: number): string => `messages.${message}.content.${block}`;

export type CustomTool = Extract<WireTool, { input_schema: unknown }>;

export const isCustomTool = (tool: WireTool): tool is CustomTool =>
  tool.type === undefined || tool.type === null || tool.type === "custom";

export const isThinkingBlock = (block: WireBlock | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** Kinds of thinking in which the model thinks. */
export const thinks = (request: CheckInput["request"]): boolean => {
  const type = request.thinking?.type;
  return type === "enabled" || type === "adaptive" || type === "between_tools";
};

export const forcesTool = (request: CheckInput["request"]): boolean =>
  request.tool_choice?.type === "any" || request.tool_choice?.type === "tool";
