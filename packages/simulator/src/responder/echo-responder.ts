import { field, isObject, type JsonObject, textField, isArray, type Json } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Responder, Move } from "./responder.ts";
import { lastUserText, type ToolSpec, listTools } from "./request-text.ts";
import { compactionMove } from "./summary-move.ts";
import { instanceDepthMax, instanceValuesMax } from "../limits.ts";

/**
 * The default responder. It quotes the beginning of the last user text; for a compaction it writes a summary. If a tool
 * must be called or JSON must be returned, it does so with the minimal value that the schema accepts.
 */
export const echoResponder: Responder = {
  name: "echo",
  respond: ({ request, purpose }) => ({ move: purpose === "compaction" ? compactionMove(request) : echoMove(request) }),
};

const quotedWordsMax = 12;

export function echoMove(request: MessagesRequest): Move {
  const forced = findForcedTool(request);
  if (forced !== undefined) {
    const input = minimalInstance({ type: "object", ...forced.schema });
    const { name } = forced;
    return { kind: "say", blocks: [{ type: "tool_use", name, input: isObject(input) ? input : {} }] };
  }
  const schema = formatSchema(request);
  if (schema !== undefined)
    return { kind: "say", blocks: [{ type: "text", text: JSON.stringify(minimalInstance(schema)) }] };
  const words = lastUserText(request).split(/\s+/).filter(Boolean);
  const quote = words.slice(0, quotedWordsMax).join(" ");
  const text =
    quote === ""
      ? "There are no words to answer here."
      : `You wrote: “${quote}${words.length > quotedWordsMax ? " …" : ""}”`;
  return { kind: "say", blocks: [{ type: "text", text }] };
}

/** The first of several: any will do. */
function findForcedTool(request: MessagesRequest): ToolSpec | undefined {
  const { tool_choice: choice } = request;
  if (choice?.type === "tool") return listTools(request).find(({ name }) => name === choice.name);
  return choice?.type === "any" ? listTools(request)[0] : undefined;
}

function formatSchema({ output_config: config, output_format: older }: MessagesRequest): JsonObject | undefined {
  const format = config?.format ?? older ?? undefined;
  const schema =
    format !== undefined && textField(format, "type") === "json_schema" ? field(format, "schema") : undefined;
  return isObject(schema) ? schema : undefined;
}

/**
 * The smallest value that a JSON Schema accepts: only what is required, and the first of several choices. Patterns,
 * lengths and ranges are ignored. A schema without end (`$ref` to itself) is cut short.
 */
export function minimalInstance(schema: JsonObject): Json {
  let valuesLeft = instanceValuesMax;
  const buildInstance = (part: Json | undefined, depth: number): Json => {
    valuesLeft -= 1;
    if (!isObject(part) || valuesLeft < 0) return {};
    const fixed = constantValue(part);
    if (fixed !== undefined) return fixed;
    const substitute = alternative(part, schema);
    if (substitute !== undefined) return depth >= instanceDepthMax ? {} : buildInstance(substitute, depth + 1);
    const type = schemaType(part);
    return type === "object" ? buildObject(part, depth) : valueByType[type];
  };
  const buildObject = (part: JsonObject, depth: number): JsonObject => {
    const properties = field(part, "properties");
    const required = field(part, "required");
    if (!isArray(required) || depth >= instanceDepthMax) return {};
    const names = required.filter((name) => typeof name === "string");
    return Object.fromEntries(
      names.map((name) => [name, buildInstance(isObject(properties) ? field(properties, name) : undefined, depth + 1)]),
    );
  };
  return buildInstance(schema, 0);
}

function constantValue(schema: JsonObject): Json | undefined {
  const choices = field(schema, "enum");
  const only = field(schema, "const");
  if (only !== undefined) return only;
  return isArray(choices) ? choices[0] : undefined;
}

/** The schema to use substitute of this one: what it refers to, or its first branch. */
function alternative(schema: JsonObject, root: JsonObject): Json | undefined {
  const reference = textField(schema, "$ref");
  if (reference !== undefined) return resolveReference(reference, root);
  for (const name of ["anyOf", "oneOf", "allOf"]) {
    const branches = field(schema, name);
    if (isArray(branches) && branches[0] !== undefined) return branches[0];
  }
  return undefined;
}

/** Only references within the same schema are resolved. */
function resolveReference(reference: string, root: JsonObject): Json {
  let found: Json | undefined = root;
  for (const name of reference.replace(/^#\/?/, "").split("/").filter(Boolean))
    found = isObject(found) ? field(found, name.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined;
  return found ?? {};
}

const valueByType = { string: "", number: 0, integer: 0, boolean: false, null: null, array: [] } as const;
type TypeName = keyof typeof valueByType | "object";

function schemaType(schema: JsonObject): TypeName {
  const type = field(schema, "type");
  const first = isArray(type) ? type[0] : type;
  const named = typeNames.find((name) => name === first);
  if (named !== undefined) return named;
  return field(schema, "items") === undefined ? "object" : "array";
}

const typeNames: readonly TypeName[] = ["string", "number", "integer", "boolean", "null", "array", "object"];
