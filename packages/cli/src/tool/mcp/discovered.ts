import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, type Json, text } from "palimpsest/internal/schema/json";
import { workingStateAttachment } from "palimpsest/internal/schema/working-state";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { textOf } from "palimpsest/internal/transcript/result";
import { definitionsIn } from "./catalogue.ts";
import { discoveredToolsMax } from "./limits.ts";

/** A server's tool whose definition the model was given. */
export interface DiscoveredTool {
  /** `mcp__server__tool`. */
  readonly name: string;
  /** The result or attachment that shows the definition; absent where it was only named. */
  readonly shownBy?: ToolUseId | EntryId | undefined;
}

export const searchToolName = "tool_search";

/**
 * By what the path says: definitions that searches gave, what was put back behind a boundary, and what the boundary
 * itself names, so that a kill before anything was put back forgets none. Nothing is held in memory, so a resume, an undo
 * and another branch need no care of their own. The newest last.
 */
export function discoveredTools({ path }: Pick<Fold, "path">): readonly DiscoveredTool[] {
  const searches = new Set<ToolUseId>();
  const byName = new Map<string, DiscoveredTool>();
  for (const entry of path.entries) {
    for (const tool of toldIn(entry, searches)) {
      byName.delete(tool.name);
      byName.set(tool.name, tool);
    }
  }
  return [...byName.values()].slice(-discoveredToolsMax);
}

/** `searches`: the calls seen so far; those of this entry are added. */
function toldIn(entry: Entry, searches: Set<ToolUseId>): readonly DiscoveredTool[] {
  if (entry.kind === "edit")
    return entry.edit.type === "boundary"
      ? (entry.edit.metadata.preCompactDiscoveredTools ?? []).map((name) => ({ name }))
      : [];
  if (entry.kind === "attachment") return restatedIn(entry);
  if (entry.kind === "assistant")
    for (const block of entry.blocks)
      if (block.type === "tool_use" && block.name === searchToolName) searches.add(block.id);
  if (entry.kind !== "user") return [];
  return entry.blocks.flatMap((block) => {
    if (block.type !== "tool_result" || block.is_error === true || !searches.has(block.tool_use_id)) return [];
    const { content = "" } = block;
    const given = definitionsIn(typeof content === "string" ? content : textOf(content));
    return given.map((name) => ({ name, shownBy: block.tool_use_id }));
  });
}

function restatedIn(entry: Extract<Entry, { kind: "attachment" }>): readonly DiscoveredTool[] {
  if (entry.attachment["type"] !== workingStateAttachment) return [];
  const named = field(entry.attachment, "named");
  return [
    ...nameIn(field(entry.attachment, "data")).map((name) => ({ name, shownBy: entry.id })),
    ...(isArray(named) ? named : []).flatMap(nameIn).map((name) => ({ name })),
  ];
}

const nameIn = (data: Json | undefined): readonly string[] => {
  const name = isObject(data) ? text(data, discoveredKey) : undefined;
  return name === undefined ? [] : [name];
};

/** Marks a definition that was put back behind a boundary. */
export const discoveredKey = "discoveredTool";
