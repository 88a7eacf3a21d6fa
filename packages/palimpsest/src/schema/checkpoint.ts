import { z } from "zod";
import { blobId, type EntryId, isBlobId, type MessageId, type ToolUseId } from "./brand.ts";
import { anyJson } from "./any-json.ts";
import { storedFactsShape } from "./stored-facts.ts";

/**
 * State of the fold just before a boundary's summary takes its place: everything that a reader who starts at the
 * boundary needs to know of what lies before it. Stored as a JSON blob that the boundary names.
 */
const entryIdOf = z.string().transform((text) => text as EntryId);
const place = { start: z.number().int().nonnegative(), end: z.number().int().nonnegative() };

/** Read again from the log by its place. */
const referred = z.object({
  entry: entryIdOf,
  ...place,
  thinking: z.enum(["kept", "left-out"]),
  foreign: z.boolean(),
  at: z.number().int(),
});
/** No line of the log holds it as it is shown: a collapse's stand-in, a result whose offload was undone. */
const inline = z.object({
  entry: entryIdOf,
  role: z.enum(["user", "assistant"]),
  messageId: z
    .string()
    .transform((text) => text as MessageId)
    .optional(),
  blocks: z.array(anyJson),
  thinking: z.enum(["kept", "left-out"]),
  /** By a person. */
  said: z.literal(true).optional(),
  at: z.number().int(),
});

export const checkpointShape = z.object({
  version: z.literal(1),
  items: z.array(z.union([referred, inline])),
  decisions: z.array(
    z.object({
      toolUse: z.string().transform((text) => text as ToolUseId),
      by: entryIdOf,
      kind: z.enum(["offload", "clear", "repair"]),
      shown: z.string(),
      at: z.number().int(),
    }),
  ),
  pins: z.array(entryIdOf),
  settings: z.record(z.string(), anyJson),
  /** The checkpoint of the boundary before, so that the lists of messages form a chain and none grows with the session. */
  previous: z.string().refine(isBlobId, "64 hex digits").transform(blobId).optional(),
  /** What people said since the boundary before, by place: with the chain, the ledger that no compaction forgets. */
  userMessages: z.array(z.object({ entry: entryIdOf, ...place })),
  /**
   * Of the whole path up to the boundary. There only where the chain lists every message: without it, or where it can't
   * be read, whoever wants facts reads the log.
   */
  facts: storedFactsShape.optional().catch(undefined),
  /** Attachments that are written behind the boundary, in this order: a kill may come before them. */
  restores: z.array(z.record(z.string(), anyJson)).optional().catch(undefined),
  foreignUntil: z.number().int().nonnegative(),
});

/** One link of the chain of messages. */
export const messageListShape = checkpointShape.pick({ previous: true, userMessages: true }).extend({
  facts: anyJson.optional(),
});

export type Checkpoint = z.infer<typeof checkpointShape>;
