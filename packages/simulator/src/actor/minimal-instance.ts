import { field, isArray, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import { instanceDepthMax, instanceValuesMax } from "../limits.ts";

/**
 * The smallest thing that a JSON Schema takes: what is required and nothing else, the first of several choices. Patterns,
 * lengths and ranges are not looked at. Where a schema never ends (`$ref` to itself) it is cut short.
 */
export function minimalInstance(schema: JsonObject): Json {
  let left = instanceValuesMax;
  const instanceOf = (part: Json | undefined, depth: number): Json => {
    left -= 1;
    if (!isObject(part) || left < 0) return {};
    const fixed = fixedValue(part);
    if (fixed !== undefined) return fixed;
    const instead = alternative(part, schema);
    if (instead !== undefined) return depth >= instanceDepthMax ? {} : instanceOf(instead, depth + 1);
    const type = typeOf(part);
    return type === "object" ? objectOf(part, depth) : valueByType[type];
  };
  const objectOf = (part: JsonObject, depth: number): JsonObject => {
    const properties = field(part, "properties");
    const required = field(part, "required");
    if (!isArray(required) || depth >= instanceDepthMax) return {};
    const names = required.filter((name) => typeof name === "string");
    return Object.fromEntries(
      names.map((name) => [name, instanceOf(isObject(properties) ? field(properties, name) : undefined, depth + 1)]),
    );
  };
  return instanceOf(schema, 0);
}

function fixedValue(schema: JsonObject): Json | undefined {
  const choices = field(schema, "enum");
  const only = field(schema, "const");
  if (only !== undefined) return only;
  return isArray(choices) ? choices[0] : undefined;
}

/** The schema that stands for this one: what it refers to, or its first branch. */
function alternative(schema: JsonObject, root: JsonObject): Json | undefined {
  const reference = text(schema, "$ref");
  if (reference !== undefined) return referred(reference, root);
  for (const name of ["anyOf", "oneOf", "allOf"]) {
    const branches = field(schema, name);
    if (isArray(branches) && branches[0] !== undefined) return branches[0];
  }
  return undefined;
}

/** Only what stands in the same schema. */
function referred(reference: string, root: JsonObject): Json {
  let found: Json | undefined = root;
  for (const name of reference.replace(/^#\/?/, "").split("/").filter(Boolean))
    found = isObject(found) ? field(found, name.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined;
  return found ?? {};
}

const valueByType = { string: "", number: 0, integer: 0, boolean: false, null: null, array: [] } as const;
type TypeName = keyof typeof valueByType | "object";

function typeOf(schema: JsonObject): TypeName {
  const type = field(schema, "type");
  const first = isArray(type) ? type[0] : type;
  const named = typeNames.find((name) => name === first);
  if (named !== undefined) return named;
  return field(schema, "items") === undefined ? "object" : "array";
}

const typeNames: readonly TypeName[] = ["string", "number", "integer", "boolean", "null", "array", "object"];
