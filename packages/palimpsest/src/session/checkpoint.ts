import type { SessionFacts } from "../layers/4-compact/facts/session-facts.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { parseBlock } from "../schema/block.ts";
import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import { type Checkpoint, checkpointShape, type StoredFacts } from "../schema/checkpoint.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { isArray, type Json, type JsonObject, parseJson, tryParseJson } from "../schema/json.ts";
import type { Fold, LogRange } from "../transcript/fold.ts";
import { type Item, toItem } from "../transcript/item.ts";
import type { Path } from "../transcript/path.ts";
import { userText } from "../transcript/user-text.ts";
import type { Decision, ProjectionSeed } from "../transcript/projection.ts";
import { storedFactsCharsMax } from "./limits.ts";
import { readPlace } from "./scan-lines.ts";

export interface RestoredSeed {
  readonly seed: ProjectionSeed;
  readonly places: ReadonlyMap<EntryId, LogRange>;
  readonly foreignUntil: number;
  readonly bytesRead: number;
}

interface CheckpointOptions {
  readonly fold: Fold;
  /** Does the fold's path begin at the log's beginning, or at a boundary? */
  readonly from: "beginning" | "boundary";
  /** Does the boundary keep or carry this item? Only such items can be in the view after it. */
  readonly carried: (item: Item) => boolean;
  /** Facts of the whole path, including what lies before the fold's. */
  readonly facts?: SessionFacts | undefined;
  /** Attachments that are to be written after the boundary. */
  readonly restores?: readonly JsonObject[];
}

/** The state of the fold. It must be stored before the boundary that names it is appended. */
export function makeCheckpoint(options: CheckpointOptions): Checkpoint {
  const { fold, from, carried, restores = [] } = options;
  const { projection } = fold;
  const previous = previousCheckpoint(projection.boundaries);
  const now = fold.path.length;
  const items = projection.items.filter(carried);
  const results = new Set(
    items.flatMap((item) => item.blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))),
  );
  // A path that begins at another tool's boundary has no link to the messages before it.
  const listsAll = from === "beginning" || previous !== undefined;
  const facts = options.facts === undefined || !listsAll ? undefined : factsToStore(options.facts);
  return {
    version: 1,
    items: items.map((item) => toStoredItem(fold, item, now)),
    decisions: [...projection.decisions].flatMap(([toolUse, decisions]) =>
      results.has(toolUse) ? decisions.map((decision) => ({ ...decision, toolUse, at: decision.at - now })) : [],
    ),
    pins: [...projection.pins],
    settings: Object.fromEntries(projection.settings),
    userMessages: userMessagesSince(fold.path, previous?.boundary),
    ...(previous === undefined ? {} : { previous: previous.checkpoint }),
    ...(facts === undefined ? {} : { facts }),
    ...(restores.length === 0 ? {} : { restores: restores.map((attachment) => ({ ...attachment })) }),
    foreignUntil: fold.foreignUntil,
  };
}

/** The newest boundary in force that has a checkpoint: that checkpoint lists the user messages before it. */
function previousCheckpoint(boundaries: readonly EditEntry[]): { boundary: EntryId; checkpoint: BlobId } | undefined {
  for (const { id, edit } of boundaries.toReversed()) {
    const checkpoint = edit.type === "boundary" ? edit.metadata.checkpoint : undefined;
    if (checkpoint !== undefined) return { boundary: id, checkpoint };
  }
  return undefined;
}

/** Undefined if the facts are implausibly large. The log is read instead, which only costs time. */
function factsToStore(facts: SessionFacts): StoredFacts | undefined {
  const { filesModified, filesRead, commands, errors, openTodos, lastReply, decisions, plan, tools, looseEnds } = facts;
  const known = { filesModified, filesRead, commands, errors, openTodos, lastReply, decisions, plan, tools };
  const stored: StoredFacts = looseEnds === undefined ? known : { ...known, looseEnds };
  return JSON.stringify(stored).length > storedFactsCharsMax ? undefined : stored;
}

