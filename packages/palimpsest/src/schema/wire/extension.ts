import { z } from "zod";
import { field, isObject, type JsonObject } from "../json.ts";

// Fields of the wire that no public API has: only our simulator offers them.

/**
 * Results to delete inside the provider's cache, by reference. No public API has this: a server that supports it says so
 * in its list of models (`capabilities.cache_edits`), and a request asks for it with the beta `cacheEditsBeta`.
 */
export const cacheEdits = z.strictObject({
  deletions: z.array(z.strictObject({ type: z.literal("tool_result"), tool_use_id: z.string() })),
});

/** Limit of one request: a server refuses more. */
export const cacheDeletionsMax = 1_000;

export const cacheEditsBeta = "palimpsest-cache-edits-2026-11-01";

export const extensionParams = { cache_edits: cacheEdits.nullish() };

export interface ExtensionReply {
  /** Present if the request has `cache_edits`; sent at the start of a stream. */
  readonly cache_edits?: CacheEditsReport;
}

/** Lists the ids of the calls whose results a request deletes. */
export interface CacheEditsReport {
  readonly applied: readonly string[];
  /** Not in the cache, so these results were shown to the model and billed. */
  readonly ignored: readonly string[];
  readonly deleted_input_tokens: number;
}

/** Tokens of results that the server left out of its input; undefined if the reply does not say. */
export function readDeletedTokens(message: JsonObject): number | undefined {
  const report = field(message, "cache_edits");
  const deleted = isObject(report) ? field(report, "deleted_input_tokens") : undefined;
  return typeof deleted === "number" ? deleted : undefined;
}
