import { z } from "zod";
import { field, isObject, type JsonObject } from "../json.ts";

/** A breakpoint of the prompt cache, and how long what is written there lives. */
export const cacheControl = z.strictObject({
  type: z.literal("ephemeral"),
  ttl: z.enum(["5m", "1h"]).optional(),
});
export type CacheControl = z.infer<typeof cacheControl>;

/**
 * Results that are deleted inside the provider's cache, by reference. No public API has this: a server that has it says
 * so in its list of models (`capabilities.cache_edits`), and the beta `cacheEditsBeta` asks for it.
 */
export const cacheEdits = z.strictObject({
  deletions: z.array(z.strictObject({ type: z.literal("tool_result"), tool_use_id: z.string() })),
});

/** Of one request: a server refuses more. */
export const cacheDeletionsMax = 1_000;

export const cacheEditsBeta = "palimpsest-cache-edits-2026-11-01";

/** What a request may have for it. */
export const cacheEditsParam = { cache_edits: cacheEdits.nullish() };

/** What a reply says of it. */
export interface CacheEditsReply {
  /** Where the request has `cache_edits`; told at the start of a stream. */
  readonly cache_edits?: CacheEditsReport;
}

/** By the ids of the calls whose results a request deletes. */
export interface CacheEditsReport {
  readonly applied: readonly string[];
  /** The cache does not hold them: they were shown and billed. */
  readonly ignored: readonly string[];
  readonly deleted_input_tokens: number;
}

/** Of results that the server left out of what it read; undefined where the reply says nothing of that. */
export function readDeletedTokens(message: JsonObject): number | undefined {
  const report = field(message, "cache_edits");
  const deleted = isObject(report) ? field(report, "deleted_input_tokens") : undefined;
  return typeof deleted === "number" ? deleted : undefined;
}
