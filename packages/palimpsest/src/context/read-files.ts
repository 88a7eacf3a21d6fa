import type { ReadFile, ReadFiles } from "../ports/tool.ts";
import { readFilesMax } from "./limits.ts";
import { z } from "zod";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { field, type Json, type JsonObject } from "../schema/json.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";

/** The newest `readFilesMax` files; a forgotten one has to be read again before it can be changed. */
export function createReadFiles(from: Iterable<readonly [string, ReadFile]> = []): ReadFiles {
  const readByPath = new Map<string, ReadFile>();
  const set = (path: string, read: ReadFile): void => {
    // Deleted first, so that the map stays ordered by age.
    readByPath.delete(path);
    readByPath.set(path, read);
    for (const oldest of readByPath.keys()) {
      if (readByPath.size <= readFilesMax) break;
      readByPath.delete(oldest);
    }
  };
  for (const [path, read] of from) set(path, read);
  return {
    get: (path) => readByPath.get(path),
    set,
    delete: (path) => void readByPath.delete(path),
    copy: () => createReadFiles(readByPath),
    entries: () => readByPath.entries(),
  };
}

const readFileShape = z.object({
  path: z.string(),
  hash: z.string(),
  modifiedMs: z.number(),
  lines: z.object({ from: z.number(), to: z.number() }).optional(),
});

/** The state of the file that a call has read, as the result's entry stores it. */
export function buildReadRecord(files: ReadFiles, call: ToolUseId): JsonObject | undefined {
  for (const [path, { hash, modifiedMs, lines, shownBy }] of files.entries())
    if (shownBy === call) return { path, hash, modifiedMs, ...(lines === undefined ? {} : { lines: { ...lines } }) };
  return undefined;
}

/**
 * Files that the agent has read according to the session's own entries, oldest first: a resumed session need not read them
 * again. Lists only files whose result the view still shows unchanged: after an offload, a clear or a boundary, the file
 * must be read again.
 */
export function listRecordedReads({
  path,
  messages,
  projection,
  foreignUntil,
}: Fold): readonly (readonly [string, ReadFile])[] {
  const shown = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])),
    ),
  );
  const attached = new Set(
    projection.items.flatMap(({ entry, attachment }) => (attachment === undefined ? [] : entry)),
  );
  return path.logged.flatMap(({ entry, start }) => {
    const record = start < foreignUntil ? undefined : findReadRecord(entry);
    const read = readFileShape.safeParse(record?.readFile);
    if (record === undefined || !read.success) return [];
    const { shownBy } = record;
    const isShown =
      record.by === "attachment"
        ? attached.has(record.shownBy)
        : shown.has(record.shownBy) && !projection.decisions.has(record.shownBy);
    if (!isShown) return [];
    const { path: file, hash, modifiedMs, lines } = read.data;
    return [[file, { hash, modifiedMs, shownBy, ...(lines === undefined ? {} : { lines }) }] as const];
  });
}

type ReadRecord =
  | { readonly by: "result"; readonly shownBy: ToolUseId; readonly readFile: Json }
  | { readonly by: "attachment"; readonly shownBy: EntryId; readonly readFile: Json };

/** A result shows what a call has read; an attachment shows what was restored after a boundary. */
function findReadRecord(entry: Entry): ReadRecord | undefined {
  if (entry.kind === "attachment") {
    const readFile = field(entry.attachment, "readFile");
    if (entry.id === undefined || readFile === undefined) return undefined;
    return { by: "attachment", shownBy: entry.id, readFile };
  }
  if (entry.kind !== "user" || entry.readFile === undefined) return undefined;
  const [result] = entry.blocks;
  return result?.type === "tool_result"
    ? { by: "result", shownBy: result.tool_use_id, readFile: entry.readFile }
    : undefined;
}

/** Files that appended attachments show whole count as read. `entries`: those of the drafts, in their order. */
export function registerAttachedReads(
  files: ReadFiles,
  { drafts, entries }: { readonly drafts: readonly Draft[]; readonly entries: readonly EntryId[] },
): void {
  for (const [at, draft] of drafts.entries()) {
    const shownBy = entries[at];
    const attachment = draft["attachment"];
    const read = attachmentReadShape.safeParse(attachment);
    if (shownBy === undefined || !read.success) continue;
    const { path, hash, modifiedMs } = read.data.readFile;
    files.set(path, { hash, modifiedMs, shownBy });
  }
}

const attachmentReadShape = z.object({ readFile: readFileShape });

/** Results that the model sees as they are in the log, not as a marker. Visits every block. */
export function findShownResults({ projection }: Pick<Fold, "projection">): ReadonlySet<ToolUseId> {
  const { items, decisions, withheld } = projection;
  const isCleared = (toolUse: ToolUseId): boolean =>
    decisions.get(toolUse)?.some(({ kind }) => kind === "clear") === true;
  const shown = new Set<ToolUseId>();
  for (const { blocks } of items)
    for (const block of blocks)
      if (block.type === "tool_result" && !withheld.has(block.tool_use_id) && !isCleared(block.tool_use_id))
        shown.add(block.tool_use_id);
  return shown;
}

/**
 * Called before an edit. The returned function is called after it and forgets the files whose reads are no longer shown.
 * Costs nothing if no file was read.
 */
export function watchReads(files: ReadFiles, fold: () => Pick<Fold, "projection">): () => void {
  const [first] = files.entries();
  if (first === undefined) return () => undefined;
  const before = findShownResults(fold());
  return () => {
    const gone: ReadonlySet<EntryId | ToolUseId> = before.difference(findShownResults(fold()));
    for (const [path, { shownBy }] of Array.from(files.entries())) if (gone.has(shownBy)) files.delete(path);
  };
}
