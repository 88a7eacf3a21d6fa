import type { ToolUseId } from "../schema/brand.ts";

/** Results that the model is not shown whole any more, by the policy's doing and not by a summary's. */
export class GoneResults {
  readonly #tokensById = new Map<ToolUseId, number>();
  readonly #fetched = new Set<ToolUseId>();
  #clearedTokens = 0;

  /** Of what was cleared since the last compaction: a request would hold as much more had nothing been cleared. */
  get clearedTokens(): number {
    return this.#clearedTokens;
  }

  get fetched(): number {
    return this.#fetched.size;
  }

  cleared(toolUse: ToolUseId, tokens: number): void {
    this.#tokensById.set(toolUse, tokens);
    this.#clearedTokens += tokens;
  }

  /** Never sent whole, or sent no longer: no request would hold it. */
  left(toolUse: ToolUseId, tokens: number): void {
    this.#tokensById.set(toolUse, tokens);
  }

  /** A summary stands for what was cleared; that it was cleared, and is to be fetched, is still so. */
  compacted(): void {
    this.#clearedTokens = 0;
  }

  /** The tokens of each that is gone and needed for the first time. */
  fetch(needed: readonly ToolUseId[]): readonly number[] {
    return needed.flatMap((toolUse) => {
      const tokens = this.#tokensById.get(toolUse);
      if (tokens === undefined || this.#fetched.has(toolUse)) return [];
      this.#fetched.add(toolUse);
      return [tokens];
    });
  }
}
