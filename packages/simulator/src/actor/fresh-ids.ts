import type { Move, SaidBlock } from "./actor.ts";

/**
 * Ids of calls are unique in a conversation, and a script that begins again speaks in the same one: an id that was said
 * before gives way to one that the simulator makes. Memory: the distinct ids of what is said.
 */
export class FreshIds {
  readonly #said = new Set<string>();

  of(move: Move): Move {
    return move.kind === "say" ? { ...move, blocks: move.blocks.map((block) => this.#fresh(block)) } : move;
  }

  #fresh(block: SaidBlock): SaidBlock {
    if (block.type !== "tool_use" || block.id === undefined) return block;
    const { id, ...rest } = block;
    if (this.#said.has(id)) return rest;
    this.#said.add(id);
    return block;
  }
}
