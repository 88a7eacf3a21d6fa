import { storedResponsesMax } from "../limits.ts";
import { Recent } from "palimpsest/internal/cache/recent";
import type { OpenAiPrompt, Salts } from "./prompt.ts";

export type CacheDiagnosis =
  | { readonly kind: "cache_hit" | "comparison_response_not_found" | "unavailable" }
  | {
      readonly kind: "cache_miss";
      readonly reason: MissReason;
      /** Of the earlier prompt, what could have been read and was not. */
      readonly missedTokens: number;
      readonly reusableTokens: number;
    };

export type MissReason =
  | "model_changed"
  | "service_tier_changed"
  | "prompt_cache_key_changed"
  | "tools_changed"
  | "text_format_changed"
  | "reasoning_effort_changed"
  | "verbosity_changed"
  | "context_compacted"
  | "input_changed";

/** In the order in which they are told: the first that differs. */
const reasonBySalt: readonly (readonly [keyof Salts, MissReason])[] = [
  ["model", "model_changed"],
  ["serviceTier", "service_tier_changed"],
  ["cacheKey", "prompt_cache_key_changed"],
  ["tools", "tools_changed"],
  ["format", "text_format_changed"],
  ["effort", "reasoning_effort_changed"],
  ["verbosity", "verbosity_changed"],
];

type Print = Pick<OpenAiPrompt, "salts" | "ends" | "tokens"> & { readonly workspace: string };

/** Prompts of earlier responses, to say of a later one why it could not read what they wrote. */
export class OpenAiFingerprints {
  readonly #printById = new Recent<string, Print>(storedResponsesMax);

  remember(id: string, { prompt, workspace }: Compared): void {
    const { salts, ends, tokens } = prompt;
    this.#printById.set(id, { salts, ends, tokens, workspace });
  }

  compare(
    id: string,
    { prompt, workspace, cachedTokens }: Compared & { readonly cachedTokens: number },
  ): CacheDiagnosis {
    const earlier = this.#printById.get(id);
    if (earlier === undefined || earlier.workspace !== workspace) return { kind: "comparison_response_not_found" };
    const miss = (reason: MissReason, sharedTokens: number): CacheDiagnosis => ({
      kind: "cache_miss",
      reason,
      missedTokens: Math.max(0, earlier.tokens - sharedTokens),
      reusableTokens: earlier.tokens,
    });
    const salt = reasonBySalt.find(([name]) => earlier.salts[name] !== prompt.salts[name]);
    if (salt !== undefined) return miss(salt[1], 0);
    const shared = sharedEnds(earlier, prompt);
    if (shared < earlier.ends.length) {
      const isCompacted = earlier.salts.compaction !== prompt.salts.compaction;
      const tokens = earlier.ends[shared - 1]?.tokensUpTo ?? 0;
      return miss(isCompacted ? "context_compacted" : "input_changed", tokens);
    }
    // Nothing differs, and yet nothing was there to be read: it was never long enough, or is gone.
    return { kind: cachedTokens > 0 ? "cache_hit" : "unavailable" };
  }
}

export interface Compared {
  readonly prompt: OpenAiPrompt;
  readonly workspace: string;
}

/** Chains stand for everything before them, so they agree up to one place and nowhere behind it. */
function sharedEnds(earlier: Print, prompt: OpenAiPrompt): number {
  let shared = Math.min(earlier.ends.length, prompt.ends.length);
  while (shared > 0 && earlier.ends[shared - 1]?.chain !== prompt.ends[shared - 1]?.chain) shared -= 1;
  return shared;
}
