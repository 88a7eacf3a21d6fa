import { z } from "zod";
import { type EntryId, type ToolUseId, blobId, isBlobId, type MessageId } from "./brand.ts";
import { anyJson } from "./any-json.ts";

const readonlyList = <Shape extends z.ZodType>(shape: Shape) => z.array(shape).readonly();
const entryIdShape = z.string().transform((text) => text as EntryId);
const toolUseIdShape = z.string().transform((text) => text as ToolUseId);

const file = z.object({ path: z.string(), entry: entryIdShape });
const quotedText = z.object({ text: z.string(), entry: entryIdShape });
const todo = z.object({ text: z.string(), status: z.string(), entry: entryIdShape, task: z.string().exactOptional() });

const outcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("done") }),
  z.object({ kind: z.literal("failed"), line: z.string(), exitCode: z.number().exactOptional() }),
  z.object({ kind: z.literal("refused") }),
  z.object({ kind: z.literal("not-run") }),
  z.object({ kind: z.literal("unanswered") }),
]);

const subject = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), act: z.enum(["read", "write"]), paths: readonlyList(z.string()) }),
  z.object({ kind: z.literal("command"), command: z.string() }),
  z.object({ kind: z.literal("tool") }),
]);

const error = z.object({
  text: z.string(),
  of: z.string(),
  key: z.string(),
  entry: entryIdShape,
  isOpen: z.boolean(),
  isPassing: z.literal(true).exactOptional(),
});

const looseEnds = z.object({
  waiting: readonlyList(
    z.object({
      id: toolUseIdShape,
      name: z.string(),
      entry: entryIdShape,
      subject,
      input: z.record(z.string(), anyJson),
    }),
  ),
  commandCalls: readonlyList(z.string()),
  tasks: readonlyList(todo),
  reply: z.string().exactOptional(),
  awaits: z.enum(["reply", "results", "nothing"]),
});

/**
 * The facts of a path as a checkpoint stores them. It leaves out the user's messages, which the log holds and the
 * checkpoint lists by byte range, and whatever follows from the rest (the last request, the last error).
 */
const storedFactsShape = z.object({
  filesModified: readonlyList(file),
  filesRead: readonlyList(file),
  commands: readonlyList(z.object({ command: z.string(), entry: entryIdShape, outcome })),
  errors: readonlyList(error),
  openTodos: readonlyList(todo),
  lastReply: quotedText.optional(),
  decisions: readonlyList(z.object({ question: z.string(), answer: z.string(), entry: entryIdShape })),
  plan: quotedText.optional(),
  tools: readonlyList(z.object({ name: z.string(), calls: z.number() })),
  looseEnds: looseEnds.exactOptional(),
});

export type StoredFacts = z.infer<typeof storedFactsShape>;

const byteRangeFields = { start: z.number().int().nonnegative(), end: z.number().int().nonnegative() };

/** An item that is read again from its byte range in the log. */
const loggedItemShape = z.object({
  entry: entryIdShape,
  ...byteRangeFields,
  thinking: z.enum(["kept", "left-out"]),
  foreign: z.boolean(),
  at: z.number().int(),
});
/** An item that no line of the log holds as it is shown: a collapse's stand-in, a result whose offload was undone. */
const inlineItemShape = z.object({
  entry: entryIdShape,
  role: z.enum(["user", "assistant"]),
  messageId: z
    .string()
    .transform((text) => text as MessageId)
    .optional(),
  blocks: z.array(anyJson),
  thinking: z.enum(["kept", "left-out"]),
  /** Written by the user. */
  said: z.literal(true).optional(),
  at: z.number().int(),
});

/**
 * State of the fold just before a boundary's summary replaces it: everything that a reader who starts at the boundary
 * needs to know about what lies before it. Stored as a JSON blob that the boundary names.
 */
export const checkpointShape = z.object({
  version: z.literal(1),
  items: z.array(z.union([loggedItemShape, inlineItemShape])),
  decisions: z.array(
    z.object({
      toolUse: toolUseIdShape,
      by: entryIdShape,
      kind: z.enum(["offload", "clear", "repair"]),
      shown: z.string(),
      at: z.number().int(),
    }),
  ),
  pins: z.array(entryIdShape),
  settings: z.record(z.string(), anyJson),
  /** The checkpoint of the previous boundary: the lists of messages form a chain, and none grows with the session. */
  previous: z.string().refine(isBlobId, "64 hex digits").transform(blobId).optional(),
  /**
   * The user's messages since the previous boundary, by byte range. With the chain they form a ledger that no
   * compaction forgets.
   */
  userMessages: z.array(z.object({ entry: entryIdShape, ...byteRangeFields })),
  /**
   * Facts of the whole path up to the boundary. Present only if the chain lists every message: without it, or if it
   * can't be read, the facts have to be collected from the log.
   */
  facts: storedFactsShape.optional().catch(undefined),
  /** Attachments to be written after the boundary, in this order: the process may be killed before it writes them. */
  restores: z.array(z.record(z.string(), anyJson)).optional().catch(undefined),
  foreignUntil: z.number().int().nonnegative(),
});

/** One link of the chain of messages. */
export const messageListShape = checkpointShape.pick({ previous: true, userMessages: true }).extend({
  facts: anyJson.optional(),
});

export type Checkpoint = z.infer<typeof checkpointShape>;
