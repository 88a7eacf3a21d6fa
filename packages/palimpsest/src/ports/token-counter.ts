import type { Block } from "../schema/block.ts";
import type { Tokens } from "../schema/brand.ts";
import type { CountableRequest } from "../tokens/fixed-part.ts";

/** Counts what the engine otherwise estimates. A figure always says which counter it came from. */
export interface TokenCounter {
  /**
   * Stands beside every figure, and counts are remembered by it: two counters of one name must count alike. One that
   * counts for a model has the model in its name.
   */
  readonly name: string;
  count(blocks: readonly Block[]): Promise<Tokens>;
  /** A whole request: system prompt, tools and messages. Must not reject. */
  countRequest(request: CountableRequest): Promise<RequestCount>;
}

export type RequestCount =
  | { readonly kind: "counted"; readonly tokens: Tokens }
  | { readonly kind: "uncounted"; readonly message: string };

/** A counter that is not installed, or can't be reached: `message` is one line for a person and says what to do. */
export type CounterOutcome =
  | { readonly kind: "counter"; readonly counter: TokenCounter }
  | { readonly kind: "absent"; readonly message: string };
