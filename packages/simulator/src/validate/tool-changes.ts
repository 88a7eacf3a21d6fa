import { availableToolsCharsMax, availableToolsMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { inlineToolsBeta, mayChangeTools, type ToolStep, toolSteps } from "../tool-set.ts";
import type { CheckInput, Rule } from "./check-input.ts";
import { checkTool } from "./tool-rules.ts";

/**
 * What system messages do to the tools: what they name must be known at that point, what they define must be a valid tool
 * of a free name, and what is offered then must not be too much. Without a beta such blocks are refused with the roles.
 */
export const checkToolChanges: Rule = ({ request, betas }) => {
  if (!mayChangeTools(betas)) return undefined;
  for (const step of toolSteps(request)) {
    const found = definitionProblem(step, betas) ?? changeProblem(step) ?? amountProblem(step);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** What a compaction tells was allowed when it was said. */
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
      return unresolved(`tool '${outcome.name}' is not defined at this point of the conversation`, path);
    case "mcp":
      return unresolved(
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

const unresolved = (message: string, path: string): Refusal => ({
  ...invalid(message, `${path}.tool`),
  errorCode: "tool_reference_unresolved",
});

function amountProblem({ change, tools, message }: ToolStep): Refusal | undefined {
  if (change.type !== "tool_addition") return undefined;
  if (tools.size > availableToolsMax)
    return tooMuch(`at most ${availableToolsMax} tools can be available at once, not ${tools.size}`, message);
  return tools.chars > availableToolsCharsMax
    ? tooMuch(`available tools can have at most ${availableToolsCharsMax} characters, not ${tools.chars}`, message)
    : undefined;
}

const tooMuch = (problem: string, message: number): Refusal => ({
  ...invalid(problem, `messages.${message}`),
  errorCode: "available_tools_limit_exceeded",
});
