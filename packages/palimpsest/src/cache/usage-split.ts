import { field, isArray, isObject, type JsonObject } from "../schema/json.ts";

/** A prompt's tokens by what is paid for them; the parts add up to the whole prompt. */
export interface UsageSplit {
  /** Neither read from the cache nor written to it: what stands behind the last breakpoint. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
}

export const promptTokensOf = (split: UsageSplit): number =>
  split.inputTokens + split.cacheReadTokens + split.cacheWrite5mTokens + split.cacheWrite1hTokens;

/** What is paid for one reply, with what else decides about its price. */
export interface Spent {
  readonly usage: UsageSplit;
  readonly outputTokens: number;
  readonly inferenceGeo?: string | null | undefined;
  readonly speed?: "standard" | "fast" | null | undefined;
}

/**
 * A reply's `usage` as it is paid for: one `Spent` for each time the model was run, since each has its own prompt, and
 * the prompt's length decides about prices. The totals of a reply leave out what a compaction on the server cost; its
 * iterations do not. Writes whose lifetime is not said are of five minutes. What is no count counts nothing.
 */
export function readSpent(usage: JsonObject): readonly Spent[] {
  const iterations = field(usage, "iterations");
  const runs = isArray(iterations) ? iterations.filter((run) => isObject(run)) : [];
  const speed = field(usage, "speed") === "fast" ? ("fast" as const) : ("standard" as const);
  const geo = field(usage, "inference_geo");
  return (runs.length > 0 ? runs : [usage]).map((run) => ({
    usage: splitOf(run),
    outputTokens: count(run, "output_tokens"),
    speed,
    ...(typeof geo === "string" ? { inferenceGeo: geo } : {}),
  }));
}

function splitOf(run: JsonObject): UsageSplit {
  const creation = field(run, "cache_creation");
  const written = count(run, "cache_creation_input_tokens");
  const hour = isObject(creation) ? Math.min(written, count(creation, "ephemeral_1h_input_tokens")) : 0;
  return {
    inputTokens: count(run, "input_tokens"),
    cacheReadTokens: count(run, "cache_read_input_tokens"),
    cacheWrite5mTokens: written - hour,
    cacheWrite1hTokens: hour,
  };
}

function count(run: JsonObject, key: string): number {
  const value = field(run, key);
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
