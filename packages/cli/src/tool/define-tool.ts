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

/** The schema that the model is shown, without the name of the JSON Schema dialect. */
function toJsonSchema(schema: z.ZodType): JsonObject {
  const json = parseJson(JSON.stringify(z.toJSONSchema(schema, { io: "input" })));
  if (!isObject(json)) throw new TypeError("a tool's input is an object");
  const { $schema: _dialect, ...rest } = json;
  return rest;
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
