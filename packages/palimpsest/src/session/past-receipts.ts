import type { ByteRange, ByteSource } from "../ports/transcripts.ts";
import type { EntryId } from "../schema/brand.ts";
import type { EditKind } from "../schema/edit.ts";
import { editReason, editCause, editCount, isListed } from "../schema/edit-kinds.ts";
import type { EditEntry } from "../schema/entry.ts";
import { field, isObject, parseJson } from "../schema/json.ts";
import { callerCause, readReceipt, type RecordedReceipt } from "../schema/receipt.ts";
import type { Fold } from "../transcript/fold.ts";
import type { LoggedEntry } from "../transcript/read-lines.ts";
import type { Path } from "../transcript/path.ts";
import { undoneAmong, type UndoLink } from "../transcript/plan-undo.ts";
import { ratesForModel } from "../cache/cache-rates.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import { estimateBlock } from "../tokens/estimate-block.ts";
import { findModel } from "../tokens/known-models.ts";
import { makeReceipt, type ReceiptInput } from "../transcript/make-receipt.ts";
import { openCountedAt } from "./counted-log.ts";
import { computedReceiptsMax } from "./limits.ts";
import type { OpenLogOptions } from "./open-log.ts";

export interface RecordedEdit {
  readonly id: EntryId;
  readonly kind: EditKind;
  /** Timestamp in the log. */
  readonly at: string;
  readonly state: "in force" | "undone";
  /**
   * Who changed the conversation. `caller`: a branch, or what the caller took out of its own list. What that removed is
   * nothing that the engine saved.
   */
  readonly by: "engine" | "caller";
  /** The rule that made the edit, or what requested it. */
  readonly cause: string | undefined;
  readonly because: string | undefined;
  /** Number of results or entries that it names. */
  readonly count: number | undefined;
  /** Undefined if none was written or computed: other agents write no receipts, and an offload needs none, because it happens before the result is first sent. */
  readonly receipt: RecordedReceipt | undefined;
  /** Whether undoing it would change anything. */
  readonly undoes: boolean;
}

/** Lists the edits of a path with their receipts, oldest first. Reads one line per edit. */
export async function pastReceipts(fold: Fold, source: ByteSource): Promise<readonly RecordedEdit[]> {
  const receipts = new ReceiptTracker();
  await receipts.follow({ fold, from: "beginning", open: () => Promise.resolve(lendSource(source)) });
  return receipts.list(fold);
}

/** The caller closes the source, so closing this one does nothing. */
const lendSource = (source: ByteSource): ByteSource => ({
  size: source.size,
  read: (range) => source.read(range),
  close: () => Promise.resolve(),
});

interface FollowedLog {
  readonly fold: Fold;
  /** Does the fold's path begin at the log's beginning, or at a boundary? */
  readonly from: "beginning" | "boundary";
  /** Opens the log. Called only if there is an edit to read; the tracker closes it. */
  readonly open: () => Promise<ByteSource | undefined>;
  /** Folds the log from its beginning. Called only if edits before the fold are not known. */
  readonly whole?: () => Promise<Fold | undefined>;
}

/** The part of an edit that the tracker keeps. Whether it is in force is computed when it is listed. */
interface KeptEdit extends Omit<RecordedEdit, "state" | "undoes">, UndoLink {}

/**
 * The same for a path that grows: each line is read once, and each call looks only at the new entries. The tracker keeps
 * its own record of each edit (some hundred bytes), so that the session may drop the entry.
 */
