import type { ByteRange, ByteSource } from "../ports/transcripts.ts";
import type { EntryId } from "../schema/brand.ts";
import type { EditKind } from "../schema/edit.ts";
import { editReason, editCause, editCount, isListed } from "../schema/edit-kinds.ts";
import type { EditEntry } from "../schema/entry.ts";
import { field, isObject, parseJson } from "../schema/json.ts";
import { readReceipt, type RecordedReceipt } from "../schema/receipt.ts";
import type { Fold } from "../transcript/fold.ts";
import type { LoggedEntry } from "../transcript/read-lines.ts";
import type { Path } from "../transcript/path.ts";
import { undoneAmong, type UndoLink } from "../transcript/plan-undo.ts";
import { ratesForModel } from "../cache/cache-rates.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import { estimateBlock } from "../tokens/estimate-block.ts";
import { findModel } from "../tokens/known-models.ts";
import { makeReceipt } from "../transcript/make-receipt.ts";
import { openCountedAt } from "./counted-log.ts";
import { branchReceiptsMax } from "./limits.ts";
import type { OpenLogOptions } from "./open-log.ts";

export interface RecordedEdit {
  readonly id: EntryId;
  readonly kind: EditKind;
  /** When, as the log says it. */
  readonly at: string;
  readonly state: "in force" | "undone";
  /** The rule by which it was made, or what asked for it. */
  readonly cause: string | undefined;
  readonly because: string | undefined;
  /** Results or entries that it names. */
  readonly count: number | undefined;
  /** Undefined where none was written: other tools write none, and an offload changes nothing that was ever sent. */
  readonly receipt: RecordedReceipt | undefined;
  /** An undo of it would change something. */
  readonly undoes: boolean;
}

/** Every edit of a path, oldest first, with what its line says of it. Reads a line an edit. */
export async function pastReceipts(fold: Fold, source: ByteSource): Promise<readonly RecordedEdit[]> {
  const receipts = new ReceiptTracker();
  await receipts.follow({ fold, from: "beginning", open: () => Promise.resolve(lendSource(source)) });
  return receipts.list(fold);
}

/** Closed by whoever opened it. */
const lendSource = (source: ByteSource): ByteSource => ({
  size: source.size,
  read: (range) => source.read(range),
  close: () => Promise.resolve(),
});

interface FollowedLog {
  readonly fold: Fold;
  /** Where the fold's path begins. */
  readonly from: "beginning" | "boundary";
  /** The log; opened only where there is an edit to read, and closed again. */
  readonly open: () => Promise<ByteSource | undefined>;
  /** Folded from its beginning, where it has to be known what lies before the fold. */
  readonly whole?: () => Promise<Fold | undefined>;
}

/** What is told of an edit, whether it is in force or not. */
interface KeptEdit extends Omit<RecordedEdit, "state" | "undoes">, UndoLink {}

/**
 * The same of a path that grows: each line is read once, and only what came since is looked at. Of an edit is kept what is
 * told of it, so that the session may let go of its entry: some hundred bytes each.
 */
