import { field, isObject, type JsonObject, parsedOrUndefined } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/request";
import type { Format, Part, Wish } from "./item.ts";
import { blockOf } from "./media.ts";
import type { OpenAiModel } from "./models.ts";
import type { ShownItem } from "./prompt.ts";

export interface MessagesInputs {
  readonly wish: Wish;
  readonly model: OpenAiModel;
  readonly items: readonly ShownItem[];
  readonly maxTokens: number;
}

/** The request as the actors know requests, whatever face it came to. They read it; nothing is validated again. */
export function messagesOf({ wish, model, items, maxTokens }: MessagesInputs): MessagesRequest {
  const lead = items.findIndex((item) => !isSystem(item));
  const leading = items.slice(0, lead < 0 ? items.length : lead);
  const system = [
    ...(wish.instructions === undefined ? [] : [wish.instructions]),
    ...leading.flatMap((item) => (item.kind === "message" ? [textOf(item.parts)] : [])),
  ];
  return {
    model: wish.model,
    max_tokens: maxTokens,
    messages: merged(items.slice(leading.length).map(messageOf)),
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    ...(wish.tools.length === 0 ? {} : { tools: wish.tools.map(toolOf), tool_choice: toolChoiceOf(wish) }),
    ...(wish.stop.length === 0 ? {} : { stop_sequences: [...wish.stop] }),
    ...(wish.format === undefined ? {} : { output_config: { format: formatOf(wish.format) } }),
    ...(thinks(wish, model) ? { thinking: { type: "adaptive" } } : {}),
    ...(wish.form === "stream" ? { stream: true } : {}),
  };
}

export const thinks = ({ reasoning }: Wish, model: OpenAiModel): boolean =>
  model.reasoning === "thinks" && reasoning.effort !== "none";

/** Any object is what the older format asks for. */
const formatOf = (format: Format): JsonObject => ({
  type: "json_schema",
  schema: (format.type === "json_schema" ? field(format, "schema") : undefined) ?? { type: "object" },
});

const isSystem = (item: ShownItem): boolean =>
  item.kind === "message" && (item.role === "system" || item.role === "developer");

const textOf = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");

const toolOf = (tool: Wish["tools"][number]): NonNullable<MessagesRequest["tools"]>[number] => ({
  name: tool.name,
  ...(tool.description === undefined ? {} : { description: tool.description }),
  input_schema: { type: "object", ...tool.parameters },
});

function toolChoiceOf({ toolChoice, parallelCalls }: Wish): NonNullable<MessagesRequest["tool_choice"]> {
  const alone = parallelCalls === "refused" ? { disable_parallel_tool_use: true } : {};
  if (typeof toolChoice !== "string") return { type: "tool", name: toolChoice.name, ...alone };
  if (toolChoice === "none") return { type: "none" };
  return { type: toolChoice === "required" ? "any" : "auto", ...alone };
}

interface Turn {
  readonly role: WireMessage["role"];
  readonly blocks: readonly WireBlock[];
}

function messageOf(item: ShownItem): Turn {
  switch (item.kind) {
    case "message":
      return { role: item.role === "developer" ? "system" : item.role, blocks: item.parts.map(blockOf) };
    case "call":
      return {
        role: "assistant",
        blocks: [{ type: "tool_use", id: item.callId, name: item.name, input: inputOf(item.arguments) }],
      };
    case "output":
      return {
        role: "user",
        blocks: [{ type: "tool_result", tool_use_id: item.callId, content: item.parts.map(blockOf) }],
      };
    case "reasoning":
      return { role: "assistant", blocks: [{ type: "thinking", thinking: item.thought, signature: item.chain }] };
    case "compaction":
      return { role: "user", blocks: [{ type: "text", text: `The conversation so far:\n${item.summary}` }] };
  }
}

/** Neighbours of one role are one message. */
function merged(turns: readonly Turn[]): WireMessage[] {
  const messages: { role: Turn["role"]; content: WireBlock[] }[] = [];
  for (const { role, blocks } of turns) {
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  }
  return messages;
}

/** What a client sends back may be no JSON, since it is what the model wrote. */
function inputOf(source: string): JsonObject {
  const parsed = parsedOrUndefined(source);
  return isObject(parsed) ? parsed : {};
}