export class ReceiptTracker {
  /** The edits of the path as it was at the last `follow`, oldest first. */
  #edits: KeptEdit[] = [];
  #followed: { readonly first: EntryId | undefined; readonly length: number; readonly last: EntryId | undefined } = {
    first: undefined,
    length: 0,
    last: undefined,
  };

  /** Reads the receipts of new edits. If the log can't be read, nothing changes. */
  async follow({ fold, from, open, whole }: FollowedLog): Promise<void> {
    const { path } = fold;
    const extendsFollowed = this.#extendsFollowed(path);
    const known = extendsFollowed || from === "beginning" ? [] : this.#editsBefore(path);
    const unknown = known === undefined ? await loggedBefore(path, whole) : [];
    const added = [...unknown, ...path.loggedFrom(extendsFollowed ? this.#followed.length : 0)].filter(isListedEdit);
    const read = await this.#read(added, open);
    if (read === undefined) return;
    if (!extendsFollowed) this.#edits = [...(known ?? [])];
    for (const edit of read) this.#edits.push(edit);
    this.#followed = { first: path.at(0)?.entry.id, length: path.length, last: path.leaf?.id };
  }

  /** The edits of the path as it is now, with the receipts that `follow` has read. Pure. */
  list({ path }: Fold): readonly RecordedEdit[] {
    const extendsFollowed = this.#extendsFollowed(path);
    const known = extendsFollowed ? undefined : this.#byId();
    const added = path
      .loggedFrom(extendsFollowed ? this.#followed.length : 0)
      .filter(isListedEdit)
      .map(({ entry }) => known?.get(entry.id) ?? toKeptEdit(entry));
    const edits = [...(extendsFollowed ? this.#edits : (this.#editsBefore(path) ?? [])), ...added];
    const undone = undoneAmong(edits);
    return edits.map((edit) => {
      const { takesBack: _link, ...recorded } = edit;
      const state = undone.has(edit.id) ? "undone" : "in force";
      return { ...recorded, state, undoes: state === "in force" && edit.kind !== "repair" };
    });
  }

  #extendsFollowed(path: Path): boolean {
    const { first, length, last } = this.#followed;
    return length > 0 && path.at(0)?.entry.id === first && path.at(length - 1)?.entry.id === last;
  }

  /** The edits before the first entry of a path, whose parents never change; undefined if that entry is not known. */
  #editsBefore(path: Path): readonly KeptEdit[] | undefined {
    const first = path.at(0)?.entry.id;
    const at = this.#edits.findIndex(({ id }) => id === first);
    return at === -1 ? undefined : this.#edits.slice(0, at);
  }

  async #read(edits: readonly LoggedEdit[], open: FollowedLog["open"]): Promise<readonly KeptEdit[] | undefined> {
    if (edits.length === 0) return [];
    const log = await open();
    if (log === undefined) return undefined;
    const known = this.#byId();
    try {
      const read: KeptEdit[] = [];
      for (const { entry, start, end } of edits)
        read.push(known.get(entry.id) ?? toKeptEdit(entry, await readReceiptAt(log, { start, end })));
      return read;
    } finally {
      await log.close();
    }
  }

  #byId(): ReadonlyMap<EntryId, KeptEdit> {
    return new Map(this.#edits.map((edit) => [edit.id, edit]));
  }
}

interface LoggedEdit extends LoggedEntry {
  readonly entry: EditEntry;
}

const isListedEdit = (logged: LoggedEntry): logged is LoggedEdit =>
  logged.entry.kind === "edit" && isListed(logged.entry.edit);

async function loggedBefore(path: Path, whole: FollowedLog["whole"]): Promise<readonly LoggedEntry[]> {
  const first = path.at(0)?.start ?? 0;
  const read = await whole?.();
  return read?.path.logged.filter(({ start }) => start < first) ?? [];
}

function toKeptEdit({ id, edit, timestamp = "" }: EditEntry, receipt?: RecordedReceipt): KeptEdit {
  const cause = receipt?.cause ?? editCause(edit);
  return {
    id,
    kind: edit.type,
    at: timestamp,
    by: edit.type === "branch" || cause === callerCause ? "caller" : "engine",
    cause,
    because: receipt?.because ?? editReason(edit),
    count: editCount(edit),
    receipt,
    takesBack: edit.type === "undo" ? edit.edit : undefined,
  };
}

async function readReceiptAt(source: ByteSource, place: ByteRange): Promise<RecordedReceipt | undefined> {
  const line = parseJson(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? readReceipt(field(line, "receipt")) : undefined;
}

interface EditedLog extends Pick<OpenLogOptions, "source" | "origin"> {
  readonly fold: Fold;
  readonly edits: readonly RecordedEdit[];
}

/**
 * Receipts for edits whose lines have none: a branch, and a boundary that another agent wrote. The views before and after
 * the edit are computed by reading the log up to either point. That costs two readings of the log per edit, so only the
 * newest get a receipt.
 */
export async function addComputedReceipts(deps: BlobsDep, log: EditedLog): Promise<readonly RecordedEdit[]> {
  const changes = log.edits.flatMap(({ id, receipt }) =>
    receipt === undefined ? (findViewChange(log.fold, id) ?? []) : [],
  );
  const changeByEdit = new Map(changes.slice(-computedReceiptsMax).map((change) => [change.edit, change]));
  const edits: RecordedEdit[] = [];
  for (const edit of log.edits) {
    const change = changeByEdit.get(edit.id);
    const receipt = change === undefined ? undefined : await computeReceipt(deps, log, change);
    edits.push(receipt === undefined ? edit : { ...edit, cause: edit.cause ?? receipt.cause, receipt });
  }
  return edits;
}

interface ViewChange extends Pick<ReceiptInput, "cause" | "nature"> {
  readonly edit: EntryId;
  /** The last entries of the log as it was before the change and after it. */
  readonly before: EntryId;
  readonly after: EntryId;
}

/** Undefined for other kinds, and for a boundary without a summary, which has no effect. */
function findViewChange({ path }: Fold, id: EntryId): ViewChange | undefined {
  const entry = path.find(id)?.entry;
  if (entry?.kind !== "edit") return undefined;
  const { edit } = entry;
  if (edit.type === "branch" && edit.from !== undefined)
    return { edit: id, before: edit.from, after: id, cause: "branch", nature: "reduced" };
  if (edit.type !== "boundary") return undefined;
  const { entries } = path;
  const behind = entries.slice(entries.indexOf(entry) + 1);
  const summary = behind.find((later) => later.kind === "user" && later.summary)?.id;
  if (summary === undefined) return undefined;
  const { trigger = "compaction" } = edit.metadata;
  return { edit: id, before: id, after: summary, cause: trigger, nature: "summarised" };
}

async function computeReceipt(
  deps: BlobsDep,
  { source, origin }: EditedLog,
  change: ViewChange,
): Promise<RecordedReceipt | undefined> {
  const before = await openCountedAt(deps, { source, origin, at: change.before });
  const after = await openCountedAt(deps, { source, origin, at: change.after });
  if (before === undefined || after === undefined) return undefined;
  const { cause, lines, tokensBefore, tokensAfter, price } = makeReceipt({
    edits: [change.edit],
    cause: change.cause,
    nature: change.nature,
    before: before.fold.shown(),
    after: after.fold.shown(),
    count: estimateBlock,
    rates: ratesForModel(findModel(before.model ?? ""), "5m"),
  });
  const entries: Record<string, number> = {};
  for (const line of lines) entries[line.class] = (entries[line.class] ?? 0) + 1;
  return { cause, tokensBefore, tokensAfter, price, entries };
}
