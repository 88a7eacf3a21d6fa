import { type EntryId, entryId, type ToolUseId, toolUseId } from "../../schema/brand.ts";
import { field, isArray, isObject, type Json, listField } from "../../schema/json.ts";
import { type Draft, syncSettingName } from "../../transcript/draft.ts";
import type { Path } from "../../transcript/path.ts";
import { knownItemsMax } from "./limits.ts";

/** An item that was synced before. */
export interface KnownItem {
  readonly number: number;
  /** The item before it in the list; undefined for the root. */
  readonly before: KnownItem | undefined;
  readonly digest: string;
  /** The first entry that holds it; undefined for the root. */
  readonly entry: EntryId | undefined;
  /** For a call: its id in the transcript. */
  readonly toolUse: ToolUseId | undefined;
  /**
   * The entry after which a branch from this item continues: its own entry, or the last edit before the next item. Null for
   * the root. Undefined if no branch can start here, because the item shares its entry or its reply with the next item, or
   * because list and transcript have different items before it.
   */
  behind: EntryId | null | undefined;
  /** What came next in a list, by its digest. */
  readonly next: Map<string, KnownItem>;
  /** The same item in an earlier list, if the caller has left out something before it since. */
  readonly copied: KnownItem | undefined;
}

export type NewKnownItem = Pick<KnownItem, "digest" | "entry" | "toolUse" | "behind">;

/**
 * The lists that a caller has handed over, as a tree: each way from the root is the beginning of such a list, and `line` is
 * the newest one. To recognise a list costs one look-up an item.
 */
export class KnownItems {
  #byNumber = new Map<number, KnownItem>();
  readonly root = rootItem();
  #line: KnownItem[] = [];
  #lastNumber = 0;
  #unrecorded: Change[] = [];
  /** Up to this byte of the log everything is known. */
  readTo = 0;

