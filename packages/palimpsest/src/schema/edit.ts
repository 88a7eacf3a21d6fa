import { z } from "zod";
import { type BlobId, type EntryId, type ToolUseId, blobId, isBlobId, tokens } from "./brand.ts";
import { anyJson } from "./any-json.ts";

/**
 * Edits are appended to the transcript and never change what is already there. An edit holds the exact bytes that the
 * model sees from then on, so no decision is made twice. On disk `type` names the edit, except for the boundary, which
 * has the ecosystem's form (`system` / `compact_boundary`).
 */
const entryIdShape = z.string().transform((text) => text as EntryId);
const toolUseIdShape = z.string().transform((text) => text as ToolUseId);
const blobIdShape = z
  .string()
  .refine(isBlobId, "64 hex digits")
  .transform((text): BlobId => blobId(text));
const tokensShape = z.number().nonnegative().transform(tokens);

/** How a blob's bytes become a result's content again: `text` is the string itself, `json` an array of blocks. */
const media = z.enum(["text", "json"]);

/** `blob` is absent if the transcript's own entry holds the whole text. */
const replacement = z.looseObject({
  toolUse: toolUseIdShape,
  blob: blobIdShape.optional(),
  media: media.optional(),
  bytes: z.number().nonnegative().optional(),
  shown: z.string(),
});

const span = z.looseObject({ from: entryIdShape, to: entryIdShape });

/**
 * What can be left out of a request that a provider refuses. `server-summary`: the provider's own block, which is
 * replaced by its text. `other-blocks`: all but texts, calls, results and media.
 */
const leftOutPart = z.enum(["server-summary", "thinking", "media", "other-blocks"]);

/** The arithmetic behind a layer's decision, in words for the user. */
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
    /** Items in this span are shown without their thinking, because it was made after what is cleared. */
    dropsThinking: span.optional(),
  }),
  "server-edits": z.looseObject({
    type: z.literal("server-edits"),
    /** Results that requests delete from the provider's cache from here on. */
    deleted: z.array(toolUseIdShape),
    /** The cache that they were deleted from is lost: earlier deletions no longer count, and `deleted` starts a new list. */
    forgets: z.boolean().optional(),
    /** What the server reports to have left out of a request, in its own format. */
    applied: z.array(anyJson).optional(),
    because: because.optional(),
  }),
  snip: z.looseObject({ type: z.literal("snip"), entries: z.array(entryIdShape), because: because.optional() }),
  collapse: z.looseObject({ type: z.literal("collapse"), span, shown: z.string(), because: because.optional() }),
  "leave-out": z.looseObject({
    type: z.literal("leave-out"),
    part: leftOutPart,
    /** Entries that are sent without the part from here on. `shown`: what replaces it; absent: nothing. */
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
    /** The entry that says the same on an abandoned branch: the cost that both record was paid once. */
    again: entryIdShape.optional(),
  }),
  repair: z.looseObject({ type: z.literal("repair"), results: z.array(replacement) }),
  branch: z.looseObject({
    type: z.literal("branch"),
    before: entryIdShape.optional(),
    /** The leaf of the abandoned branch, for the way back. */
    from: entryIdShape.optional(),
  }),
  origin: z.looseObject({
    type: z.literal("origin"),
    format: z.string(),
    path: z.string(),
    length: z.number().int().nonnegative(),
    sha256: blobIdShape,
    /** The original source, if the copied bytes are a translation of it. */
    translatedFrom: z.looseObject({ length: z.number().int().nonnegative(), sha256: blobIdShape }).optional(),
  }),
} as const;

/** A field for display or accounting: a wrong value is ignored, so that the boundary stays valid. */
const ignoreInvalid = <Shape extends z.ZodType>(shape: Shape) => shape.optional().catch(undefined);

