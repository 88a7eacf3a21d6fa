import { toolNamePattern } from "palimpsest/internal/schema/block";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { invalid, refusal, type Refusal } from "../refusal.ts";
import { type CheckInput, forcesTool, isCustomTool, type Rule } from "./check-input.ts";
import {
  memoryTool,
  toolsAtEnd,
  inlineToolsBeta,
  mayChangeTools,
  type ToolStep,
  toolSteps,
} from "../prompt/tool-set.ts";
import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { availableToolsCharsMax, availableToolsMax } from "../limits.ts";

/** Names, schemas and the choice between tools. Calls in `messages` need not be of a tool that is still declared. */
export const checkTools: Rule = (input) => {
  const tools = input.request.tools ?? [];
  const names = new Set<string>();
  for (const [at, tool] of tools.entries()) {
    const found = checkTool(tool, `tools.${at}`);
    if (found !== undefined) return found;
    if (tool.name === undefined) continue;
    if (names.has(tool.name))
      return refusal("invalid_request_error", "tools: Tool names must be unique.", {
        errorCode: "tool_name_conflict",
      });
    names.add(tool.name);
  }
  return checkChoice(input);
};

/** Checks one definition, at `tools.0` or wherever else it stands. */
function checkTool(tool: WireTool, place: string): Refusal | undefined {
  const path = `${place}.${tool.type ?? "custom"}`;
  if (isCustomTool(tool)) {
    if (!toolNamePattern.test(tool.name))
      return invalid(`String should match pattern '${toolNamePattern.source}'`, `${path}.name`);
    const problem = schemaProblem(tool.input_schema);
    if (problem !== undefined)
      return invalid(
        problem.message,
        problem.field === undefined ? `${path}.input_schema` : `${path}.input_schema.${problem.field}`,
      );
  }
  if (tool.type === memoryTool.type && tool.name !== memoryTool.name)
    return invalid(tool.name === undefined ? "Field required" : `Input should be '${memoryTool.name}'`, `${path}.name`);
  const isMarked = tool.cache_control !== undefined && tool.cache_control !== null;
  return isMarked && tool.defer_loading === true
    ? invalid(
        `Tool '${tool.name ?? ""}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`,
        place,
      )
    : undefined;
}

/** If the conversation changes the tools, the choice is between those at its end. */
function checkChoice({ request, traits, betas }: CheckInput): Refusal | undefined {
  const choice = request.tool_choice;
  if (choice === undefined || choice === null) return undefined;
  const tools = toolsAtEnd(request, betas) ?? request.tools ?? [];
  const wasWithdrawn = tools.length === 0 && (request.tools ?? []).length > 0;
  if (tools.length === 0 && (forcesTool(request) || !wasWithdrawn))
    return invalid("`tool_choice` may only be specified while providing `tools`", "tool_choice");
  if (choice.type === "tool" && !tools.some(({ name }) => name === choice.name))
    return invalid(`Tool '${choice.name}' not found in provided tools`, "tool_choice");
  return forcesTool(request) && traits.forcedTools === "refused"
    ? invalid(`type '${choice.type}' is not supported on this model, which chooses tools by itself`, "tool_choice")
    : undefined;
}

interface SchemaProblem {
  readonly message: string;
  /** Place inside `input_schema`. */
  readonly field?: string;
}

const invalidSchema: SchemaProblem = {
  message: "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
};

/**
 * Whether it is a plausible schema of an object. Checks what clients get wrong (types, properties, required,
 * sub-schemas), not whether the schema can be satisfied.
 */
function schemaProblem(schema: JsonObject): SchemaProblem | undefined {
  const type = field(schema, "type");
  if (type === undefined) return { message: "Field required", field: "type" };
  if (type !== "object") return { message: "Input should be 'object'", field: "type" };
  if (combiners.some((name) => Object.hasOwn(schema, name)))
    return { message: "input_schema does not support oneOf, allOf, or anyOf at the top level" };
  return isPlausible(schema) ? undefined : invalidSchema;
}

const combiners = ["oneOf", "allOf", "anyOf"] as const;
const types: ReadonlySet<Json> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

/** Uses a work list instead of recursion, so that deep nesting cannot overflow the stack. */
function isPlausible(root: JsonObject): boolean {
  const waiting: Json[] = [root];
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    if (typeof schema === "boolean") continue;
    if (!isObject(schema) || !keywordsFit(schema)) return false;
    for (const sub of subSchemas(schema)) waiting.push(sub);
  }
  return true;
}

