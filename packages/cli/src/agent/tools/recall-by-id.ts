import type { ProjectRecall } from "../../host/project-recall.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import { expand } from "palimpsest/internal/session/expand";
import type { Session } from "palimpsest/internal/session/session";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { isArray, isObject, type Json, tryParseJson, type JsonObject } from "palimpsest/internal/schema/json";
import { imageHeader } from "palimpsest/internal/tokens/image-header";
import { type ExpandOutcome, type RecalledMedium, recallToolName } from "../../tool/recall-tool.ts";
import { isMediaType } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { findUndoneEdits } from "palimpsest/internal/transcript/plan-undo";

/**
 * What an id stands for, as the model is shown it: text as text, images and documents as themselves. A medium that the
 * provider refused after an earlier recall is described in words.
 */
export async function recallById({
  deps,
  session,
  id,
  recall,
}: {
  readonly deps: Pick<ProjectStore, "blobs" | "transcripts">;
  readonly session: Pick<Session, "id" | "fold">;
  readonly id: string;
  /** For ids of other sessions, written `session/id`. */
  readonly recall?: Pick<ProjectRecall, "expand"> | undefined;
}): Promise<ExpandOutcome> {
  const slash = id.lastIndexOf("/");
  if (slash > 0 && recall !== undefined && id.slice(0, slash) !== session.id) return await expandElsewhere(recall, id);
  if (slash > 0) return await recallById({ deps, session, id: id.slice(slash + 1) });
  const source = await deps.transcripts.openForReading(session.id);
  if (source === undefined) return { kind: "missing", why: "the transcript can't be read" };
  try {
    const found = await expand(deps, source, id);
    const refused = findRefusedMedia(session.fold.path.entries);
    switch (found.kind) {
      case "entry":
        return withMedia(decodeText(found.bytes), refused);
      case "result":
        return found.form === "json"
          ? withMedia(decodeText(found.bytes), refused)
          : textOutcome(decodeText(found.bytes));
      case "blob":
        return imageIn(found.bytes, refused) ?? textOutcome(decodeText(found.bytes));
      case "not-found":
        return (await expandMemory(recall, id)) ?? { kind: "missing", why: "nothing has this id" };
      case "ambiguous":
        return { kind: "missing", why: `several ids begin like this: ${found.candidates.slice(0, 5).join(", ")}` };
      case "unanswered":
        return { kind: "missing", why: "the call has no result" };
      case "blob-missing":
        return { kind: "missing", why: "its content is no longer on disk" };
    }
  } finally {
    await source.close();
  }
}

async function expandElsewhere(recall: Pick<ProjectRecall, "expand">, id: string): Promise<ExpandOutcome> {
  const slash = id.lastIndexOf("/");
  const original = await recall.expand(id.slice(0, slash), id.slice(slash + 1));
  if (original === undefined)
    return (await expandMemory(recall, id)) ?? { kind: "missing", why: "nothing has this id" };
  return original.kind === "entry"
    ? withMedia(decodeText(original.bytes), new Set())
    : textOutcome(decodeText(original.bytes));
}

/** A memory is its own session: its path is all of its id. */
async function expandMemory(
  recall: Pick<ProjectRecall, "expand"> | undefined,
  id: string,
): Promise<ExpandOutcome | undefined> {
  const original = id.endsWith(".md") ? await recall?.expand(id, id) : undefined;
  return original && textOutcome(decodeText(original.bytes));
}

const decodeText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const textOutcome = (text: string): ExpandOutcome => ({ kind: "found", text, media: [] });

/**
 * The JSON of blocks, or of an entry with blocks. Each image and document in it is replaced by a name and listed
 * separately.
 */
function withMedia(json: string, refused: ReadonlySet<string>): ExpandOutcome {
  const value = tryParseJson(json);
  if (value === undefined) return textOutcome(json);
  const mark = pickUnusedMark(JSON.stringify(value));
  const blocks: Medium[] = [];
  const marked = markMedia(value, { mark, blocks });
  if (blocks.length === 0) return textOutcome(json);
  const [head = "", ...tails] = JSON.stringify(marked, null, 2).split(mark);
  const media: RecalledMedium[] = [];
  let text = head;
  for (const [index, block] of blocks.entries()) {
    const name = `${block.type} ${index + 1}`;
    const isRefused = refused.has(mediumKey(block));
    if (!isRefused) media.push({ block, at: text.length });
    text += isRefused ? `[${[name, ...describeMedium(block), notShown].join(", ")}]` : `[${name}, shown below]`;
    text += tails[index] ?? "";
  }
  return { kind: "found", text, media };
}

