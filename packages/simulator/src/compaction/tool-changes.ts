import { isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/tool";
import { type ToolSet, toolSteps } from "../tool-set.ts";

/**
 * The changes that take the request's `tools` to those that are offered at the end of its messages, each tool once.
 * What was changed and changed back, or defined and withdrawn again, is no change.
 */
export function netToolChanges(request: MessagesRequest): readonly JsonObject[] {
  const lastByTool = new Map<string, ToolChange>();
  const definitionByTool = new Map<string, ToolChange>();
  let set: ToolSet | undefined;
  for (const { change, tools } of toolSteps(request)) {
    // A compaction's own changes stand for those before it.
    if (tools !== set) lastByTool.clear();
    set = tools;
    const key = keyOf(change.tool);
    if (change.tool.type === "tool_definition") definitionByTool.set(key, change);
    lastByTool.delete(key);
    lastByTool.set(key, change.type === "tool_removal" ? change : (definitionByTool.get(key) ?? change));
  }
  const declared = new Map((request.tools ?? []).map((tool) => [toolKey(tool.name ?? ""), tool]));
  return [...lastByTool].flatMap(([key, change]) => (isNetChange(change, declared.get(key)) ? [bare(change)] : []));
}

/** Distinct tools that the conversation's changes and results refer to. */
export function referredTools(request: MessagesRequest): number {
  const keys = new Set<string>();
  for (const { change } of toolSteps(request)) keys.add(keyOf(change.tool));
  for (const { content } of request.messages)
    for (const block of typeof content === "string" ? [] : content)
      for (const name of referencesIn(block)) keys.add(toolKey(name));
  return keys.size;
}

function referencesIn(block: WireBlock): readonly string[] {
  if (block.type !== "tool_result" || typeof block.content !== "object") return [];
  return block.content.flatMap((part) => (part.type === "tool_reference" ? [part.tool_name] : []));
}

function keyOf(tool: ToolChange["tool"]): string {
  switch (tool.type) {
    case "tool_reference":
      return toolKey(tool.name);
    case "tool_definition":
      return toolKey(tool.definition.name ?? "");
    case "mcp_tool_reference":
      return JSON.stringify(["mcp", tool.server_name, tool.name]);
    case "mcp_toolset_reference":
      return JSON.stringify(["mcp", tool.server_name]);
  }
}

const toolKey = (name: string): string => JSON.stringify(["tool", name]);

/** To add a deferred tool loads it; to add another one of `tools` is nothing new. */
function isNetChange({ type, tool }: ToolChange, declared: WireTool | undefined): boolean {
  if (tool.type !== "tool_reference") return true;
  if (type === "tool_removal") return declared !== undefined;
  return declared === undefined || declared.defer_loading === true;
}

/** Without markers: each belonged to the request that brought it. */
function bare({ type, tool }: ToolChange): JsonObject {
  const told = parseJson(JSON.stringify({ type, tool: tool.type === "tool_definition" ? unmarked(tool) : tool }));
  if (!isObject(told)) throw new Error("a change of tools is an object");
  return told;
}

function unmarked({ type, definition }: Extract<ToolChange["tool"], { type: "tool_definition" }>): object {
  const { cache_control: _marker, ...rest } = definition;
  return { type, definition: rest };
}
