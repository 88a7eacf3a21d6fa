import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";

export interface SchemaProblem {
  readonly message: string;
  /** Inside `input_schema`. */
  readonly field?: string;
}

const invalidSchema: SchemaProblem = {
  message: "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
};

/**
 * Is it a plausible schema of an object? Looks at what clients get wrong (types, properties, required, sub-schemas);
 * whether the schema can be satisfied is not asked.
 */
export function schemaProblem(schema: JsonObject): SchemaProblem | undefined {
  const type = field(schema, "type");
  if (type === undefined) return { message: "Field required", field: "type" };
  if (type !== "object") return { message: "Input should be 'object'", field: "type" };
  if (combiners.some((name) => Object.hasOwn(schema, name)))
    return { message: "input_schema does not support oneOf, allOf, or anyOf at the top level" };
  return isPlausible(schema) ? undefined : invalidSchema;
}

const combiners = ["oneOf", "allOf", "anyOf"] as const;
const types: ReadonlySet<Json> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

/** A list of what is still to be looked at instead of recursion: nobody can nest deeper than the stack. */
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
    fits(schema, "type", isType) &&
    fits(schema, "required", isTexts) &&
    fits(schema, "enum", isArray) &&
    fits(schema, "description", isText) &&
    fits(schema, "pattern", isText) &&
    fits(schema, "$ref", isText) &&
    schemaMaps.every((name) => fits(schema, name, isObject)) &&
    schemaLists.every((name) => fits(schema, name, isFilled))
  );
}

const fits = (schema: JsonObject, name: string, test: (value: Json) => boolean): boolean => {
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