  /** Restores what earlier runs of the session recorded. */
  static read(path: Pick<Path, "everyBranch" | "find">): KnownItems {
    const known = new KnownItems();
    for (const entry of path.everyBranch) {
      if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== syncSettingName) continue;
      known.#readRecord(entry.edit.value);
      known.readTo = path.find(entry.id)?.end ?? known.readTo;
    }
    known.#unrecorded = [];
    return known;
  }

  /** The items of the conversation, as the caller lists them. */
  get line(): readonly KnownItem[] {
    return this.#line;
  }

  /** The last of them, or the root. */
  get tip(): KnownItem {
    return this.#line.at(-1) ?? this.root;
  }

  /** The items with which a list begins, as far as it is known. The first `onLine` of them are those of the line. */
  match(items: readonly { readonly digest: string }[], onLine = 0): readonly KnownItem[] {
    const known = this.#line.slice(0, onLine);
    let item = known.at(-1) ?? this.root;
    for (const { digest } of items.slice(onLine)) {
      const next = item.next.get(digest);
      if (next === undefined) break;
      known.push(next);
      item = next;
    }
    return known;
  }

  /** The conversation continues behind the last of these. */
  moveTo(line: readonly KnownItem[]): void {
    this.#line = [...line];
    this.#unrecorded.push({ kind: "moved" });
  }

  /** What comes next belongs to the same reply. */
  joinTip(): void {
    this.tip.behind = undefined;
  }

  /** Adds an item behind the tip. One that is there already gets the new entry: an abandoned branch is said again. */
  add(item: NewKnownItem): void {
    if (this.#byNumber.size >= knownItemsMax) this.#forgetBranches();
    this.#lastNumber += 1;
    this.#unrecorded.push({ kind: "added", item: this.#insert({ ...item, number: this.#lastNumber }) });
  }

  /** The caller has left out what was before these, or replaced it. They follow the tip now. */
  copy(kept: readonly KnownItem[]): void {
    if (this.#byNumber.size + kept.length > knownItemsMax) this.#forgetBranches();
    for (const item of kept) {
      this.#lastNumber += 1;
      const copied = this.#insert({ ...item, behind: undefined, number: this.#lastNumber }, item);
      this.#unrecorded.push({ kind: "added", item: copied });
    }
  }

  /** How many calls there are from this one to the tip; ids change, so a result is recognised by this distance. */
  distance(toolUse: ToolUseId): number | undefined {
    let distance = 0;
    for (let at = this.#line.length - 1; at >= 0; at -= 1) {
      const called = this.#line[at]?.toolUse;
      if (called !== undefined) distance += 1;
      if (called === toolUse) return distance;
    }
    return undefined;
  }

  /** The opposite: the call that is so many calls before the tip. */
  callAt(distance: number): ToolUseId | undefined {
    let left = distance;
    for (let at = this.#line.length - 1; at >= 0; at -= 1) {
      const called = this.#line[at]?.toolUse;
      if (called !== undefined) left -= 1;
      if (left === 0) return called;
    }
    return undefined;
  }

  /** What is new since the last record, for the next run of the session. Undefined: nothing is. */
  record(): Draft | undefined {
    if (this.#unrecorded.length === 0) return undefined;
    const runs: { readonly after: KnownItem | undefined; readonly items: KnownItem[] }[] = [];
    for (const change of this.#unrecorded) {
      if (change.kind === "moved") continue;
      const { item } = change;
      const run = runs.at(-1);
      if (run === undefined || run.items.at(-1) !== item.before) runs.push({ after: item.before, items: [item] });
      else run.items.push(item);
    }
    const value: Json = { runs: runs.map(writeRun), tip: this.tip.number };
    return { type: "setting", name: syncSettingName, value };
  }

  /** The last record is stored. */
  markRecorded(): void {
    this.#unrecorded = [];
  }

  #insert(
    { number, digest, entry, toolUse, behind }: NewKnownItem & Pick<KnownItem, "number">,
    copied?: KnownItem,
  ): KnownItem {
    const before = this.tip;
    const item: KnownItem = { number, before, digest, entry, toolUse, behind, next: new Map(), copied };
    before.next.set(digest, item);
    this.#byNumber.set(number, item);
    this.#line.push(item);
    return item;
  }

  #readRecord(value: Json): void {
    if (!isObject(value)) return;
    for (const run of listField(value, "runs")) this.#readRun(run);
    const line: KnownItem[] = [];
    let at = this.#find(field(value, "tip"));
    for (; at !== undefined && at !== this.root; at = at.before) line.push(at);
    this.#line = line.toReversed();
  }

  #find(number: Json | undefined): KnownItem | undefined {
    return number === 0 ? this.root : this.#byNumber.get(Number(number));
  }

  #readRun(value: Json): void {
    if (!isObject(value)) return;
    const before = this.#find(field(value, "after"));
    const behind = field(value, "behind");
    if (before === undefined) return;
    if (typeof behind === "string") before.behind = entryId(behind);
    this.#line = before === this.root ? [] : [before];
    for (const item of listField(value, "items")) {
      const [number, source] = isArray(item) ? item : [];
      const copied = typeof source === "number" ? this.#find(source) : undefined;
      const read = copied === undefined ? readItem(item) : { ...copied, number: Number(number), behind: undefined };
      if (read === undefined) return;
      this.#insert(read, copied);
      this.#lastNumber = Math.max(this.#lastNumber, read.number);
    }
  }

  /** Only the line stays. */
  #forgetBranches(): void {
    this.#byNumber = new Map(this.#line.map((item) => [item.number, item]));
    for (const [at, item] of [this.root, ...this.#line].entries()) {
      item.next.clear();
      const next = this.#line[at];
      if (next !== undefined) item.next.set(next.digest, next);
    }
  }
}

type Change = { readonly kind: "added"; readonly item: KnownItem } | { readonly kind: "moved" };

const rootItem = (): KnownItem => ({
  number: 0,
  before: undefined,
  digest: "",
  entry: undefined,
  toolUse: undefined,
  behind: null,
  next: new Map(),
  copied: undefined,
});

const writeRun = ({
  after,
  items,
}: {
  readonly after: KnownItem | undefined;
  readonly items: readonly KnownItem[];
}) => ({
  after: after?.number ?? 0,
  behind: after?.behind ?? null,
  items: items.map(writeItem),
});

/** A short list, because there is one for every block that was ever synced. */
const writeItem = ({ number, digest, entry, behind, toolUse, copied }: KnownItem): Json =>
  copied === undefined
    ? [number, digest, entry ?? null, behind ?? null, ...(toolUse === undefined ? [] : [toolUse])]
    : [number, copied.number];

function readItem(value: Json): (NewKnownItem & Pick<KnownItem, "number">) | undefined {
  if (!isArray(value)) return undefined;
  const [number, digest, entry, behind, toolUse] = value;
  if (typeof number !== "number" || typeof digest !== "string") return undefined;
  return {
    number,
    digest,
    entry: typeof entry === "string" ? entryId(entry) : undefined,
    behind: typeof behind === "string" ? entryId(behind) : undefined,
    toolUse: typeof toolUse === "string" ? toolUseId(toolUse) : undefined,
  };
}
