import type { ReadFiles } from "../../ports/tools.ts";
import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { Fold } from "../../transcript/fold.ts";

/** Results of which the model is shown what the log holds, and no marker. Costs a step for every block. */
export function shownResults({ projection }: Pick<Fold, "projection">): ReadonlySet<ToolUseId> {
  const { items, decisions, withheld } = projection;
  const isCleared = (toolUse: ToolUseId): boolean =>
    decisions.get(toolUse)?.some(({ kind }) => kind === "clear") === true;
  const shown = new Set<ToolUseId>();
  for (const { blocks } of items)
    for (const block of blocks)
      if (block.type === "tool_result" && !withheld.has(block.tool_use_id) && !isCleared(block.tool_use_id))
        shown.add(block.tool_use_id);
  return shown;
}

/**
 * Before an edit; called behind it, what it returns makes files count as unread whose reads are not shown any more. Costs
 * nothing where no file was read.
 */
export function watchReads(files: ReadFiles, fold: () => Pick<Fold, "projection">): () => void {
  const [known] = files.entries();
  if (known === undefined) return () => undefined;
  const before = shownResults(fold());
  return () => {
    const gone: ReadonlySet<EntryId | ToolUseId> = before.difference(shownResults(fold()));
    for (const [path, { shownBy }] of Array.from(files.entries())) if (gone.has(shownBy)) files.delete(path);
  };
}
