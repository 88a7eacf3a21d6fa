import type { SystemOption, ToolOption } from "palimpsest/internal/context/inputs";
import { type Provider, toJsonObject } from "palimpsest/internal/context/provider-formats";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { ListName } from "../../body/request-body.ts";

/** How a provider's requests hold a conversation. */
export interface WireFormat {
  /** The field that has the conversation. */
  readonly listField: ListName;
  /** Elements in front of the list that belong to the system prompt: they are never removed. */
  readonly preambleRoles: ReadonlySet<string>;
  readonly systemField: string | undefined;
  /** Fields that limit the reply; the first that is there counts. */
  readonly limitFields: readonly string[];
  /** Tools that the context counts. */
  readTools(tools: Json | undefined): readonly ToolOption[];
  writeTool(tool: { readonly name: string; readonly description: string; readonly input_schema: object }): JsonObject;
}

const anthropic: WireFormat = {
  listField: "messages",
  preambleRoles: new Set(),
  systemField: "system",
  limitFields: ["max_tokens"],
  readTools: (tools) => objectsIn(tools).flatMap(readMessagesTool),
  writeTool: toJsonObject,
};

const chat: WireFormat = {
  listField: "messages",
  preambleRoles: new Set(["system", "developer"]),
  systemField: undefined,
  limitFields: ["max_completion_tokens", "max_tokens"],
  readTools: (tools) => objectsIn(tools).flatMap((tool) => readFunction(field(tool, "function"))),
  writeTool: ({ name, description, input_schema: parameters }) =>
    toJsonObject({ type: "function", function: { name, description, parameters } }),
};

const responses: WireFormat = {
  listField: "input",
  preambleRoles: new Set(["system", "developer"]),
  systemField: "instructions",
  limitFields: ["max_output_tokens"],
  readTools: (tools) => uniqueNames(objectsIn(tools).flatMap(readResponsesTool)),
  writeTool: ({ name, description, input_schema: parameters }) =>
    toJsonObject({ type: "function", name, description, parameters, strict: false }),
};

export const wireFormats: Readonly<Record<Provider, WireFormat>> = {
  anthropic,
  "openai-chat": chat,
  "openai-responses": responses,
};

const objectsIn = (value: Json | undefined): readonly JsonObject[] => (isArray(value) ? value : []).filter(isObject);

/** Names that every provider takes; the context refuses others. */
const toolNamePattern = /^[A-Za-z0-9_-]{1,128}$/;

function readMessagesTool({ cache_control: _mark, ...tool }: JsonObject): readonly ToolOption[] {
  const name = textField(tool, "name") ?? "";
  if (!toolNamePattern.test(name)) return [];
  const schema = field(tool, "input_schema");
  return [
    isObject(schema) ? { ...tool, name, input_schema: schema } : { ...tool, name, type: textField(tool, "type") ?? "" },
  ];
}

function readFunction(definition: Json | undefined): readonly ToolOption[] {
  const name = isObject(definition) ? (textField(definition, "name") ?? "") : "";
  if (!isObject(definition) || !toolNamePattern.test(name)) return [];
  const parameters = field(definition, "parameters");
  const schema = isObject(parameters) ? parameters : { type: "object" };
  return [{ name, description: textField(definition, "description"), input_schema: schema }];
}

function readResponsesTool(tool: JsonObject): readonly ToolOption[] {
  switch (textField(tool, "type")) {
    case "function":
    case "custom":
      return readFunction(tool);
    case "namespace":
      return objectsIn(field(tool, "tools")).flatMap(readResponsesTool);
    default:
      return [];
  }
}

/** Tools of two namespaces may have the same name; here they only have to be counted. */
const uniqueNames = (tools: readonly ToolOption[]): readonly ToolOption[] => [
  ...new Map(tools.map((tool) => [tool.name, tool])).values(),
];

/** The system prompt: of its field, and of the elements in front of the list. */
export const readSystem = (value: Json | undefined, preamble: readonly JsonObject[]): SystemOption =>
  [...texts(value), ...preamble.flatMap((element) => texts(field(element, "content")))].filter((text) => text !== "");

function texts(content: Json | undefined): readonly string[] {
  if (typeof content === "string") return [content];
  return (isArray(content) ? content : []).filter(isObject).map((part) => textField(part, "text") ?? "");
}
