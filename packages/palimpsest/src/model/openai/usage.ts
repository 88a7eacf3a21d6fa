import { field, isObject, type JsonObject } from "../../schema/json.ts";

export interface UsageKeys {
  readonly input: string;
  readonly details: string;
  readonly output: string;
}

/** In the fields of the Messages API: there, input is what no cache had. */
export function readOpenaiUsage(usage: JsonObject, keys: UsageKeys): JsonObject {
  const details = field(usage, keys.details);
  const cached = isObject(details) ? count(details, "cached_tokens") : count(usage, "prompt_cache_hit_tokens");
  const written = isObject(details) ? count(details, "cache_write_tokens") : 0;
  return {
    input_tokens: Math.max(0, count(usage, keys.input) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: count(usage, keys.output),
  };
}

const count = (usage: JsonObject, key: string): number => {
  const value = field(usage, key);
  return typeof value === "number" && value > 0 ? value : 0;
};
