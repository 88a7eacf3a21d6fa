import type { Fold } from "palimpsest/internal/transcript/fold";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Edit } from "palimpsest/internal/schema/edit";
import type { Entry } from "palimpsest/internal/schema/entry";
import type { ReplayWorld } from "./replay-world.ts";

interface GoneResultsInput {
  readonly fold: Fold;
  readonly world: Pick<ReplayWorld, "tokensOf" | "markerTokens">;
}

/** Tracks results that the model no longer sees in full because of the policy's edits, not because of a summary. */
export class GoneResults {
  readonly #input: GoneResultsInput;
  /** The full size of each result in tokens. */
  readonly #fullSizeById = new Map<ToolUseId, number>();
  /** The tokens that the removal of a result saves in a request. */
  readonly #goneById = new Map<ToolUseId, number>();
  readonly #fetched = new Set<ToolUseId>();
  #inView = new Set<ToolUseId>();

  constructor(input: GoneResultsInput) {
    this.#input = input;
  }

  get fetched(): number {
    return this.#fetched.size;
  }

  onEntry(entry: Entry): void {
    if (entry.kind !== "user") return;
    for (const block of entry.blocks) {
      if (block.type !== "tool_result") continue;
      this.#fullSizeById.set(block.tool_use_id, this.#input.world.tokensOf(block));
      this.#inView.add(block.tool_use_id);
    }
  }

  /** Takes the engine's events about its edits. */
  onEvent(event: LoopEvent): void {
    if (event.kind === "compacted") this.#inView = this.#shown();
    if (event.kind === "edit" && event.what === "offload") this.#recordOffloads(event.entries);
    if (event.kind !== "cleared") return;
    if (event.what === "clear") this.#recordClears(event.entries);
    else this.#recordRemovals();
  }

  /** The tokens of each needed result that is gone and was not fetched before. */
  fetch(needed: readonly ToolUseId[]): readonly number[] {
    return needed.flatMap((toolUse) => {
      const tokens = this.#goneById.get(toolUse);
      if (tokens === undefined || this.#fetched.has(toolUse)) return [];
      this.#fetched.add(toolUse);
      return [tokens];
    });
  }

  #recordOffloads(entries: readonly EntryId[]): void {
    for (const edit of this.#edits(entries))
      if (edit.type === "offload")
        for (const { toolUse } of edit.results) this.#goneById.set(toolUse, this.#fullSize(toolUse));
  }

  #recordClears(entries: readonly EntryId[]): void {
    for (const edit of this.#edits(entries))
      if (edit.type === "clear")
        for (const { toolUse } of edit.results)
          this.#goneById.set(toolUse, this.#fullSize(toolUse) - this.#input.world.markerTokens);
  }

  /** For edits that remove whole rounds: the remaining results are known only after the edit, which keeps pairs together. */
  #recordRemovals(): void {
    const shown = this.#shown();
    for (const toolUse of this.#inView.difference(shown)) this.#goneById.set(toolUse, this.#fullSize(toolUse));
    this.#inView = shown;
  }

  #fullSize(toolUse: ToolUseId): number {
    return this.#fullSizeById.get(toolUse) ?? 0;
  }

  #edits(entries: readonly EntryId[]): readonly Edit[] {
    const { path } = this.#input.fold;
    return entries.flatMap((id) => {
      const entry = path.find(id)?.entry;
      return entry?.kind === "edit" ? [entry.edit] : [];
    });
  }

  #shown(): Set<ToolUseId> {
    const { items } = this.#input.fold.projection;
    return new Set(
      items.flatMap(({ blocks }) =>
        blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])),
      ),
    );
  }
}