export const paidCallsShape = z.array(
  z.object({ path: z.string(), model: z.string(), usage: z.record(z.string(), anyJson) }),
);
const spentRounds = z.object({ calls: z.int().nonnegative(), roundsAgo: z.int().nonnegative() });
const chain = z.looseObject({
  /** The previous boundary; absent for the first. */
  previous: entryIdShape.optional(),
  /** Number of earlier boundaries in force. */
  boundaries: z.int().nonnegative(),
  turnsSince: z.int().nonnegative(),
  roundsSince: z.int().nonnegative(),
  /** Calls for automatic summaries in the newest rounds before this boundary, for readers that start here. */
  spent: z.array(spentRounds).readonly().default([]),
  /** Replies between the newest failure that the breaker counts and this boundary; absent if there is none. */
  roundsSinceFailure: z.int().nonnegative().optional(),
});
const byClass = z.record(z.string(), z.number());
const learned = z.object({
  /** The model whose tokens these are. */
  model: z.string().optional(),
  calibration: z
    .object({ observations: z.int().nonnegative(), products: z.record(z.string(), byClass), growth: byClass })
    .optional(),
  request: z
    .object({ tokens: z.number().nonnegative(), addedTokens: z.number().nonnegative().optional(), bytes: byClass })
    .optional(),
});
const reloaded = z.looseObject({
  /** Number of instruction files that were read again. */
  files: z.int().nonnegative(),
  /** Those that differ from what requests began with before, by path. */
  changed: z.array(z.string()).default([]),
  /** Tokens of the system prompt behind the first change: the next request writes them to the cache again. */
  rewrittenTokens: z.number().nonnegative().default(0),
});
const segment = z.looseObject({ headUuid: entryIdShape, anchorUuid: entryIdShape.optional(), tailUuid: entryIdShape });
const boundaryMetadata = z.looseObject({
  trigger: z.string().optional(),
  preTokens: z.number().optional(),
  preservedSegment: segment.optional(),
  preservedMessages: z.looseObject({ uuids: z.array(entryIdShape) }).optional(),
  /** `from`: everything before `pivot` stays in front, byte for byte. Otherwise only the preserved segment stays. */
  direction: z.enum(["all", "from", "up_to"]).optional(),
  pivot: entryIdShape.optional(),
  checkpoint: blobIdShape.optional(),
  /** What produced the summary. */
  path: ignoreInvalid(z.string()),
  /** `ahead`: prepared in the background, before it was due. */
  made: ignoreInvalid(z.string()),
  postTokens: ignoreInvalid(z.number()),
  /** Server tools, as `mcp__server__tool`, whose definitions the model had received. */
  preCompactDiscoveredTools: ignoreInvalid(z.array(z.string())),
  /** Tokens of header and tools, as measured by earlier requests: after the boundary nothing is counted yet. */
  fixedTokens: ignoreInvalid(z.number().nonnegative()),
  /** What was learned from the provider's counts up to here, by content class, for readers that start at the boundary. */
  learned: ignoreInvalid(learned),
  /**
   * The largest context that the provider has counted for the model up to here: the window is at least as large.
   * `window`: the declared size.
   */
  counted: ignoreInvalid(
    z.object({ model: z.string(), tokens: z.number().nonnegative(), window: z.number().positive().optional() }),
  ),
  /** Instruction files that were read again for the requests behind the boundary. */
  reloaded: ignoreInvalid(reloaded),
  durationMs: ignoreInvalid(z.number()),
  messagesSummarized: ignoreInvalid(z.number()),
  /** Oldest rounds that did not fit into the summariser's request. */
  unseenRounds: ignoreInvalid(z.number()),
  /** The user's instructions. */
  instructions: ignoreInvalid(z.string()),
  /** Answered requests for the summary, including those whose answer was rejected. */
  calls: ignoreInvalid(paidCallsShape),
  /** Cost of these calls as booked then; absent if a model had no known price. */
  costNanos: ignoreInvalid(z.number().nonnegative()),
  /** Lines for the user: what was removed from the summary, and why notes were not used. */
  changes: ignoreInvalid(z.array(z.string())),
  /** Its distance from the previous boundary. */
  chain: ignoreInvalid(chain),
  /** Share of the required facts that the summary contains, 0 to 1. */
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
/** Paid calls, and the number of rounds since. */
export type SpentRounds = z.infer<typeof spentRounds>;
export type PaidCall = z.infer<typeof paidCallsShape>[number];
export type ReloadedInstructions = z.infer<typeof reloaded>;
export type BoundaryMetadata = z.infer<typeof boundaryMetadata>;
export interface Boundary {
  readonly type: "boundary";
  readonly metadata: BoundaryMetadata;
}
type Shapes = typeof shapes;
export type Edit = { [Kind in keyof Shapes]: z.infer<Shapes[Kind]> }[keyof Shapes] | Boundary;
export type EditKind = Edit["type"];

/** Shown for a result that another program cleared without recording a text. */
export const plainClearMarker = "[Old tool result content cleared]";

/** A log holds few edits, so compiling a parser for each shape costs more than it saves. */
const withoutCompiling = { jitless: true } as const;

const isOurKind = (type: string): type is keyof Shapes => Object.hasOwn(shapes, type);

/**
 * The edit that a raw entry records, or `none` if it is not an edit. A known kind with invalid fields is not an edit: it
 * stays in the log as an entry of unknown kind, and `malformed` says why.
 */
type ReadEditOutcome = { kind: "edit"; edit: Edit } | { kind: "none" } | { kind: "malformed"; why: string };

export function readEdit(raw: { type?: unknown; subtype?: unknown; receipt?: unknown }): ReadEditOutcome {
  if (raw.type === "system") return readSystemEdit(raw);
  if (typeof raw.type !== "string" || !isOurKind(raw.type)) return { kind: "none" };
  // Receipts are read from the log on demand. Without one, an entry just written equals the same entry read back.
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