function keywordsFit(schema: JsonObject): boolean {
  return (
    keywordFits(schema, "type", isType) &&
    keywordFits(schema, "required", isTexts) &&
    keywordFits(schema, "enum", isArray) &&
    keywordFits(schema, "description", isText) &&
    keywordFits(schema, "pattern", isText) &&
    keywordFits(schema, "$ref", isText) &&
    schemaMaps.every((name) => keywordFits(schema, name, isObject)) &&
    schemaLists.every((name) => keywordFits(schema, name, isFilled))
  );
}

const keywordFits = (schema: JsonObject, name: string, test: (value: Json) => boolean): boolean => {
  const value = Object.hasOwn(schema, name) ? field(schema, name) : undefined;
  return value === undefined || test(value);
};

const isText = (value: Json): boolean => typeof value === "string";
const isTexts = (value: Json): boolean => isArray(value) && value.every((item) => typeof item === "string");
const isFilled = (value: Json): boolean => isArray(value) && value.length > 0;
const isType = (value: Json): boolean =>
  isArray(value) ? value.length > 0 && value.every((item) => types.has(item)) : types.has(value);

const schemaMaps = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] as const;
const schemaLists = [...combiners, "prefixItems"] as const;
const schemaPlaces = [
  "items",
  "additionalProperties",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
] as const;

function* subSchemas(schema: JsonObject): Generator<Json> {
  for (const name of schemaMaps) {
    const map = field(schema, name);
    if (isObject(map)) yield* Object.values(map);
  }
  for (const name of schemaLists) {
    const list = field(schema, name);
    if (isArray(list)) yield* list;
  }
  for (const name of schemaPlaces) {
    const place = field(schema, name);
    if (place !== undefined) yield place;
  }
}

/**
 * What system messages do to the tools: what they name must be known at that point, what they define must be a valid
 * tool with a free name, and what is then offered must not be too much. Without a beta such blocks are refused by the
 * rule on roles.
 */
export const checkToolChanges: Rule = ({ request, betas }) => {
  if (!mayChangeTools(betas)) return undefined;
  for (const step of toolSteps(request)) {
    const found = definitionProblem(step, betas) ?? changeProblem(step) ?? amountProblem(step);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** What a compaction lists was already checked when it was made. */
function definitionProblem(
  { change: { tool }, path, holder }: ToolStep,
  betas: CheckInput["betas"],
): Refusal | undefined {
  if (tool.type !== "tool_definition") return undefined;
  if (!betas.has(inlineToolsBeta) && holder.block.type !== "compaction")
    return invalid(
      "Input tag 'tool_definition' found using 'type' does not match any of the expected tags: 'tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference'",
      `${path}.tool`,
    );
  return checkTool(tool.definition, `${path}.tool.definition`);
}

function changeProblem({ outcome, path }: ToolStep): Refusal | undefined {
  switch (outcome.kind) {
    case "changed":
    case "loaded":
      return undefined;
    case "unresolved":
      return referenceRefusal(`tool '${outcome.name}' is not defined at this point of the conversation`, path);
    case "mcp":
      return referenceRefusal(
        `MCP server '${outcome.server}' is not defined: this simulator does not connect to MCP servers`,
        path,
      );
    case "conflict":
      return {
        ...invalid(`the name '${outcome.name}' is taken by an available tool of another kind`, `${path}.tool`),
        errorCode: "tool_name_conflict",
      };
  }
}

const referenceRefusal = (message: string, path: string): Refusal => ({
  ...invalid(message, `${path}.tool`),
  errorCode: "tool_reference_unresolved",
});

function amountProblem({ change, tools, message }: ToolStep): Refusal | undefined {
  if (change.type !== "tool_addition") return undefined;
  if (tools.size > availableToolsMax)
    return limitRefusal(`at most ${availableToolsMax} tools can be available at once, not ${tools.size}`, message);
  return tools.chars > availableToolsCharsMax
    ? limitRefusal(`available tools can have at most ${availableToolsCharsMax} characters, not ${tools.chars}`, message)
    : undefined;
}

const limitRefusal = (problem: string, message: number): Refusal => ({
  ...invalid(problem, `messages.${message}`),
  errorCode: "available_tools_limit_exceeded",
});