/** The user's text in an entry of the path. In a sub-agent's log the path itself is a sidechain. */
export const userTextOnPath = (entry: Entry): string | undefined =>
  userText(entry.sidechain ? { ...entry, sidechain: false } : entry);

function userMessagesSince(path: Path, boundary: EntryId | undefined): Checkpoint["userMessages"] {
  const from = boundary === undefined ? 0 : path.findLastIndex(({ entry }) => entry.id === boundary) + 1;
  return path
    .loggedFrom(from)
    .flatMap(({ entry, start, end }) =>
      entry.id === undefined || userTextOnPath(entry) === undefined ? [] : [{ entry: entry.id, start, end }],
    );
}

/** Positions are stored relative to the boundary, so that entries after it count from zero. */
function toStoredItem(fold: Fold, item: Item, now: number): Checkpoint["items"][number] {
  const at = item.at - now;
  const place = fold.placeOf(item.entry);
  if (place !== undefined && fold.isAsLogged(item)) {
    return {
      entry: item.entry,
      start: place.start,
      end: place.end,
      thinking: item.thinking,
      foreign: place.start < fold.foreignUntil,
      at,
    };
  }
  const { entry, role, messageId, thinking, said } = item;
  const asJson = parseJson(JSON.stringify(item.blocks.map((block) => (block.type === "unknown" ? block.was : block))));
  const blocks = isArray(asJson) ? [...asJson] : [];
  const saidField = said === undefined ? {} : { said };
  return { entry, role, ...(messageId === undefined ? {} : { messageId }), blocks, thinking, ...saidField, at };
}

/** Facts and restored attachments are read only when they are needed. */
const foldStateShape = checkpointShape.omit({ facts: true, restores: true });

/** Undefined if the blob is gone or does not fit the log: then the log itself is read further back. */
export async function readCheckpoint(
  deps: BlobsDep,
  { source, checkpoint }: { readonly source: ByteSource; readonly checkpoint: BlobId },
): Promise<RestoredSeed | undefined> {
  const blob = await deps.blobs.get(checkpoint);
  const read = blob === undefined ? undefined : foldStateShape.safeParse(parseCheckpointJson(blob));
  if (blob === undefined || read?.success !== true) return undefined;
  const items: Item[] = [];
  const places = new Map<EntryId, LogRange>();
  let bytesRead = blob.length;
  for (const stored of read.data.items) {
    if ("start" in stored) {
      bytesRead += stored.end - stored.start;
      places.set(stored.entry, { start: stored.start, end: stored.end });
    }
    const item = await restoreItem(source, stored);
    if (item === undefined) return undefined;
    items.push(item);
  }
  const { pins, settings, foreignUntil } = read.data;
  const seed = { items, decisions: decisionsByToolUse(read.data), pins, settings: new Map(Object.entries(settings)) };
  return { seed, places, foreignUntil, bytesRead };
}

/** Undefined if the blob is damaged on disk: the caller falls back to the log. */
export const parseCheckpointJson = (blob: Uint8Array): Json | undefined => tryParseJson(new TextDecoder().decode(blob));

async function restoreItem(source: ByteSource, stored: Checkpoint["items"][number]): Promise<Item | undefined> {
  if (!("start" in stored)) {
    const { said, messageId, blocks, ...item } = stored;
    const saidField = said === undefined ? {} : { said };
    return { ...item, messageId, blocks: blocks.map((block) => parseBlock(block)), ...saidField };
  }
  const logged = await readPlace(source, stored);
  if (logged?.entry.id !== stored.entry) return undefined;
  const item = toItem(logged.entry, { at: stored.at, origin: stored.foreign ? "foreign" : "ours" });
  return item === undefined ? undefined : { ...item, thinking: stored.thinking };
}

function decisionsByToolUse(checkpoint: Pick<Checkpoint, "decisions">): Map<ToolUseId, Decision[]> {
  const decisions = new Map<ToolUseId, Decision[]>();
  for (const { toolUse, ...decision } of checkpoint.decisions) {
    const known = decisions.get(toolUse);
    if (known === undefined) decisions.set(toolUse, [decision]);
    else known.push(decision);
  }
  return decisions;
}
