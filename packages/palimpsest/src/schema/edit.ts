import { z } from "zod";
import { type BlobId, type EntryId, type ToolUseId, blobId, isBlobId, tokens } from "./brand.ts";
import { anyJson } from "./any-json.ts";

/**
 * Edits: appended to the transcript after their effect, never applied by mutation. An edit holds the exact bytes the
 * model sees from then on, so nothing is decided twice. On disk `type` names the edit, except for the boundary, which
 * keeps the ecosystem's form (`system` / `compact_boundary`).
 */
const entryIdShape = z.string().transform((text) => text as EntryId);
const toolUseIdShape = z.string().transform((text) => text as ToolUseId);
const blobIdShape = z
  .string()
  .refine(isBlobId, "64 hex digits")
  .transform((text): BlobId => blobId(text));
const tokensShape = z.number().nonnegative().transform(tokens);

/** How a blob's bytes turn back into a result's content: `text` is the string itself, `json` an array of blocks. */
const media = z.enum(["text", "json"]);

/** `blob` is absent where the transcript's own entry holds the whole text. */
const replacement = z.looseObject({
  toolUse: toolUseIdShape,
  blob: blobIdShape.optional(),
  media: media.optional(),
  bytes: z.number().nonnegative().optional(),
  shown: z.string(),
});

const span = z.looseObject({ from: entryIdShape, to: entryIdShape });

/**
 * What a request can do without, where a provider refuses it. `server-summary`: the provider's own block, in whose place its
 * text stands. `other-blocks`: all but texts, calls, results and media.
 */
const leftOutPart = z.enum(["server-summary", "thinking", "media", "other-blocks"]);

/** The arithmetic by which a layer decided, in words for people. */
const because = z.string();

const shapes = {
  offload: z.looseObject({ type: z.literal("offload"), results: z.array(replacement) }),
  clear: z.looseObject({
    type: z.literal("clear"),
    results: z.array(replacement),
    attachments: z.array(entryIdShape).default([]),
    cause: z.enum(["size", "idle", "price", "asked"]),
    tokensBefore: tokensShape.optional(),
    tokensSaved: tokensShape.optional(),
    because: because.optional(),
    /** Items from one to the other are shown without their thinking: it was made behind what is cleared. */
    dropsThinking: span.optional(),
  }),
  "server-edits": z.looseObject({
    type: z.literal("server-edits"),
    /** Results that requests delete in the provider's cache from here on. */
    deleted: z.array(toolUseIdShape),
    /** The cache they were deleted from is lost: none counts any more, what follows in `deleted` begins anew. */
    forgets: z.boolean().optional(),
    /** What the server says that it left out of a request, in its own words. */
    applied: z.array(anyJson).optional(),
    because: because.optional(),
  }),
  snip: z.looseObject({ type: z.literal("snip"), entries: z.array(entryIdShape), because: because.optional() }),
  collapse: z.looseObject({ type: z.literal("collapse"), span, shown: z.string(), because: because.optional() }),
  "leave-out": z.looseObject({
    type: z.literal("leave-out"),
    part: leftOutPart,
    /** Entries that are sent without it from here on. `shown`: what stands where it stood; absent: nothing does. */
    entries: z.array(z.looseObject({ entry: entryIdShape, shown: z.string().optional() })),
    because: because.optional(),
  }),
  pin: z.looseObject({ type: z.literal("pin"), entry: entryIdShape }),
  unpin: z.looseObject({ type: z.literal("unpin"), entry: entryIdShape }),
  undo: z.looseObject({ type: z.literal("undo"), edit: entryIdShape, dropsThinking: z.boolean().optional() }),
  setting: z.looseObject({
    type: z.literal("setting"),
    name: z.string(),
    value: anyJson,
    /** The entry that says the same on a branch that was left: what both book was paid once. */
    again: entryIdShape.optional(),
  }),
  repair: z.looseObject({ type: z.literal("repair"), results: z.array(replacement) }),
  branch: z.looseObject({
    type: z.literal("branch"),
    before: entryIdShape.optional(),
    /** The leaf that was left: the way back. */
    from: entryIdShape.optional(),
  }),
  origin: z.looseObject({
    type: z.literal("origin"),
    format: z.string(),
    path: z.string(),
    length: z.number().int().nonnegative(),
    sha256: blobIdShape,
    /** The source itself, where what was copied is a translation of it. */
    translatedFrom: z.looseObject({ length: z.number().int().nonnegative(), sha256: blobIdShape }).optional(),
  }),
} as const;

