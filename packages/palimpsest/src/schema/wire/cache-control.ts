import { z } from "zod";

/** A breakpoint of the prompt cache, and the lifetime of what is written there. */
export const cacheControl = z.strictObject({
  type: z.literal("ephemeral"),
  ttl: z.enum(["5m", "1h"]).optional(),
});
export type CacheControl = z.infer<typeof cacheControl>;
