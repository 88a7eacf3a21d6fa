import { z } from "zod";
import { isObject, type JsonObject, parseJson } from "../schema/json.ts";
import type { Tool, ToolContext, ToolOutcome, ToolPlan } from "../ports/tools.ts";

export interface ToolSpec<Input> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly effect: Tool["effect"];
  readonly resultCharsMax?: number;
  readonly offload?: "never";
  readonly plan: (input: Input, context: ToolContext) => Promise<ToolPlan>;
}

/** The one place where a tool's input is parsed: a plan gets what its schema promises. */
export function defineTool<Input>({ input: schema, plan, ...shown }: ToolSpec<Input>): Tool {
  return {
    ...shown,
    inputSchema: jsonSchemaOf(schema),
    plan: async (input, context) => {
      const parsed = schema.safeParse(input);
      if (!parsed.success) return wrong(`${shown.name}: ${wordsOf(parsed.error)}`);
      return await plan(parsed.data, context);
    },
  };
}

/** Tried and not done: told to the model and, in the same words, to people. */
export const failed = (message: string): ToolOutcome => ({ content: message, isError: true, summary: message });

export const wrong = (message: string): ToolPlan => ({ kind: "wrong", message });

/** What the model is shown: without the dialect's name and with no more than it needs. */
function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const json = parseJson(JSON.stringify(z.toJSONSchema(schema, { io: "input" })));
  if (!isObject(json)) throw new TypeError("a tool's input is an object");
  const { $schema: _dialect, ...shown } = json;
  return shown;
}

const wordsOf = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`).join("; ");
