import type { ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import type { Boundary, BoundaryMetadata, Clear, LeaveOut, Replacement } from "../schema/edit.ts";
import {
  entriesRemovedBy,
  isRemovingEdit,
  isWithholdingEdit,
  resultsWithheldBy,
  type RemovedEntries,
  type WithheldResults,
} from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import type { Json } from "../schema/json.ts";
import { wrapReminder, isMadeForBoundary, boundaryTag } from "./attachment-text.ts";
import { type Item, toItem, type EntryOrigin, withPairs } from "./item.ts";
import { omitFromItem } from "./leave-out-draft.ts";

/**
 * Entries of the path → items and decisions. One pass in order, each edit applied where it stands:
 *   offload, clear, repair   decide how a result looks (`decisions`); the items stay
 *   those that take entries  take items away, pairs together; what some show instead stands in their place
 *   those that withhold      the messages stay, and the server leaves results out of what the model sees
 *   leave-out                takes a kind of block out of items that the provider refused with it
 *   boundary                 waits for its summary; then the items become [front] summary [pinned] [kept]
 *   pin, unpin, setting      state that later edits and plans read
 *   undo                     known before the pass: an undone edit is passed over
 */
export interface Decision {
  readonly by: EntryId;
  readonly kind: "offload" | "clear" | "repair";
  readonly shown: string;
  /** Where the decision stands on the path: a result behind a repair came too late and is said as a new message. */
  readonly at: number;
}

export type ProjectionEffect =
  | { readonly kind: "said"; readonly item: Item }
  | { readonly kind: "decided"; readonly results: readonly ToolUseId[] }
  /** The messages stay as they are. */
  | { readonly kind: "withheld"; readonly results: readonly ToolUseId[] }
  | { readonly kind: "rebuilt"; readonly items?: "same" }
  | { readonly kind: "none" };

/** Contents of offloaded results whose offload was undone: the log holds only their preview. */
export type OriginalContents = ReadonlyMap<BlobId, ResultContent>;

interface ProjectOptions {
  readonly undone: ReadonlySet<EntryId>;
  readonly originals: OriginalContents;
  /** What stood before the first entry, where the log was not read from its beginning. */
  readonly seed: ProjectionSeed;
}

export interface ProjectionSeed {
  readonly items: readonly Item[];
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: readonly EntryId[];
  readonly settings: ReadonlyMap<string, Json>;
}

export class Projection {
  items: Item[];
  readonly decisions: Map<ToolUseId, Decision[]>;
  readonly pins: Set<EntryId>;
  readonly settings: Map<string, Json>;
  /** Boundaries in force, oldest first. */
  readonly boundaries: EditEntry[] = [];
  /** Where on the path items were last moved or taken away by an edit that counts. Whoever is told of the view at once is not told of them. */
  structureAt = -1;
  /** Where the newest boundary that counts took effect. */
  compactedAt = -1;
  /** Results that the server withholds from the model: every request says so until a boundary. */
  readonly withheld = new Set<ToolUseId>();
  /** Where on the path that began for each of them. */
  readonly withheldAt = new Map<ToolUseId, number>();
  /** Where it last ended for one: requests before that place did not hold what they seem to hold now. */
  releasedAt = -1;
  /** Results that were cleared, offloaded or withheld and that a person brought back by an undo. */
  readonly broughtBack = new Set<ToolUseId>();
  /** Entries that an edit took away and that a person brought back by an undo. */
  readonly entriesBroughtBack = new Set<EntryId>();
  readonly #options: ProjectOptions;
  readonly #editAt = new Map<EntryId, number>();
  #waiting: { readonly entry: EditEntry; readonly edit: Boundary } | undefined;
  /** Behind an undone boundary its summary, and then the attachments made for it, belong to the edit and go with it. */
  #passing: SkippedBoundary | undefined;
  #at = 0;

  constructor(options: ProjectOptions) {
    const { seed } = options;
    this.#options = options;
    this.items = [...seed.items];
    this.decisions = new Map([...seed.decisions].map(([toolUse, decisions]) => [toolUse, [...decisions]]));
    this.pins = new Set(seed.pins);
    this.settings = new Map(seed.settings);
  }

  /** Another one that goes on from here: what it applies is not seen by this one. */
  copy(): Projection {
    const { items, decisions, settings } = this;
    const copied = new Projection({ ...this.#options, seed: { items, decisions, pins: [...this.pins], settings } });
    copied.boundaries.push(...this.boundaries);
    copied.structureAt = this.structureAt;
    copied.compactedAt = this.compactedAt;
    copied.releasedAt = this.releasedAt;
    for (const toolUse of this.withheld) copied.withheld.add(toolUse);
    for (const [toolUse, at] of this.withheldAt) copied.withheldAt.set(toolUse, at);
    for (const toolUse of this.broughtBack) copied.broughtBack.add(toolUse);
    for (const entry of this.entriesBroughtBack) copied.entriesBroughtBack.add(entry);
    for (const [edit, at] of this.#editAt) copied.#editAt.set(edit, at);
    copied.#waiting = this.#waiting;
    copied.#passing = this.#passing;
    copied.#at = this.#at;
    return copied;
  }

  /** A boundary whose summary has not come: it has no effect, so a crash between the two loses nothing. */
  get waitingBoundary(): EntryId | undefined {
    return this.#waiting?.entry.id;
  }

  apply(entry: Entry, origin: EntryOrigin): ProjectionEffect {
    const at = this.#at;
    this.#at += 1;
    if (entry.kind === "edit") return this.#applyEdit(entry, at);
    const item = toItem(entry, { at, origin });
    if (item === undefined || this.#belongsToUndone(entry)) return { kind: "none" };
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined && entry.kind === "user" && entry.summary) {
      this.structureAt = at;
      this.compactedAt = at;
      this.#compact(waiting, item);
      return { kind: "rebuilt" };
    }
    const said = item.server === undefined ? item : withoutServerBlock(item);
    this.items.push(said);
    return { kind: "said", item: said };
  }

  #belongsToUndone(entry: Entry): boolean {
    const passing = this.#passing;
    this.#passing = undefined;
    const passed = passing !== undefined && isSkipped(entry, passing);
    if (passed) this.#passing = { of: passing.of, next: "attachments" };
    return passed || (entry.kind === "attachment" && this.#isUndone(boundaryTag(entry)));
  }

  #isUndone(edit: EntryId | undefined): boolean {
    return edit !== undefined && this.#options.undone.has(edit);
  }

  #applyEdit(entry: EditEntry, at: number): ProjectionEffect {
    this.#editAt.set(entry.id, at);
    if (this.#options.undone.has(entry.id)) {
      this.#bringBack(entry);
      return { kind: "none" };
    }
    const effect = this.#inForce(entry, at);
    if (effect.kind === "rebuilt" && effect.items !== "same") this.structureAt = at;
    return effect;
  }

  #inForce(entry: EditEntry, at: number): ProjectionEffect {
    const { edit } = entry;
    if (isRemovingEdit(edit)) return this.#takeOut(entriesRemovedBy(edit, this.#between), { by: entry.id, at });
    if (isWithholdingEdit(edit)) return this.#withhold(resultsWithheldBy(edit), at);
    switch (edit.type) {
      case "offload":
      case "repair":
        return this.#decide({ by: entry.id, kind: edit.type, at }, edit.results);
      case "clear":
        return this.#clear(entry.id, edit, at);
      case "leave-out":
        return this.#leaveOut(edit);
      case "boundary":
        this.#waiting = { entry, edit };
        return { kind: "none" };
      case "pin":
        this.pins.add(edit.entry);
        return { kind: "none" };
      case "unpin":
        this.pins.delete(edit.entry);
        return { kind: "none" };
      case "undo":
        return edit.dropsThinking === true ? this.#dropThinkingBehind(edit.edit) : { kind: "none" };
      case "setting":
        this.settings.set(edit.name, edit.value);
        return { kind: "none" };
      case "branch":
      case "origin":
        return { kind: "none" };
    }
  }

  #bringBack(entry: EditEntry): void {
    const { edit } = entry;
    if (isRemovingEdit(edit))
      for (const id of entriesRemovedBy(edit, this.#between).entries) this.entriesBroughtBack.add(id);
    if (isWithholdingEdit(edit)) for (const toolUse of resultsWithheldBy(edit).results) this.broughtBack.add(toolUse);
    if (edit.type === "offload") this.#restore(edit.results);
    if (edit.type === "offload" || edit.type === "clear")
      for (const { toolUse } of edit.results) this.broughtBack.add(toolUse);
    if (edit.type === "boundary") this.#passing = { of: entry, next: "summary" };
  }

  #decide(decision: Omit<Decision, "shown">, results: readonly Replacement[]): ProjectionEffect {
    for (const { toolUse, shown } of results) {
      const known = this.decisions.get(toolUse);
      if (known === undefined) this.decisions.set(toolUse, [{ ...decision, shown }]);
      else known.push({ ...decision, shown });
    }
    return { kind: "decided", results: results.map((result) => result.toolUse) };
  }

  #clear(by: EntryId, edit: Clear, at: number): ProjectionEffect {
    const decided = this.#decide({ by, kind: "clear", at }, edit.results);
    // A result that shows its marker everywhere need not be withheld any more.
    for (const { toolUse } of edit.results) this.#release(toolUse);
    const { dropsThinking: dropped } = edit;
    if (dropped !== undefined) this.#dropThinkingOf(span(this.items, dropped.from, dropped.to));
    if (edit.attachments.length > 0) return this.#remove(new Set(edit.attachments));
    return dropped === undefined ? decided : { kind: "rebuilt" };
  }

  #remove(gone: ReadonlySet<EntryId>): ProjectionEffect {
    this.#releaseIn(gone);
    this.items = this.items.filter((item) => !gone.has(item.entry));
    return { kind: "rebuilt" };
  }

  /** A result that is no longer sent can't be withheld: a request that names it is refused. */
  #releaseIn(gone: ReadonlySet<EntryId>): void {
    if (this.withheld.size === 0) return;
    for (const { entry, blocks } of this.items)
      if (gone.has(entry))
        for (const block of blocks) if (block.type === "tool_result") this.#release(block.tool_use_id);
  }

  #withhold({ results, releases }: WithheldResults, at: number): ProjectionEffect {
    if (releases === "all") this.#releaseAll();
    for (const toolUse of results) {
      this.withheld.add(toolUse);
      this.withheldAt.set(toolUse, at);
    }
    // Whoever counts took them for gone.
    return releases === "all" ? { kind: "rebuilt", items: "same" } : { kind: "withheld", results };
  }

  #release(toolUse: ToolUseId): void {
    if (this.withheld.delete(toolUse)) this.releasedAt = this.#at - 1;
    this.withheldAt.delete(toolUse);
  }

  #releaseAll(): void {
    for (const toolUse of this.withheld) this.#release(toolUse);
  }

  readonly #between = (from: EntryId, to: EntryId): ReadonlySet<EntryId> => span(this.items, from, to);

  #takeOut({ entries, shown }: RemovedEntries, { by, at }: Pick<Decision, "by" | "at">): ProjectionEffect {
    const gone = withPairs(this.items, entries, "both");
    if (shown === undefined) return this.#remove(gone);
    if (entries.size === 0) return { kind: "none" };
    const place = this.items.findIndex((item) => gone.has(item.entry));
    const standIn: Item = {
      entry: by,
      role: "user",
      messageId: undefined,
      blocks: [{ type: "text", text: wrapReminder(shown) }],
      thinking: "left-out",
      at,
    };
    this.#releaseIn(gone);
    const left = this.items.filter((item) => !gone.has(item.entry));
    this.items = [...left.slice(0, place), standIn, ...left.slice(place)];
    return { kind: "rebuilt" };
  }

  #leaveOut({ part, entries }: LeaveOut): ProjectionEffect {
    const shownByEntry = new Map(entries.map(({ entry, shown }) => [entry, shown]));
    this.items = this.items.map((item) =>
      shownByEntry.has(item.entry) ? omitFromItem(item, { part, shown: shownByEntry.get(item.entry) }) : item,
    );
    return { kind: "rebuilt" };
  }

  #compact(waiting: { readonly entry: EditEntry; readonly edit: Boundary }, summary: Item): void {
    const { front, pinned, kept } = survivors(this.items, this.pins, waiting.edit.metadata);
    this.items = [...front, summary, ...pinned, ...kept];
    this.boundaries.push(waiting.entry);
    this.#releaseAll();
  }

  /** An undone offload: where the log holds only the preview, the original takes its place. */
  #restore(results: readonly Replacement[]): void {
    const contents = new Map<ToolUseId, ResultContent>();
    for (const { toolUse, blob } of results) {
      const content = blob === undefined ? undefined : this.#options.originals.get(blob);
      if (content !== undefined) contents.set(toolUse, content);
    }
    if (contents.size > 0) this.items = this.items.map((item) => withContents(item, contents));
  }

  #dropThinkingBehind(edit: EntryId): ProjectionEffect {
    const from = this.#editAt.get(edit) ?? 0;
    this.#dropThinkingOf(new Set(this.items.flatMap((item) => (item.at >= from ? [item.entry] : []))));
    return { kind: "rebuilt" };
  }

  #dropThinkingOf(entries: ReadonlySet<EntryId>): void {
    this.items = this.items.map((item) => (entries.has(item.entry) ? { ...item, thinking: "left-out" } : item));
  }
}

