import { expand } from "palimpsest/internal/session/expand";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ByteSource, TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { ResultContent, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { SessionId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { isArray, isObject, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import type { ChatItem, CompactionItem } from "./chat-item.ts";
import { itemsFromEntries } from "./restore-chat.ts";

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
export async function loadItemDetail(
  deps: TranscriptsDep & BlobsDep,
  { session, item }: { readonly session: SessionId; readonly item: ChatItem },
): Promise<ItemDetail> {
  if (item.kind !== "call" && item.kind !== "compacted") return noDetail;
  const source = await deps.transcripts.openForReading(session);
  if (source === undefined) return noDetail;
  try {
    return await (item.kind === "call"
      ? loadCallDetail(deps, { source, id: item.call })
      : loadCompactionDetail(source, item));
  } finally {
    await source.close();
  }
}

const noDetail: ItemDetail = { kind: "nothing" };

async function loadCallDetail(
  deps: BlobsDep,
  { source, id }: { readonly source: ByteSource; readonly id: ToolUseId },
): Promise<ItemDetail> {
  const call = await findFirst(source, (entry) => findCall(entry, id));
  if (call === undefined) return noDetail;
  const found = await expand(deps, source, id);
  const result = found.kind === "result" ? parseContent(new TextDecoder().decode(found.bytes)) : undefined;
  return { kind: "call", input: call.input, result };
}

const findCall = (entry: Entry, id: ToolUseId): ToolUseBlock | undefined =>
  entry.kind === "assistant"
    ? entry.blocks.find((block): block is ToolUseBlock => block.type === "tool_use" && block.id === id)
    : undefined;

/** Blocks are kept as JSON, text as itself. A text that happens to be a list of typed blocks is shown as these. */
function parseContent(kept: string): ResultContent {
  if (!kept.startsWith("[{")) return kept;
  const parsed = tryParseJson(kept);
  if (parsed === undefined || !isArray(parsed)) return kept;
  const blocks = parsed.flatMap((part) => (isObject(part) && typeof part["type"] === "string" ? [part] : []));
  return blocks.length === parsed.length ? blocks : kept;
}

/**
 * The summary is the first entry that follows a boundary and says that it is one. What it stands for is all since the
 * boundary before, also what was taken back by a rewind: the log holds that too.
 */
async function loadCompactionDetail(
  source: ByteSource,
  { entries: boundary, covers }: CompactionItem,
): Promise<ItemDetail> {
  const named = new Set(boundary);
  const isShown = covers.from < covers.to;
  const before: Entry[] = [];
  let isBehind = false;
  const told = await findFirst(source, (entry) => {
    if (entry.id !== undefined && named.has(entry.id) && entry.kind === "edit") isBehind = true;
    else if (!isBehind && isBoundary(entry)) before.length = 0;
    else if (!isBehind && !isShown) before.push(entry);
    return isBehind && entry.kind === "user" && entry.summary ? entry : undefined;
  });
  if (told === undefined) return noDetail;
  const texts = told.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return { kind: "summary", text: texts.join("\n"), original: itemsFromEntries(before) };
}

const isBoundary = (entry: Entry): boolean => entry.kind === "edit" && entry.edit.type === "boundary";

async function findFirst<Found>(
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
