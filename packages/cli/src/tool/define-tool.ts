import { z } from "zod";
import { field, isObject, type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { Tool, ToolContext, ToolOutcome, ToolPlan } from "palimpsest/internal/ports/tool";

interface ToolSpec<Input> {
  readonly name: string;
  readonly description: string;
  /** Strict: an unknown key is reported to the model, not dropped. */
  readonly input: z.ZodType<Input>;
  readonly effect: Tool["effect"];
  readonly resultCharsMax?: number;
  readonly offload?: "never";
  readonly plan: (input: Input, context: ToolContext) => Promise<ToolPlan>;
}

/** The only place where a tool's input is parsed: a plan gets what its schema promises. */
export function defineTool<Input>({ input: schema, plan, ...definition }: ToolSpec<Input>): Tool {
  const inputSchema = toJsonSchema(schema);
  return {
    ...definition,
    inputSchema,
    plan: async (input, context) => {
      const parsed = schema.safeParse(input);
      if (!parsed.success) return wrongCall(`${definition.name}: ${formatIssues(parsed.error, inputSchema)}`);
      return await plan(parsed.data, context);
    },
  };
}

/** The call was tried and failed: the model and the user get the same message. */
export const toolError = (message: string): ToolOutcome => ({ content: message, isError: true, summary: message });

export const wrongCall = (message: string): ToolPlan => ({ kind: "wrong", message });

/**
 * The schema that the model is shown. It is part of every request, so it leaves out the name of the JSON Schema dialect,
 * what an open object says about its keys, and the bounds of texts and numbers: a description says those that a call
 * may meet, and a call that is out of bounds is told so.
 */
function toJsonSchema(schema: z.ZodType): JsonObject {
  const json = parseJson(JSON.stringify(z.toJSONSchema(schema, { io: "input", override: leaveOutBounds })));
  if (!isObject(json)) throw new TypeError("a tool's input is an object");
  const { $schema: _dialect, ...rest } = json;
  return rest;
}

function leaveOutBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  for (const bound of ["minLength", "maxLength", "minimum", "maximum"] as const) delete jsonSchema[bound];
  const { additionalProperties: others } = jsonSchema;
  if (typeof others !== "object" || Object.keys(others).length > 0) return;
  delete jsonSchema.additionalProperties;
  if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
}

const formatIssues = (error: z.ZodError, schema: JsonObject): string =>
  error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${formatIssue(issue, schema)}`).join("; ");

/** An unknown key is usually another agent's name for one of ours: given the right names, a model corrects itself. */
function formatIssue(issue: z.core.$ZodIssue, schema: JsonObject): string {
  if (issue.code !== "unrecognized_keys") return issue.message;
  const unknown = issue.keys.map((key) => `there is no ${JSON.stringify(key)} here`).join(", ");
  return `${unknown}; it takes ${keysAt(schema, issue.path).join(", ")}`;
}

/** The keys of the object at a path of the input. */
function keysAt(schema: JsonObject, path: readonly PropertyKey[]): readonly string[] {
  const found = path.reduce<Json | undefined>((at, step) => {
    if (!isObject(at)) return undefined;
    const properties = field(at, "properties");
    return typeof step === "number"
      ? field(at, "items")
      : isObject(properties)
        ? field(properties, String(step))
        : undefined;
  }, schema);
  const properties = isObject(found) ? field(found, "properties") : undefined;
  return isObject(properties) ? Object.keys(properties) : [];
}
