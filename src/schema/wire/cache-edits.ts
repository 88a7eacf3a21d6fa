import { z } from "zod";

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