/** A field for people and accounts: what is wrong in it must not cost the boundary. */
const ignoreInvalid = <Shape extends z.ZodType>(shape: Shape) => shape.optional().catch(undefined);

export const paidCallsShape = z.array(
  z.object({ path: z.string(), model: z.string(), usage: z.record(z.string(), anyJson) }),
);
const spentRounds = z.object({ calls: z.int().nonnegative(), roundsAgo: z.int().nonnegative() });
const chain = z.looseObject({
  /** The boundary before; absent for the first. */
  previous: entryIdShape.optional(),
  /** How many are in force before it. */
  boundaries: z.int().nonnegative(),
  turnsSince: z.int().nonnegative(),
  roundsSince: z.int().nonnegative(),
  /** Calls for summaries that nobody asked for, of the newest rounds before it: who reads from here on still knows them. */
  spent: z.array(spentRounds).readonly().default([]),
  /** Replies between the newest failure that the breaker counts and this boundary; absent where there is none. */
  roundsSinceFailure: z.int().nonnegative().optional(),
});
const byClass = z.record(z.string(), z.number());
const learned = z.object({
  /** In whose tokens. */
  model: z.string().optional(),
  calibration: z
    .object({ observations: z.int().nonnegative(), products: z.record(z.string(), byClass), growth: byClass })
    .optional(),
  request: z
    .object({ tokens: z.number().nonnegative(), addedTokens: z.number().nonnegative().optional(), bytes: byClass })
    .optional(),
});
const segment = z.looseObject({ headUuid: entryIdShape, anchorUuid: entryIdShape.optional(), tailUuid: entryIdShape });
const boundaryMetadata = z.looseObject({
  trigger: z.string().optional(),
  preTokens: z.number().optional(),
  preservedSegment: segment.optional(),
  preservedMessages: z.looseObject({ uuids: z.array(entryIdShape) }).optional(),
  /** `from`: what stands before `pivot` stays in front, byte for byte. Otherwise only the preserved segment stays. */
  direction: z.enum(["all", "from", "up_to"]).optional(),
  pivot: entryIdShape.optional(),
  checkpoint: blobIdShape.optional(),
  /** What produced the summary. */
  path: ignoreInvalid(z.string()),
  /** `ahead`: beside the conversation, before it was due. */
  made: ignoreInvalid(z.string()),
  postTokens: ignoreInvalid(z.number()),
  /** Tools of servers, as `mcp__server__tool`, whose definitions the model had been given. */
  preCompactDiscoveredTools: ignoreInvalid(z.array(z.string())),
  /** Of header and tools, as requests had shown it: behind the boundary nothing is counted yet. */
  fixedTokens: ignoreInvalid(z.number().nonnegative()),
  /** What the provider's counts have taught up to here, by content class: whoever opens the log at the boundary goes on from it. */
  learned: ignoreInvalid(learned),
  /** The largest context that the provider has counted for the model up to here: a window is at least as large. `window`: as it was declared. */
  counted: ignoreInvalid(
    z.object({ model: z.string(), tokens: z.number().nonnegative(), window: z.number().positive().optional() }),
  ),
  durationMs: ignoreInvalid(z.number()),
  messagesSummarized: ignoreInvalid(z.number()),
  /** Oldest rounds that the summariser did not see, for want of room. */
  unseenRounds: ignoreInvalid(z.number()),
  /** The person's. */
  instructions: ignoreInvalid(z.string()),
  /** Requests for the summary that were answered, also those whose answer was refused. */
  calls: ignoreInvalid(paidCallsShape),
  /** Of these calls, as it was booked then; absent where a model had no known price. */
  costNanos: ignoreInvalid(z.number().nonnegative()),
  /** Lines for a person: what was taken out of the summary, and why notes were passed over. */
  changes: ignoreInvalid(z.array(z.string())),
  /** How it follows the boundary before. */
  chain: ignoreInvalid(chain),
  /** How much of what a summary must carry it carries, 0 to 1. */
  audit: ignoreInvalid(z.looseObject({ score: z.number() })),
});
const boundaryShape = z.looseObject({ compactMetadata: boundaryMetadata.optional() });
const foreignClearShape = z.looseObject({
  microcompactMetadata: z.looseObject({
    compactedToolIds: z.array(toolUseIdShape),
    clearedAttachmentUUIDs: z.array(entryIdShape).default([]),
  }),
});

