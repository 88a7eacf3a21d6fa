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

/** Results that the model is not shown whole any more, by the policy's doing and not by a summary's. */
export class GoneResults {
  readonly #input: GoneResultsInput;
  /** Of each result that was said, whole. */
  readonly #wholeById = new Map<ToolUseId, number>();
  /** What a request is smaller by, or would have been larger by. */
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
      this.#wholeById.set(block.tool_use_id, this.#input.world.tokensOf(block));
      this.#inView.add(block.tool_use_id);
    }
  }

  /** What the engine tells of its edits. */
  onEvent(event: LoopEvent): void {
    if (event.kind === "compacted") this.#inView = this.#shown();
    if (event.kind === "edit" && event.what === "offload") this.#offloaded(event.entries);
    if (event.kind !== "cleared") return;
    if (event.what === "clear") this.#cleared(event.entries);
    else this.#tookOut();
  }

  /** The tokens of each that is gone and needed for the first time. */
  fetch(needed: readonly ToolUseId[]): readonly number[] {
    return needed.flatMap((toolUse) => {
      const tokens = this.#goneById.get(toolUse);
      if (tokens === undefined || this.#fetched.has(toolUse)) return [];
      this.#fetched.add(toolUse);
      return [tokens];
    });
  }

  #offloaded(entries: readonly EntryId[]): void {
    for (const edit of this.#edits(entries))
      if (edit.type === "offload")
        for (const { toolUse } of edit.results) this.#goneById.set(toolUse, this.#whole(toolUse));
  }

  #cleared(entries: readonly EntryId[]): void {
    for (const edit of this.#edits(entries))
      if (edit.type === "clear")
        for (const { toolUse } of edit.results)
          this.#goneById.set(toolUse, this.#whole(toolUse) - this.#input.world.markerTokens);
  }

  /** Whole rounds: which of their results are shown is known only behind the edit, which keeps pairs together. */
  #tookOut(): void {
    const shown = this.#shown();
    for (const toolUse of this.#inView.difference(shown)) this.#goneById.set(toolUse, this.#whole(toolUse));
    this.#inView = shown;
  }

  #whole(toolUse: ToolUseId): number {
    return this.#wholeById.get(toolUse) ?? 0;
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
