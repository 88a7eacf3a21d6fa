import { z } from "zod";
import { field, isObject, type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { Tool, ToolContext, ToolOutcome, ToolPlan } from "palimpsest/internal/ports/tool";

interface ToolSpec<Input> {
  readonly name: string;
  readonly description: string;
  /** Strict: a key that is not known is told to the model, not dropped. */
  readonly input: z.ZodType<Input>;
  readonly effect: Tool["effect"];
  readonly resultCharsMax?: number;
  readonly offload?: "never";
  readonly plan: (input: Input, context: ToolContext) => Promise<ToolPlan>;
}

/** The one place where a tool's input is parsed: a plan gets what its schema promises. */
export function defineTool<Input>({ input: schema, plan, ...shown }: ToolSpec<Input>): Tool {
  const inputSchema = toJsonSchema(schema);
  return {
    ...shown,
    inputSchema,
    plan: async (input, context) => {
      const parsed = schema.safeParse(input);
      if (!parsed.success) return wrongCall(`${shown.name}: ${formatIssues(parsed.error, inputSchema)}`);
      return await plan(parsed.data, context);
    },
  };
}

/** Tried and not done: told to the model and, in the same words, to people. */
export const toolError = (message: string): ToolOutcome => ({ content: message, isError: true, summary: message });

export const wrongCall = (message: string): ToolPlan => ({ kind: "wrong", message });

/** What the model is shown: without the dialect's name and with no more than it needs. */
function toJsonSchema(schema: z.ZodType): JsonObject {
  const json = parseJson(JSON.stringify(z.toJSONSchema(schema, { io: "input" })));
  if (!isObject(json)) throw new TypeError("a tool's input is an object");
  const { $schema: _dialect, ...shown } = json;
  return shown;
}

const formatIssues = (error: z.ZodError, schema: JsonObject): string =>
  error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${formatIssue(issue, schema)}`).join("; ");

/** A key nobody knows is most often another agent's name for one of ours: with the names at hand a model corrects itself. */
function formatIssue(issue: z.core.$ZodIssue, schema: JsonObject): string {
  if (issue.code !== "unrecognized_keys") return issue.message;
  const unknown = issue.keys.map((key) => `there is no ${JSON.stringify(key)} here`).join(", ");
  return `${unknown}; it takes ${keysAt(schema, issue.path).join(", ")}`;
}

/** The keys of the object that a path of the input leads to. */
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