interface SkippedBoundary {
  readonly of: EditEntry;
  readonly next: "summary" | "attachments";
}

const isSkipped = (entry: Entry, { of, next }: SkippedBoundary): boolean =>
  next === "summary"
    ? entry.kind === "user" && entry.summary
    : entry.kind === "attachment" && isMadeForBoundary(entry, of);

/** A provider's summary without its boundary: it stands for nothing, and is a text like any other. */
function withoutServerBlock(item: Item): Item {
  const { server: _, ...text } = item;
  return text;
}

export interface Survivors {
  /** Before the summary, byte for byte as it was. */
  readonly front: readonly Item[];
  readonly pinned: readonly Item[];
  readonly kept: readonly Item[];
}

/** What a boundary leaves of the items before it. Pairs and replies stay whole. */
export function survivors(items: readonly Item[], pins: ReadonlySet<EntryId>, metadata: BoundaryMetadata): Survivors {
  const pivot = metadata.direction === "from" ? items.findIndex((item) => item.entry === metadata.pivot) : 0;
  const before = new Set(items.slice(0, Math.max(0, pivot)).map((item) => item.entry));
  const inFront = before.size === 0 ? before : withPairs(items, before, "calls");
  const front = items.filter((item) => inFront.has(item.entry));
  const covered = items.filter((item) => !inFront.has(item.entry));
  const kept = withPairs(covered, entriesToKeep(covered, metadata), "calls");
  const pinnedThere = covered.flatMap((item) => (pins.has(item.entry) && !kept.has(item.entry) ? [item.entry] : []));
  // A pinned result could not be sent without its call.
  const pinned = withPairs(covered, new Set(pinnedThere), "both");
  return {
    front,
    pinned: covered.filter((item) => pinned.has(item.entry) && !kept.has(item.entry)),
    kept: covered.filter((item) => kept.has(item.entry)),
  };
}

function entriesToKeep(items: readonly Item[], metadata: BoundaryMetadata): Set<EntryId> {
  if (metadata.preservedMessages !== undefined) return new Set(metadata.preservedMessages.uuids);
  const segment = metadata.preservedSegment;
  return segment === undefined ? new Set() : span(items, segment.headUuid, segment.tailUuid);
}

/** Entries from one to another, both included; none if either is not among the items. */
function span(items: readonly Item[], from: EntryId, to: EntryId): Set<EntryId> {
  const first = items.findIndex((item) => item.entry === from);
  const last = items.findLastIndex((item) => item.entry === to);
  return new Set(first === -1 || last === -1 ? [] : items.slice(first, last + 1).map((item) => item.entry));
}

function withContents(item: Item, contents: ReadonlyMap<ToolUseId, ResultContent>): Item {
  const holds = item.blocks.some((block) => block.type === "tool_result" && contents.has(block.tool_use_id));
  if (!holds) return item;
  const blocks = item.blocks.map((block) => {
    const content = block.type === "tool_result" ? contents.get(block.tool_use_id) : undefined;
    return content === undefined ? block : { ...block, content };
  });
  return { ...item, blocks };
}
