import { toolNameForm } from "palimpsest/internal/schema/block";
import type { WireTool } from "palimpsest/internal/schema/wire/tool";
import { invalid, refusal, type Refusal } from "../refusal.ts";
import { type CheckInput, forcesTool, isCustomTool, type Rule } from "./check-input.ts";
import { memoryTool } from "../memory-tool.ts";
import { toolsAtEnd } from "../tool-set.ts";
import { schemaProblem } from "./tool-schema.ts";

/** Names, schemas and the choice between tools. Calls in `messages` need not be of a tool that is still there. */
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

/** Of one definition, at `tools.0` or wherever else it stands. */
export function checkTool(tool: WireTool, place: string): Refusal | undefined {
  const path = `${place}.${tool.type ?? "custom"}`;
  if (isCustomTool(tool)) {
    if (!toolNameForm.test(tool.name))
      return invalid(`String should match pattern '${toolNameForm.source}'`, `${path}.name`);
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

/** Where the conversation changes the tools, the choice is between those at its end. */
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
