import type { Model } from "palimpsest/internal/schema/model";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { CountRequest, MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import type { ModelTraits } from "../prompt/model-traits.ts";
import type { Refusal } from "../refusal.ts";

export interface CheckInput {
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly betas: ReadonlySet<string>;
  readonly endpoint: "messages" | "count_tokens";
}

/** One rule of a valid request. The request's shape has already been checked. */
export type Rule = (input: CheckInput) => Refusal | undefined;

/** The request if an answer is wanted; rules about the answer do not apply to a count. */
export const requestWithAnswer = ({ request, endpoint }: CheckInput): MessagesRequest | undefined =>
  endpoint === "messages" && "max_tokens" in request ? request : undefined;

/** Content that is a string is one text block; an empty string is no block at all. */
export function contentBlocks(content: WireMessage["content"]): readonly WireBlock[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

export const blockPath = (message: number, block: number): string => `messages.${message}.content.${block}`;

type CustomTool = Extract<WireTool, { input_schema: unknown }>;

export const isCustomTool = (tool: WireTool): tool is CustomTool =>
  tool.type === undefined || tool.type === null || tool.type === "custom";

export const isThinkingBlock = (block: WireBlock | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** Whether the requested kind of thinking makes the model think. */
export const isThinking = (request: CheckInput["request"]): boolean => {
  const type = request.thinking?.type;
  return type === "enabled" || type === "adaptive" || type === "between_tools";
};

export const forcesTool = (request: CheckInput["request"]): boolean =>
  request.tool_choice?.type === "any" || request.tool_choice?.type === "tool";

/** A field that a request may have only with a beta. */
export interface BetaField {
  readonly path: string;
  readonly value: (request: CheckInput["request"]) => unknown;
  /** Any of them allows the field. */
  readonly betas: readonly string[];
  /** Models from this version on accept the field without a beta. */
  readonly generalSince?: number;
}

/** Consecutive messages of one role, which the API treats as one turn. */
export interface Turn {
  readonly role: WireMessage["role"];
  readonly blocks: readonly PlacedBlock[];
  /** Index of its last message. */
  readonly last: number;
}

export interface PlacedBlock {
  readonly block: WireBlock;
  readonly message: number;
  readonly index: number;
}

export const formatPlace = ({ message, index }: PlacedBlock): string => blockPath(message, index);

export function groupTurns(messages: readonly WireMessage[]): readonly Turn[] {
  const turns: { role: WireMessage["role"]; blocks: PlacedBlock[]; last: number }[] = [];
  for (const [message, { role, content }] of messages.entries()) {
    const blocks = contentBlocks(content).map((block, index) => ({ block, message, index }));
    const turn = turns.at(-1);
    if (turn?.role === role) {
      for (const block of blocks) turn.blocks.push(block);
      turn.last = message;
    } else {
      turns.push({ role, blocks, last: message });
    }
  }
  return turns;
}
