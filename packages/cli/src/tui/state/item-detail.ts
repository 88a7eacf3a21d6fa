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

/** What an item unfolds into, beyond what the state holds. */
export type ItemDetail =
  | {
      readonly kind: "call";
      readonly input: JsonObject;
      /** As the tool returned it, even if the view shows less. Undefined if there is none, or it is gone. */
      readonly result: ResultContent | undefined;
    }
  | {
      readonly kind: "summary";
      readonly text: string;
      /** What it replaces, if the chat begins with the boundary and so does not show it. */
      readonly original: readonly ChatItem[];
    }
  | { readonly kind: "nothing" };

/** Reads the log once per call, since users unfold few items. An item of another session has no detail. */
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

/** Blocks are stored as JSON, text as it is. A text that happens to be a JSON list of typed blocks is shown as blocks. */
function parseContent(stored: string): ResultContent {
  if (!stored.startsWith("[{")) return stored;
  const parsed = tryParseJson(stored);
  if (parsed === undefined || !isArray(parsed)) return stored;
  const blocks = parsed.flatMap((part) => (isObject(part) && typeof part["type"] === "string" ? [part] : []));
  return blocks.length === parsed.length ? blocks : stored;
}

/**
 * The summary is the first summary entry after the boundary. It replaces everything since the previous boundary, including
 * what was rewound: the log still holds that.
 */
async function loadCompactionDetail(
  source: ByteSource,
  { entries: boundary, covers }: CompactionItem,
): Promise<ItemDetail> {
  const boundaryIds = new Set(boundary);
  const isShown = covers.from < covers.to;
  const before: Entry[] = [];
  let isAfterBoundary = false;
  const summary = await findFirst(source, (entry) => {
    if (entry.id !== undefined && boundaryIds.has(entry.id) && entry.kind === "edit") isAfterBoundary = true;
    else if (!isAfterBoundary && isBoundary(entry)) before.length = 0;
    else if (!isAfterBoundary && !isShown) before.push(entry);
    return isAfterBoundary && entry.kind === "user" && entry.summary ? entry : undefined;
  });
  if (summary === undefined) return noDetail;
  const texts = summary.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return { kind: "summary", text: texts.join("\n"), original: itemsFromEntries(before) };
}

const isBoundary = (entry: Entry): boolean => entry.kind === "edit" && entry.edit.type === "boundary";

async function findFirst<Found>(
  source: ByteSource,
  find: (entry: Entry) => Found | undefined,
): Promise<Found | undefined> {
  for await (const { logged } of scanForward(source)) {
    for (const { entry } of logged) {
      const found = find(entry);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
