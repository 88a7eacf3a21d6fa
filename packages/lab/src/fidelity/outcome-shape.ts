import { z } from "zod";
import { byKind, type FidelityOutcome, type FidelityRun, summariserNames } from "./outcome.ts";

const fates = z.object({ shown: z.number(), recoverable: z.number(), named: z.number(), lost: z.number() });
const fatesByKind = z.object(byKind(() => fates));

/** As it was written down. */
export const fidelityShape = z.object({
  file: z.string(),
  policy: z.string(),
  window: z.union([z.number(), z.literal("none")]),
  summariser: z.enum(summariserNames),
  compaction: z.number(),
  round: z.number(),
  summary: z.enum(["shared", "recorded"]),
  userMessages: z.number(),
  userMessagesVerbatim: z.number(),
  userMessagesByReference: z.number(),
  facts: fatesByKind,
  neededLater: fatesByKind,
  tokensBefore: z.number(),
  tokensAfter: z.number(),
}) satisfies z.ZodType<FidelityOutcome>;

export const fidelityRunShape = z.object({
  policy: z.string(),
  compactions: z.number(),
  failedAt: z.number().exactOptional(),
}) satisfies z.ZodType<FidelityRun>;