export class ReceiptTracker {
  /** Of the path as it was followed last, oldest first. */
  #edits: KeptEdit[] = [];
  #followed: { readonly first: EntryId | undefined; readonly length: number; readonly last: EntryId | undefined } = {
    first: undefined,
    length: 0,
    last: undefined,
  };

  /** Where the log can't be read everything stays as it was followed before. */
  async follow({ fold, from, open, whole }: FollowedLog): Promise<void> {
    const { path } = fold;
    const goesOn = this.#goesOn(path);
    const known = goesOn || from === "beginning" ? [] : this.#before(path);
    const unknown = known === undefined ? await loggedBefore(path, whole) : [];
    const added = [...unknown, ...path.loggedFrom(goesOn ? this.#followed.length : 0)].filter(isListedEdit);
    const read = await this.#read(added, open);
    if (read === undefined) return;
    if (!goesOn) this.#edits = [...(known ?? [])];
    for (const edit of read) this.#edits.push(edit);
    this.#followed = { first: path.at(0)?.entry.id, length: path.length, last: path.leaf?.id };
  }

  /** Of the path as it is now, each with its receipt as far as it was followed. Pure. */
  list({ path }: Fold): readonly RecordedEdit[] {
    const goesOn = this.#goesOn(path);
    const known = goesOn ? undefined : this.#byId();
    const added = path
      .loggedFrom(goesOn ? this.#followed.length : 0)
      .filter(isListedEdit)
      .map(({ entry }) => known?.get(entry.id) ?? keptEdit(entry));
    const edits = [...(goesOn ? this.#edits : (this.#before(path) ?? [])), ...added];
    const undone = undoneAmong(edits);
    return edits.map((edit) => {
      const { takesBack: _link, ...told } = edit;
      const state = undone.has(edit.id) ? "undone" : "in force";
      return { ...told, state, undoes: state === "in force" && edit.kind !== "repair" };
    });
  }

  #goesOn(path: Path): boolean {
    const { first, length, last } = this.#followed;
    return length > 0 && path.at(0)?.entry.id === first && path.at(length - 1)?.entry.id === last;
  }

  /** Before the first entry of a path, whose parents never change; undefined where that entry was not followed. */
  #before(path: Path): readonly KeptEdit[] | undefined {
    const first = path.at(0)?.entry.id;
    const at = this.#edits.findIndex(({ id }) => id === first);
    return at === -1 ? undefined : this.#edits.slice(0, at);
  }

  async #read(edits: readonly ToldEdit[], open: FollowedLog["open"]): Promise<readonly KeptEdit[] | undefined> {
    if (edits.length === 0) return [];
    const log = await open();
    if (log === undefined) return undefined;
    const known = this.#byId();
    try {
      const read: KeptEdit[] = [];
      for (const { entry, start, end } of edits)
        read.push(known.get(entry.id) ?? keptEdit(entry, await receiptAt(log, { start, end })));
      return read;
    } finally {
      await log.close();
    }
  }

  #byId(): ReadonlyMap<EntryId, KeptEdit> {
    return new Map(this.#edits.map((edit) => [edit.id, edit]));
  }
}

interface ToldEdit extends LoggedEntry {
  readonly entry: EditEntry;
}

const isListedEdit = (logged: LoggedEntry): logged is ToldEdit =>
  logged.entry.kind === "edit" && isListed(logged.entry.edit);

async function loggedBefore(path: Path, whole: FollowedLog["whole"]): Promise<readonly LoggedEntry[]> {
  const first = path.at(0)?.start ?? 0;
  const read = await whole?.();
  return read?.path.logged.filter(({ start }) => start < first) ?? [];
}

function keptEdit({ id, edit, timestamp = "" }: EditEntry, receipt?: RecordedReceipt): KeptEdit {
  return {
    id,
    kind: edit.type,
    at: timestamp,
    cause: receipt?.cause ?? editCause(edit),
    because: receipt?.because ?? editReason(edit),
    count: editCount(edit),
    receipt,
    takesBack: edit.type === "undo" ? edit.edit : undefined,
  };
}

async function receiptAt(source: ByteSource, place: ByteRange): Promise<RecordedReceipt | undefined> {
  const line = parseJson(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? readReceipt(field(line, "receipt")) : undefined;
}

interface BranchLog extends Pick<OpenLogOptions, "source" | "origin"> {
  readonly fold: Fold;
  readonly edits: readonly RecordedEdit[];
}

/**
 * A branch has no receipt in its line: which view it leaves and which it begins with is known from the log, by reading
 * it up to the leaf that was left and up to the branch. Costs two readings of the log for each branch, so only the newest
 * branches get one.
 */
export async function addBranchReceipts(deps: BlobsDep, log: BranchLog): Promise<readonly RecordedEdit[]> {
  const branches = log.edits.filter(({ kind, receipt }) => kind === "branch" && receipt === undefined);
  const newest = new Set(branches.slice(-branchReceiptsMax).map(({ id }) => id));
  const edits: RecordedEdit[] = [];
  for (const edit of log.edits) {
    const receipt = newest.has(edit.id) ? await makeBranchReceipt(deps, log, edit.id) : undefined;
    edits.push(receipt === undefined ? edit : { ...edit, receipt });
  }
  return edits;
}

async function makeBranchReceipt(
  deps: BlobsDep,
  { fold, source, origin }: BranchLog,
  branch: EntryId,
): Promise<RecordedReceipt | undefined> {
  const entry = fold.path.find(branch)?.entry;
  const left = entry?.kind === "edit" && entry.edit.type === "branch" ? entry.edit.from : undefined;
  if (left === undefined) return undefined;
  const before = await openCountedAt(deps, { source, origin, at: left });
  const after = await openCountedAt(deps, { source, origin, at: branch });
  if (before === undefined || after === undefined) return undefined;
  const { cause, lines, tokensBefore, tokensAfter, price } = makeReceipt({
    edits: [branch],
    cause: "branch",
    nature: "reduced",
    before: before.fold.shown(),
    after: after.fold.shown(),
    count: estimateBlock,
    rates: ratesForModel(findModel(before.model ?? ""), "5m"),
  });
  const entries: Record<string, number> = {};
  for (const line of lines) entries[line.class] = (entries[line.class] ?? 0) + 1;
  return { cause, tokensBefore, tokensAfter, price, entries };
}
