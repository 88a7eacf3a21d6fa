import { field, isArray, isObject, type JsonObject } from "../schema/json.ts";
import type { Lifetime } from "./lifetime.ts";

/** A prompt's tokens by how they are charged. The parts add up to the whole prompt. */
export interface UsageSplit {
  /** Neither read from the cache nor written to it: what stands behind the last breakpoint. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
}

export const countPromptTokens = (split: UsageSplit): number =>
  split.inputTokens + split.cacheReadTokens + split.cacheWrite5mTokens + split.cacheWrite1hTokens;

/** What is charged for one reply, and what else decides its price. */
export interface Spent {
  readonly usage: UsageSplit;
  readonly outputTokens: number;
  readonly inferenceGeo?: string | null | undefined;
  readonly speed?: "standard" | "fast" | null | undefined;
}

/**
 * A reply's `usage` as it is charged: one `Spent` for each run of the model, since each has its own prompt, and the
 * prompt's length decides the price. The totals of a reply do not include the cost of a compaction on the server; its
 * iterations do. Writes without a stated lifetime count as five minutes. Values that are no counts count as 0.
 */
export function parseSpent(usage: JsonObject): readonly Spent[] {
  const iterations = field(usage, "iterations");
  const runs = isArray(iterations) ? iterations.filter((run) => isObject(run)) : [];
  const speed = field(usage, "speed") === "fast" ? ("fast" as const) : ("standard" as const);
  const geo = field(usage, "inference_geo");
  return (runs.length > 0 ? runs : [usage]).map((run) => ({
    usage: parseSplit(run),
    outputTokens: count(run, "output_tokens"),
    speed,
    ...(typeof geo === "string" ? { inferenceGeo: geo } : {}),
  }));
}

function parseSplit(run: JsonObject): UsageSplit {
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

interface SplitInput {
  readonly promptTokens: number;
  /** Tokens up to the highest hit; 0 without one. */
  readonly readTokens: number;
  /** Breakpoints that are written, first to last. Each lies behind the hit. */
  readonly written: readonly { readonly tokensUpTo: number; readonly lifetime: Lifetime }[];
}

/**
 * Three marks cut the prompt: A, the highest hit; B, the highest 1h breakpoint behind A, or else A; C, the last
 * breakpoint, or else A. Up to A is read, A to B is written for an hour, B to C for five minutes, the rest is input.
 */
export function splitUsage({ promptTokens, readTokens, written }: SplitInput): UsageSplit {
  const hourTokens = written.findLast(({ lifetime }) => lifetime === "1h")?.tokensUpTo ?? readTokens;
  const lastTokens = written.at(-1)?.tokensUpTo ?? readTokens;
  return {
    inputTokens: promptTokens - lastTokens,
    cacheReadTokens: readTokens,
    cacheWrite5mTokens: lastTokens - hourTokens,
    cacheWrite1hTokens: hourTokens - readTokens,
  };
}
