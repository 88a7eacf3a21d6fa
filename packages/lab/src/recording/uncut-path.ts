import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import { resultContent } from "palimpsest/internal/session/open-log";
import type { ResultContent } from "palimpsest/internal/schema/block";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { EditKind } from "palimpsest/internal/schema/edit";
import type { AssistantEntry, AttachmentEntry, EditEntry, Entry, UserEntry } from "palimpsest/internal/schema/entry";
import type { LoggedEntry } from "palimpsest/internal/transcript/read-lines";
import { isMadeForBoundary } from "palimpsest/internal/transcript/attachment-text";
import { Path } from "palimpsest/internal/transcript/path";
import { findUndoneEdits } from "palimpsest/internal/transcript/plan-undo";

/** An entry of the conversation as if nothing had ever been removed from the view. */
export interface UncutEntry {
  readonly entry: SaidEntry;
  /** `cut`: something was removed from the view between the previous entry and this one, so the context did not only grow. */
  readonly follows: "directly" | "cut";
}

/** An entry that is sent to the model. The only edits are repairs, which answer calls. */
export type SaidEntry = UserEntry | AssistantEntry | AttachmentEntry | EditEntry;

/**
 * The path across all boundaries without anything that reduced the view: boundaries, summaries and the attachments made for
 * them, and every edit but repairs. Synthetic replies of a client are left out too.
 */
export async function uncutPath(blobs: BlobsDep | undefined, logged: readonly LoggedEntry[]): Promise<UncutEntry[]> {
  const path = wholePath(logged);
  const originals = blobs === undefined ? noOriginals : await fetchOriginals(blobs, path);
  const undone = findUndoneEdits(path);
  const uncut: UncutEntry[] = [];
  let follows: UncutEntry["follows"] = "directly";
  let boundary: EditEntry | undefined;
  let passing: "nothing" | "attachments" = "nothing";
  for (const entry of path) {
    if (entry.kind === "edit" && entry.edit.type === "boundary") boundary = entry;
    const isForBoundary =
      passing === "attachments" &&
      entry.kind === "attachment" &&
      boundary !== undefined &&
      isMadeForBoundary(entry, boundary);
    const verdict = isForBoundary ? "cut" : judgeEntry(entry, { undone, isFirst: uncut.length === 0 });
    if (entry.kind === "user" && entry.summary) passing = "attachments";
    else if (!isForBoundary) passing = "nothing";
    if (verdict === "cut") follows = "cut";
    if (typeof verdict === "string") continue;
    uncut.push({ entry: withOriginals(verdict, originals), follows });
    follows = "directly";
  }
  return uncut;
}

/** If a log contains only entries of a sub-agent, their path is the conversation. */
function wholePath(logged: readonly LoggedEntry[]): readonly Entry[] {
  const isMain = logged.some(({ entry }) => !entry.sidechain && (entry.kind === "user" || entry.kind === "assistant"));
  const path = new Path({ line: isMain ? "main" : "side" });
  for (const line of logged) path.append({ ...line, entry: continueAtBoundary(line.entry) });
  return path.entries;
}

/** A boundary without a parent covers everything before it in the log, so it continues there. */
function continueAtBoundary(entry: Entry): Entry {
  const isRoot = entry.parent === null && entry.logicalParent === undefined;
  return isRoot && entry.kind === "edit" && entry.edit.type === "boundary" ? { ...entry, parent: undefined } : entry;
}

function judgeEntry(
  entry: Entry,
  { undone, isFirst }: { readonly undone: ReadonlySet<EntryId>; readonly isFirst: boolean },
): SaidEntry | "cut" | "no-part" {
  switch (entry.kind) {
    case "user":
      // If what it summarises is not in the log, the conversation begins with the summary.
      if (entry.summary) return isFirst ? { ...entry, summary: false, meta: true } : "cut";
      return entry;
    case "assistant":
      return entry.synthetic ? "no-part" : entry;
    case "attachment":
      return entry;
    case "edit":
      if (undone.has(entry.id)) return "no-part";
      return judgeEdit(entry);
    case "other":
      return "no-part";
  }
}

function judgeEdit(entry: EditEntry): SaidEntry | "cut" | "no-part" {
  if (entry.edit.type === "repair") return entry;
  return invisibleEdits.has(entry.edit.type) ? "no-part" : "cut";
}

/** Edits that did not change what the model saw. */
const invisibleEdits: ReadonlySet<EditKind> = new Set(["pin", "unpin", "setting", "origin"]);

type OriginalByToolUse = ReadonlyMap<ToolUseId, ResultContent>;
const noOriginals: OriginalByToolUse = new Map();

async function fetchOriginals({ blobs }: BlobsDep, path: readonly Entry[]): Promise<OriginalByToolUse> {
  const originals = new Map<ToolUseId, ResultContent>();
  for (const entry of path) {
    if (entry.kind !== "edit" || entry.edit.type !== "offload") continue;
    for (const { toolUse, blob, media } of entry.edit.results) {
      const bytes = blob === undefined ? undefined : await blobs.get(blob);
      const content = bytes === undefined ? undefined : resultContent(bytes, media ?? "text");
      if (content !== undefined) originals.set(toolUse, content);
    }
  }
  return originals;
}

function withOriginals(entry: SaidEntry, originals: OriginalByToolUse): SaidEntry {
  if (entry.kind !== "user" || originals.size === 0) return entry;
  const blocks = entry.blocks.map((block) => {
    const content = block.type === "tool_result" ? originals.get(block.tool_use_id) : undefined;
    return content === undefined ? block : { ...block, content };
  });
  return { ...entry, blocks };
}