export type Replacement = z.infer<typeof replacement>;
export type Clear = z.infer<typeof shapes.clear>;
export type Collapse = z.infer<typeof shapes.collapse>;
export type LeaveOut = z.infer<(typeof shapes)["leave-out"]>;
export type LeftOutPart = z.infer<typeof leftOutPart>;
/** Calls that were paid for, and how many rounds have come since. */
export type SpentRounds = z.infer<typeof spentRounds>;
export type PaidCall = z.infer<typeof paidCallsShape>[number];
export type BoundaryMetadata = z.infer<typeof boundaryMetadata>;
export interface Boundary {
  readonly type: "boundary";
  readonly metadata: BoundaryMetadata;
}
type Shapes = typeof shapes;
export type Edit = { [Kind in keyof Shapes]: z.infer<Shapes[Kind]> }[keyof Shapes] | Boundary;
export type EditKind = Edit["type"];

/** What a result shows when another tool cleared it and recorded no text of its own. */
export const plainClearMarker = "[Old tool result content cleared]";

/** A log holds few edits: compiling a parser for each shape costs more than it ever saves. */
const withoutCompiling = { jitless: true } as const;

const isOurKind = (type: string): type is keyof Shapes => Object.hasOwn(shapes, type);

/**
 * The edit that a raw entry records, or nothing where it is none. A known kind whose fields do not fit is not an edit:
 * it stays in the log as an entry of unknown kind, and `malformed` says why.
 */
type ReadEditOutcome = { kind: "edit"; edit: Edit } | { kind: "none" } | { kind: "malformed"; why: string };

export function readEdit(raw: { type?: unknown; subtype?: unknown; receipt?: unknown }): ReadEditOutcome {
  if (raw.type === "system") return readSystemEdit(raw);
  if (typeof raw.type !== "string" || !isOurKind(raw.type)) return { kind: "none" };
  // A receipt is read from the log when somebody asks for it: an entry in memory is the same just written and read back.
  const { receipt: _receipt, ...edit } = raw;
  const read = shapes[raw.type].safeParse(edit, withoutCompiling);
  return read.success ? { kind: "edit", edit: read.data } : { kind: "malformed", why: z.prettifyError(read.error) };
}

function readSystemEdit(raw: { subtype?: unknown }): ReadEditOutcome {
  if (raw.subtype === "compact_boundary") {
    const read = boundaryShape.safeParse(raw, withoutCompiling);
    if (!read.success) return { kind: "malformed", why: z.prettifyError(read.error) };
    return { kind: "edit", edit: { type: "boundary", metadata: read.data.compactMetadata ?? {} } };
  }
  if (raw.subtype === "microcompact_boundary") {
    const read = foreignClearShape.safeParse(raw, withoutCompiling);
    if (!read.success) return { kind: "malformed", why: z.prettifyError(read.error) };
    const { compactedToolIds, clearedAttachmentUUIDs } = read.data.microcompactMetadata;
    const results = compactedToolIds.map((toolUse) => ({ toolUse, shown: plainClearMarker }));
    return { kind: "edit", edit: { type: "clear", results, attachments: clearedAttachmentUUIDs, cause: "size" } };
  }
  return { kind: "none" };
}