/** A string that the JSON does not contain. A fixed name would not do: the JSON may quote an earlier recall. */
function pickUnusedMark(json: string): string {
  let mark = privateUse;
  while (json.includes(mark)) mark += privateUse;
  return mark;
}

const privateUse = "\uE000";

interface MediaMarks {
  readonly mark: string;
  /** The media found, in the order of their marks. */
  readonly blocks: Medium[];
}

function markMedia(value: Json, marking: MediaMarks): Json {
  if (isArray(value)) return value.map((item) => markMedia(item, marking));
  if (!isObject(value)) return value;
  if (isMedium(value)) {
    marking.blocks.push(value);
    return marking.mark;
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markMedia(inner, marking)]));
}

const notShown = "not shown: the provider refused it when it was recalled before";

/** What can be said of a medium without showing it: nothing if its data is elsewhere. */
function describeMedium({ source }: Medium): readonly string[] {
  const data = isObject(source) ? source["data"] : undefined;
  if (typeof data !== "string") return [];
  const header = imageHeader(data);
  const size = formatBytes(Buffer.byteLength(data, "base64"));
  return header === undefined
    ? [size]
    : [header.format.toUpperCase(), `${header.width} × ${header.height} pixels`, size];
}

/** An image that was stored by itself, with the type detected from its bytes: it may have been declared wrongly. */
function imageIn(bytes: Uint8Array, refused: ReadonlySet<string>): ExpandOutcome | undefined {
  const data = Buffer.from(bytes).toString("base64");
  const header = imageHeader(data);
  if (header === undefined) return undefined;
  const block: Medium = { type: "image", source: { type: "base64", media_type: `image/${header.format}`, data } };
  const isRefused = refused.has(mediumKey(block));
  const text = `[${[...describeMedium(block), isRefused ? notShown : "shown below"].join(", ")}]`;
  return { kind: "found", text, media: isRefused ? [] : [{ block, at: 0 }] };
}

type Medium = JsonObject & { readonly type: "image" | "document" };

/** A block that only claims the type, such as in a call's input, has no source. */
const isMedium = (value: JsonObject): value is Medium => isMediaType(value["type"]) && isObject(value["source"]);

/** Equal for equal bytes, whatever type was declared. */
function mediumKey({ source }: Medium): string {
  const data = isObject(source) ? source["data"] : undefined;
  return typeof data === "string" ? data : JSON.stringify(source);
}

/**
 * Keys of the images and documents that were recalled and then left out because the provider refused them; another
 * recall would be refused again. A medium that was left out where it first stood may be recalled once: among fewer it
 * may be accepted.
 */
function findRefusedMedia(path: readonly Entry[]): ReadonlySet<string> {
  const leftOut = entriesWithoutMedia(path);
  if (leftOut.size === 0) return leftOut;
  const recalls = new Set<ToolUseId>();
  const keys = new Set<string>();
  for (const entry of path) {
    if (entry.kind === "assistant")
      for (const block of entry.blocks)
        if (block.type === "tool_use" && block.name === recallToolName) recalls.add(block.id);
    if (entry.kind !== "user" || entry.id === undefined || !leftOut.has(entry.id)) continue;
    for (const block of entry.blocks) {
      if (block.type !== "tool_result" || !recalls.has(block.tool_use_id) || typeof block.content !== "object")
        continue;
      for (const inner of block.content) if (isMedium(inner)) keys.add(mediumKey(inner));
    }
  }
  return keys;
}

/** Entries whose images and documents are left out by an edit that counts. */
function entriesWithoutMedia(path: readonly Entry[]): ReadonlySet<string> {
  const undone = findUndoneEdits(path);
  return new Set(
    path.flatMap((entry) =>
      entry.kind === "edit" && entry.edit.type === "leave-out" && entry.edit.part === "media" && !undone.has(entry.id)
        ? entry.edit.entries.map(({ entry: id }) => id)
        : [],
    ),
  );
}
