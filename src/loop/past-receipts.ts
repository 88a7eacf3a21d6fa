import type { ByteSource } from "../ports/transcripts.ts";
import type { EntryId } from "../schema/brand.ts";
import type { EditKind } from "../schema/edit.ts";
import { editBecause, editCause, editCount, isListed } from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { field, isObject, parseJson } from "../schema/json.ts";
import { readReceipt, type RecordedReceipt } from "../schema/receipt.ts";
import type { Fold } from "../transcript/fold.ts";
import { undoneEdits } from "../transcript/undone.ts";

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
  const receipts = new FollowedReceipts();
  await receipts.follow(fold, () => Promise.resolve(lendSource(source)));
  return receipts.list(fold);
}

/** Closed by whoever opened it. */
const lendSource = (source: ByteSource): ByteSource => ({
  size: source.size,
  read: (range) => source.read(range),
  close: () => Promise.resolve(),
});

/** The same of a path that grows: each line is read once, and only what came since is looked at. */
export class FollowedReceipts {
  readonly #receiptById = new Map<EntryId, RecordedReceipt | undefined>();
  #length = 0;
  #last: EntryId | undefined;

  /** The log is opened only where there is an edit to read, and closed again. */
  async follow(fold: Fold, open: () => Promise<ByteSource | undefined>): Promise<void> {
    const { path } = fold;
    const goesOn = this.#length === 0 || path.at(this.#length - 1)?.entry.id === this.#last;
    const unread = path
      .loggedFrom(goesOn ? this.#length : 0)
      .flatMap(({ entry }) => (isTold(entry) && !this.#receiptById.has(entry.id) ? [entry.id] : []));
    const log = unread.length === 0 ? undefined : await open();
    if (unread.length > 0 && log === undefined) return;
    try {
      for (const id of unread) this.#receiptById.set(id, log && (await receiptAt(log, fold.placeOf(id))));
    } finally {
      await log?.close();
    }
    this.#length = path.length;
    this.#last = path.leaf?.id;
  }

  /** Of the path as it is now. Pure. */
  list({ path }: Fold): readonly RecordedEdit[] {
    const { entries } = path;
    const undone = undoneEdits(entries);
    return entries.filter(isTold).map((entry) => {
      const state = undone.has(entry.id) ? "undone" : "in force";
      return recordedEdit(entry, { state, receipt: this.#receiptById.get(entry.id) });
    });
  }
}

const isTold = (entry: Entry): entry is EditEntry => entry.kind === "edit" && isListed(entry.edit);

function recordedEdit(
  { id, edit, timestamp = "" }: EditEntry,
  { state, receipt }: Pick<RecordedEdit, "state" | "receipt">,
): RecordedEdit {
  return {
    id,
    kind: edit.type,
    at: timestamp,
    state,
    cause: receipt?.cause ?? editCause(edit),
    because: receipt?.because ?? editBecause(edit),
    count: editCount(edit),
    receipt,
    undoes: state === "in force" && edit.type !== "repair",
  };
}

async function receiptAt(source: ByteSource, place: ReturnType<Fold["placeOf"]>): Promise<RecordedReceipt | undefined> {
  if (place === undefined) return undefined;
  const line = parseJson(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? readReceipt(field(line, "receipt")) : undefined;
}
