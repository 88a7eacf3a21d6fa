import { field, isObject, type JsonObject, text as textField } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Actor, Move } from "./actor.ts";
import { minimalInstance } from "./minimal-instance.ts";
import { lastUserText, type OfferedTool, offeredTools } from "./request-text.ts";
import { compactionMove } from "./summary.ts";

/**
 * Who answers where nobody else is asked for: quotes the beginning of what the user said last; for a compaction, it sums
 * up. A tool that must be called is called, and JSON that must be said is said, each with the least that its schema takes.
 */
export const echoActor: Actor = {
  name: "echo",
  play: ({ request, purpose }) => ({ move: purpose === "compaction" ? compactionMove(request) : echoMove(request) }),
};

const quotedWordsMax = 12;

export function echoMove(request: MessagesRequest): Move {
  const forced = forcedTool(request);
  if (forced !== undefined) {
    const input = minimalInstance({ type: "object", ...forced.schema });
    const { name } = forced;
    return { kind: "say", blocks: [{ type: "tool_use", name, input: isObject(input) ? input : {} }] };
  }
  const schema = formatSchema(request);
  if (schema !== undefined)
    return { kind: "say", blocks: [{ type: "text", text: JSON.stringify(minimalInstance(schema)) }] };
  const words = lastUserText(request).split(/\s+/).filter(Boolean);
  const quoted = words.slice(0, quotedWordsMax).join(" ");
  const text =
    quoted === ""
      ? "There are no words to answer here."
      : `You wrote: “${quoted}${words.length > quotedWordsMax ? " …" : ""}”`;
  return { kind: "say", blocks: [{ type: "text", text }] };
}

/** Of several the first: any will do. */
function forcedTool(request: MessagesRequest): OfferedTool | undefined {
  const { tool_choice: choice } = request;
  if (choice?.type === "tool") return offeredTools(request).find(({ name }) => name === choice.name);
  return choice?.type === "any" ? offeredTools(request)[0] : undefined;
}

function formatSchema({ output_config: config, output_format: older }: MessagesRequest): JsonObject | undefined {
  const format = config?.format ?? older ?? undefined;
  const schema =
    format !== undefined && textField(format, "type") === "json_schema" ? field(format, "schema") : undefined;
  return isObject(schema) ? schema : undefined;
}
