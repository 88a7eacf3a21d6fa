import { z } from "zod";
import type { ReadFile, ReadFiles } from "../../ports/tools.ts";
import type { ToolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Fold } from "../../transcript/fold.ts";

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
  return path.logged.flatMap(({ entry, start }) => {
    if (entry.kind !== "user" || entry.readFile === undefined || start < foreignUntil) return [];
    const [result] = entry.blocks;
    const read = shape.safeParse(entry.readFile);
    if (result?.type !== "tool_result" || !read.success) return [];
    const shownBy = result.tool_use_id;
    if (!shown.has(shownBy) || projection.decisions.has(shownBy)) return [];
    const { path: file, hash, modifiedMs, lines } = read.data;
    return [[file, { hash, modifiedMs, shownBy, ...(lines === undefined ? {} : { lines }) }] as const];
  });
}
