import { expand } from "palimpsest/internal/session/expand";
import { scanForward } from "palimpsest/internal/session/scan";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ByteSource, TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { ResultContent, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { SessionId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { isArray, isObject, type JsonObject, parsedOrUndefined } from "palimpsest/internal/schema/json";
import type { ChatItem, CompactedItem } from "./chat-item.ts";
import { itemsOf } from "./from-transcript.ts";

/** What an item unfolds into, beyond what the state holds of it. */
export type ItemDetail =
  | {
      readonly kind: "call";
      readonly input: JsonObject;
      /** As the tool gave it, also where the view shows less; undefined where it gave none, or what it gave is gone. */
      readonly result: ResultContent | undefined;
    }
  | {
      /** That stands for what was said before. */
      readonly kind: "summary";
      readonly text: string;
      /** What it stands for, where the chat begins with the boundary and so does not show it. */
      readonly original: readonly ChatItem[];
    }
  | { readonly kind: "nothing" };

/** Reads the log once: a person asks for few. An item of another session gives nothing. */
export async function itemDetail(
  deps: TranscriptsDep & BlobsDep,
  { session, item }: { readonly session: SessionId; readonly item: ChatItem },
): Promise<ItemDetail> {
  if (item.kind !== "call" && item.kind !== "compacted") return nothing;
  const source = await deps.transcripts.openForReading(session);
  if (source === undefined) return nothing;
  try {
    return await (item.kind === "call" ? callDetail(deps, { source, id: item.call }) : compactedDetail(source, item));
  } finally {
    await source.close();
  }
}

const nothing: ItemDetail = { kind: "nothing" };

async function callDetail(
  deps: BlobsDep,
  { source, id }: { readonly source: ByteSource; readonly id: ToolUseId },
): Promise<ItemDetail> {
  const call = await firstOf(source, (entry) => callIn(entry, id));
  if (call === undefined) return nothing;
  const found = await expand(deps, source, id);
  const result = found.kind === "result" ? contentOf(new TextDecoder().decode(found.bytes)) : undefined;
  return { kind: "call", input: call.input, result };
}

const callIn = (entry: Entry, id: ToolUseId): ToolUseBlock | undefined =>
  entry.kind === "assistant"
    ? entry.blocks.find((block): block is ToolUseBlock => block.type === "tool_use" && block.id === id)
    : undefined;

/** Blocks are kept as JSON, text as itself. A text that happens to be a list of typed blocks is shown as these. */
function contentOf(kept: string): ResultContent {
  if (!kept.startsWith("[{")) return kept;
  const parsed = parsedOrUndefined(kept);
  if (parsed === undefined || !isArray(parsed)) return kept;
  const blocks = parsed.flatMap((part) => (isObject(part) && typeof part["type"] === "string" ? [part] : []));
  return blocks.length === parsed.length ? blocks : kept;
}

/**
 * The summary is the first entry that follows a boundary and says that it is one. What it stands for is all since the
 * boundary before, also what was taken back by a rewind: the log holds that too.
 */
async function compactedDetail(source: ByteSource, { entries: boundary, covers }: CompactedItem): Promise<ItemDetail> {
  const named = new Set(boundary);
  const isShown = covers.from < covers.to;
  const before: Entry[] = [];
  let isBehind = false;
  const told = await firstOf(source, (entry) => {
    if (entry.id !== undefined && named.has(entry.id) && entry.kind === "edit") isBehind = true;
    else if (!isBehind && isBoundary(entry)) before.length = 0;
    else if (!isBehind && !isShown) before.push(entry);
    return isBehind && entry.kind === "user" && entry.summary ? entry : undefined;
  });
  if (told === undefined) return nothing;
  const texts = told.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return { kind: "summary", text: texts.join("\n"), original: itemsOf(before) };
}

const isBoundary = (entry: Entry): boolean => entry.kind === "edit" && entry.edit.type === "boundary";

async function firstOf<Found>(
  source: ByteSource,
  look: (entry: Entry) => Found | undefined,
): Promise<Found | undefined> {
  for await (const { logged } of scanForward(source)) {
    for (const { entry } of logged) {
      const found = look(entry);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
