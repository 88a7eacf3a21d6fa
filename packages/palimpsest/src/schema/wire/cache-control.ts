import { z } from "zod";

/** A breakpoint of the prompt cache, and how long what is written there lives. */
export const cacheControl = z.strictObject({
  type: z.literal("ephemeral"),
  ttl: z.enum(["5m", "1h"]).optional(),
});
export type CacheControl = z.infer<typeof cacheControl>;
