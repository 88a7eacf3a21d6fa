import { isMediaType } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { isObject, type JsonObject } from "palimpsest/internal/schema/json";
import { recallToolName } from "../tool/recall.ts";
import { undoneEdits } from "palimpsest/internal/transcript/undone";

export type Medium = JsonObject & { readonly type: "image" | "document" };

/** A block that only claims the type, as in a call's input, has no source. */
export const isMedium = (value: JsonObject): value is Medium => isMediaType(value["type"]) && isObject(value["source"]);

/** The same for the same bytes, whatever type they were declared as. */
export function mediumKey({ source }: Medium): string {
  const data = isObject(source) ? source["data"] : undefined;
  return typeof data === "string" ? data : JSON.stringify(source);
}

/**
 * Images and documents that were recalled and then left out because the provider refused them, by key. Recalling one again
 * would be refused again. What was left out where it first stood may be recalled once: among fewer it may be accepted.
 */
export function refusedMedia(path: readonly Entry[]): ReadonlySet<string> {
  const leftOut = entriesWithoutMedia(path);
  if (leftOut.size === 0) return leftOut;
  const recalls = new Set<ToolUseId>();
  const keys = new Set<string>();
  for (const entry of path) {
    if (entry.kind === "assistant")
      for (const block of entry.blocks)
        if (block.type === "tool_use" && block.name === recallToolName) recalls.add(block.id);
    if (entry.kind !== "user" || entry.id === undefined || !leftOut.has(entry.id)) continue;
    for (const block of entry.blocks) {
      if (block.type !== "tool_result" || !recalls.has(block.tool_use_id) || typeof block.content !== "object")
        continue;
      for (const inner of block.content) if (isMedium(inner)) keys.add(mediumKey(inner));
    }
  }
  return keys;
}

/** Entries that are sent without their images and documents by an edit that is in force. */
function entriesWithoutMedia(path: readonly Entry[]): ReadonlySet<string> {
  const undone = undoneEdits(path);
  return new Set(
    path.flatMap((entry) =>
      entry.kind === "edit" && entry.edit.type === "leave-out" && entry.edit.part === "media" && !undone.has(entry.id)
        ? entry.edit.entries.map((left) => left.entry)
        : [],
    ),
  );
}
