import { z } from "zod";
import type { ReadFile, ReadFiles } from "../ports/tools.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { field, type Json, type JsonObject } from "../schema/json.ts";
import type { Fold } from "../transcript/fold.ts";

const shape = z.object({
  path: z.string(),
  hash: z.string(),
  modifiedMs: z.number(),
  lines: z.object({ from: z.number(), to: z.number() }).optional(),
});

/** What a call found a file to be, as its result's entry keeps it. */
export function recordOfRead(files: ReadFiles, call: ToolUseId): JsonObject | undefined {
  for (const [path, { hash, modifiedMs, lines, shownBy }] of files.entries())
    if (shownBy === call) return { path, hash, modifiedMs, ...(lines === undefined ? {} : { lines: { ...lines } }) };
  return undefined;
}

/**
 * Files that the agent has seen, by what a session's own entries say, oldest first: who goes on with it need not read them
 * again. Only where the view still shows the result as it was: what was offloaded, cleared or covered has to be read anew.
 */
export function recordedReads({
  path,
  messages,
  projection,
  foreignUntil,
}: Fold): readonly (readonly [string, ReadFile])[] {
  const shown = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])),
    ),
  );
  const attached = new Set(
    projection.items.flatMap(({ entry, attachment }) => (attachment === undefined ? [] : entry)),
  );
  return path.logged.flatMap(({ entry, start }) => {
    const record = start < foreignUntil ? undefined : recordIn(entry);
    const read = shape.safeParse(record?.readFile);
    if (record === undefined || !read.success) return [];
    const { shownBy } = record;
    const isShown =
      record.by === "attachment"
        ? attached.has(record.shownBy)
        : shown.has(record.shownBy) && !projection.decisions.has(record.shownBy);
    if (!isShown) return [];
    const { path: file, hash, modifiedMs, lines } = read.data;
    return [[file, { hash, modifiedMs, shownBy, ...(lines === undefined ? {} : { lines }) }] as const];
  });
}

type Recorded =
  | { readonly by: "result"; readonly shownBy: ToolUseId; readonly readFile: Json }
  | { readonly by: "attachment"; readonly shownBy: EntryId; readonly readFile: Json };

/** A result shows what a call has read; an attachment what was put back behind a boundary. */
function recordIn(entry: Entry): Recorded | undefined {
  if (entry.kind === "attachment") {
    const readFile = field(entry.attachment, "readFile");
    if (entry.id === undefined || readFile === undefined) return undefined;
    return { by: "attachment", shownBy: entry.id, readFile };
  }
  if (entry.kind !== "user" || entry.readFile === undefined) return undefined;
  const [result] = entry.blocks;
  return result?.type === "tool_result"
    ? { by: "result", shownBy: result.tool_use_id, readFile: entry.readFile }
    : undefined;
}
