import { z } from "zod";
import { type EntryId, type ToolUseId, blobId, isBlobId, type MessageId } from "./brand.ts";
import { anyJson } from "./any-json.ts";

/**
 * The facts of a path as a checkpoint stores them: all but people's messages, which stand in the log and are listed by
 * place, and what follows from the rest (the last request, the last error).
 */
const readonlyList = <Shape extends z.ZodType>(shape: Shape) => z.array(shape).readonly();
const entry = z.string().transform((text) => text as EntryId);
const toolUse = z.string().transform((text) => text as ToolUseId);

const file = z.object({ path: z.string(), entry });
const quotedText = z.object({ text: z.string(), entry });
const todo = z.object({ text: z.string(), status: z.string(), entry, task: z.string().exactOptional() });

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
  entry,
  isOpen: z.boolean(),
  isPassing: z.literal(true).exactOptional(),
});

const looseEnds = z.object({
  waiting: readonlyList(
    z.object({ id: toolUse, name: z.string(), entry, subject, input: z.record(z.string(), anyJson) }),
  ),
  commandCalls: readonlyList(z.string()),
  tasks: readonlyList(todo),
  reply: z.string().exactOptional(),
  awaits: z.enum(["reply", "results", "nothing"]),
});

const storedFactsShape = z.object({
  filesModified: readonlyList(file),
  filesRead: readonlyList(file),
  commands: readonlyList(z.object({ command: z.string(), entry, outcome })),
  errors: readonlyList(error),
  openTodos: readonlyList(todo),
  lastReply: quotedText.optional(),
  decisions: readonlyList(z.object({ question: z.string(), answer: z.string(), entry })),
  plan: quotedText.optional(),
  tools: readonlyList(z.object({ name: z.string(), calls: z.number() })),
  looseEnds: looseEnds.exactOptional(),
});

export type StoredFacts = z.infer<typeof storedFactsShape>;

/**
 * State of the fold just before a boundary's summary takes its place: everything that a reader who starts at the
 * boundary needs to know of what lies before it. Stored as a JSON blob that the boundary names.
 */
const entryIdShape = z.string().transform((text) => text as EntryId);
const byteRangeFields = { start: z.number().int().nonnegative(), end: z.number().int().nonnegative() };

/** Read again from the log by its place. */
const loggedItemShape = z.object({
  entry: entryIdShape,
  ...byteRangeFields,
  thinking: z.enum(["kept", "left-out"]),
  foreign: z.boolean(),
  at: z.number().int(),
});
/** No line of the log holds it as it is shown: a collapse's stand-in, a result whose offload was undone. */
const inlineItemShape = z.object({
  entry: entryIdShape,
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
  items: z.array(z.union([loggedItemShape, inlineItemShape])),
  decisions: z.array(
    z.object({
      toolUse: z.string().transform((text) => text as ToolUseId),
      by: entryIdShape,
      kind: z.enum(["offload", "clear", "repair"]),
      shown: z.string(),
      at: z.number().int(),
    }),
  ),
  pins: z.array(entryIdShape),
  settings: z.record(z.string(), anyJson),
  /** The checkpoint of the boundary before, so that the lists of messages form a chain and none grows with the session. */
  previous: z.string().refine(isBlobId, "64 hex digits").transform(blobId).optional(),
  /** What people said since the boundary before, by place: with the chain, the ledger that no compaction forgets. */
  userMessages: z.array(z.object({ entry: entryIdShape, ...byteRangeFields })),
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
