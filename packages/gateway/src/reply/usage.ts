import type { Provider } from "palimpsest/internal/context/provider-formats";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";

/**
 * Which usage the client sees. `used`: what the upstream reports. `sent`: what the client's original request would have used,
 * so that its compaction agrees with its own token count; `omittedTokens` is the difference to what went upstream.
 */
export type UsageReport =
  | { readonly kind: "used" }
  /** A function, since the request behind a continued reply is another one. `usedTokens`: what went upstream. */
  | { readonly kind: "sent"; readonly omittedTokens: (usedTokens: number) => number };

interface UsageChangeInput {
  readonly report: UsageReport;
  /** `dropped`: the client did not ask for them, and may take numbers only, as the Agents SDK does. */
  readonly writeDetails: "kept" | "dropped";
}

/** For `RelayOptions.usage`. Undefined: usage passes as it is. */
export function usageChange(
  provider: Provider,
  { report, writeDetails }: UsageChangeInput,
): ((usage: JsonObject) => JsonObject) | undefined {
  if (report.kind === "used" && writeDetails === "kept") return undefined;
  return (usage) => {
    const passed = writeDetails === "kept" ? usage : dropWriteDetails(usage);
    const used = report.kind === "used" ? undefined : countInput(provider, usage);
    return report.kind === "used" || used === undefined
      ? passed
      : addInputTokens(provider, passed, report.omittedTokens(used));
  };
}

/** Tokens of the request. Undefined if the usage does not say. */
function countInput(provider: Provider, usage: JsonObject): number | undefined {
  if (provider !== "anthropic") return readCount(usage, openaiKeys[provider].input);
  const keys = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
  const [plain, ...cached] = keys.map((key) => readCount(usage, key));
  return plain === undefined ? undefined : cached.reduce<number>((sum, one) => sum + (one ?? 0), plain);
}

/** What a breakpoint adds to a usage of OpenAI: the tokens written by lifetime. The same object if there is none. */
function dropWriteDetails(usage: JsonObject): JsonObject {
  for (const name of ["input_tokens_details", "prompt_tokens_details"]) {
    const details = field(usage, name);
    if (!isObject(details) || field(details, "cache_write_tokens_details") === undefined) continue;
    const { cache_write_tokens_details: _written, ...others } = details;
    return { ...usage, [name]: others };
  }
  return usage;
}

/**
 * Adds `more` tokens to the input side. They count as cache reads if the request used the cache at all, because the original
 * request would have read them there and clients compute costs from these fields; otherwise as plain input. A usage without
 * an input side stays unchanged.
 */
export function addInputTokens(provider: Provider, usage: JsonObject, more: number): JsonObject {
  if (more === 0) return usage;
  return provider === "anthropic" ? addMessagesInput(usage, more) : addOpenaiInput(provider, usage, more);
}

/** Clients add up `input_tokens`, `cache_creation_input_tokens` and `cache_read_input_tokens`, of the usage or its last iteration. */
function addMessagesInput(usage: JsonObject, more: number): JsonObject {
  const iterations = field(usage, "iterations");
  return {
    ...usage,
    ...addMessagesFields(usage, more),
    ...(isArray(iterations) ? { iterations: addToLastMessage(iterations, more) } : {}),
  };
}

function addMessagesFields(usage: JsonObject, more: number): JsonObject {
  const [plain, read, written] = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map((key) =>
    readCount(usage, key),
  );
  if (plain === undefined) return {};
  const usesCache = read !== undefined && read + (written ?? 0) > 0;
  if (!usesCache) return { input_tokens: Math.max(0, plain + more) };
  const cached = Math.max(0, read + more);
  // What can't be taken from the cache is taken from the plain input.
  return { cache_read_input_tokens: cached, input_tokens: Math.max(0, plain + read + more - cached) };
}

/** The size of the context is the last iteration that is a message. */
function addToLastMessage(iterations: readonly Json[], more: number): readonly Json[] {
  const last = iterations.findLastIndex((entry) => isObject(entry) && textField(entry, "type") === "message");
  return iterations.map((entry, at) =>
    at === last && isObject(entry) ? { ...entry, ...addMessagesFields(entry, more) } : entry,
  );
}

/** Here the input contains what was read from the cache. */
function addOpenaiInput(provider: "openai-chat" | "openai-responses", usage: JsonObject, more: number): JsonObject {
  const { input, details, total } = openaiKeys[provider];
  const before = readCount(usage, input);
  if (before === undefined) return usage;
  const after = Math.max(0, before + more);
  const grow = (object: JsonObject, key: string): JsonObject => {
    const value = readCount(object, key);
    return value === undefined || value === 0 ? {} : { [key]: Math.min(after, Math.max(0, value + more)) };
  };
  const detailsField = field(usage, details);
  const totalTokens = readCount(usage, total);
  return {
    ...usage,
    ...grow(usage, "prompt_cache_hit_tokens"),
    [input]: after,
    ...(isObject(detailsField) ? { [details]: { ...detailsField, ...grow(detailsField, "cached_tokens") } } : {}),
    ...(totalTokens === undefined ? {} : { [total]: totalTokens + after - before }),
  };
}

/** The usage of several replies that the client sees as one: the input of the last, and the output of all. */
export function joinUsage(
  provider: Provider,
  { earlier, last }: { readonly earlier: JsonObject; readonly last: JsonObject },
): JsonObject {
  const joined: Record<string, Json> = { ...earlier, ...last };
  for (const key of summedKeys[provider]) {
    const sum = addCounts(field(earlier, key), field(last, key));
    if (sum !== undefined) joined[key] = sum;
  }
  if (provider === "anthropic") {
    const [before, after] = [field(earlier, "iterations"), field(last, "iterations")];
    if (isArray(before) && isArray(after)) joined["iterations"] = [...before, ...after];
    return joined;
  }
  const { input, output, total } = openaiKeys[provider];
  const [inputTokens, outputTokens] = [readCount(joined, input), readCount(joined, output)];
  if (readCount(joined, total) !== undefined && inputTokens !== undefined && outputTokens !== undefined)
    joined[total] = inputTokens + outputTokens;
  return joined;
}

export const openaiKeys = {
  "openai-chat": {
    input: "prompt_tokens",
    details: "prompt_tokens_details",
    output: "completion_tokens",
    total: "total_tokens",
  },
  "openai-responses": {
    input: "input_tokens",
    details: "input_tokens_details",
    output: "output_tokens",
    total: "total_tokens",
  },
} as const;

const summedKeys: Readonly<Record<Provider, readonly string[]>> = {
  anthropic: ["output_tokens", "output_tokens_details", "server_tool_use"],
  "openai-chat": ["completion_tokens", "completion_tokens_details"],
  "openai-responses": ["output_tokens", "output_tokens_details"],
};

/** The sum of two numbers, or of the numbers in two objects; what only one of them has stays. */
function addCounts(one: Json | undefined, other: Json | undefined): Json | undefined {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (!isObject(one) || !isObject(other)) return other ?? one;
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(keys.map((key) => [key, addCounts(field(one, key), field(other, key)) ?? null]));
}

export const readCount = (usage: JsonObject, key: string): number | undefined => {
  const value = field(usage, key);
  return typeof value === "number" ? value : undefined;
};

export const withoutNulls = (usage: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
