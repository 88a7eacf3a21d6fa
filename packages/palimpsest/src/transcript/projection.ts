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
 * Entries of the path → items and decisions. One pass in order; each edit is applied at its position:
 *   offload, clear, repair   decide how a result looks (`decisions`); the items stay
 *   snip, collapse           remove items, calls and results together; a collapse's stand-in replaces them
 *   server-edits             the messages stay, but the server hides results from the model
 *   leave-out                removes a kind of block from items that the provider refused because of it
 *   boundary                 waits for its summary; then the items become [front] summary [pinned] [kept]
 *   pin, unpin, setting      state that later edits and plans read
 *   undo                     resolved before the pass: an undone edit is skipped
 */
export interface Decision {
  readonly by: EntryId;
  readonly kind: "offload" | "clear" | "repair";
  readonly shown: string;
  /** Position of the decision on the path: a result after a repair arrived too late and is added as a new message. */
  readonly at: number;
}

export type ProjectionEffect =
  | { readonly kind: "said"; readonly item: Item }
  | { readonly kind: "decided"; readonly results: readonly ToolUseId[] }
  /** The messages do not change. */
  | { readonly kind: "withheld"; readonly results: readonly ToolUseId[] }
  | { readonly kind: "rebuilt"; readonly items?: "same" }
  | { readonly kind: "none" };

/** Contents of offloaded results whose offload was undone: the log holds only their preview. */
export type OriginalContents = ReadonlyMap<BlobId, ResultContent>;

interface ProjectOptions {
  readonly undone: ReadonlySet<EntryId>;
  readonly originals: OriginalContents;
  /** The state before the first entry, if the log was not read from its beginning. */
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
  /**
   * Position on the path of the last edit in force that moved or removed items. A watch that is given only the current
   * view does not see these changes.
   */
  structureAt = -1;
  /** Position at which the newest boundary in force took effect. */
  compactedAt = -1;
  /** Results that the server withholds from the model: every request says so until a boundary. */
  readonly withheld = new Set<ToolUseId>();
  /** Position on the path at which withholding began, for each of them. */
  readonly withheldAt = new Map<ToolUseId, number>();
  /** Position at which withholding last ended for a result: requests before it did not contain what they seem to contain now. */
  releasedAt = -1;
  /** Results that were cleared, offloaded or withheld and that the user brought back with an undo. */
  readonly broughtBack = new Set<ToolUseId>();
  /** Entries that an edit removed and that the user brought back with an undo. */
  readonly entriesBroughtBack = new Set<EntryId>();
  readonly #options: ProjectOptions;
  readonly #editAt = new Map<EntryId, number>();
  /** A boundary whose summary has not been written: it has no effect, so a crash between the two loses nothing. */
  #waiting: WaitingBoundary | undefined;
  /** Set after an undone boundary: its summary, and then the attachments made for it, are skipped too. */
  #skipping: SkippedBoundary | undefined;
  #at = 0;

  constructor(options: ProjectOptions) {
    const { seed } = options;
    this.#options = options;
    this.items = [...seed.items];
    this.decisions = new Map([...seed.decisions].map(([toolUse, decisions]) => [toolUse, [...decisions]]));
    this.pins = new Set(seed.pins);
    this.settings = new Map(seed.settings);
  }

  /** An independent copy that continues from here. */
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
    copied.#skipping = this.#skipping;
    copied.#at = this.#at;
    return copied;
  }

  apply(entry: Entry, origin: EntryOrigin): ProjectionEffect {
    const at = this.#at;
    this.#at += 1;
    if (entry.kind === "edit") return this.#applyEdit(entry, at);
    const item = toItem(entry, { at, origin });
    if (item === undefined || this.#belongsToUndone(entry)) return { kind: "none" };
    const waiting = this.#waiting;
    // Claude Code writes attachments between a boundary and its summary. They are of the view behind the boundary.
    this.#waiting =
      waiting !== undefined && entry.kind === "attachment"
        ? { ...waiting, attachments: [...waiting.attachments, item.entry] }
        : undefined;
    if (waiting !== undefined && entry.kind === "user" && entry.summary) {
      this.structureAt = at;
      this.compactedAt = at;
      this.#compact(waiting, item);
      return { kind: "rebuilt" };
    }
    // Without its boundary a provider's summary replaces nothing and is sent as plain text.
    const added = item.server === undefined ? item : omitFromItem(item, { part: "server-summary" });
    this.items.push(added);
    return { kind: "said", item: added };
  }

  #belongsToUndone(entry: Entry): boolean {
    const skipping = this.#skipping;
    // Between a boundary and its summary.
    if (skipping?.next === "summary" && entry.kind === "attachment") return isMadeForBoundary(entry, skipping.of);
    this.#skipping = undefined;
    const isPart = skipping !== undefined && isSkipped(entry, skipping);
    if (isPart) this.#skipping = { of: skipping.of, next: "attachments" };
    return isPart || (entry.kind === "attachment" && this.#isUndone(boundaryTag(entry)));
  }

  #isUndone(edit: EntryId | undefined): boolean {
    return edit !== undefined && this.#options.undone.has(edit);
  }

  #applyEdit(entry: EditEntry, at: number): ProjectionEffect {
    this.#editAt.set(entry.id, at);
    if (this.#options.undone.has(entry.id)) {
      this.#skipUndone(entry);
      return { kind: "none" };
    }
    const effect = this.#applyInForce(entry, at);
    if (effect.kind === "rebuilt" && effect.items !== "same") this.structureAt = at;
    return effect;
  }

  #applyInForce(entry: EditEntry, at: number): ProjectionEffect {
    const { edit } = entry;
    if (isRemovingEdit(edit)) return this.#removeWithPairs(entriesRemovedBy(edit, this.#between), { by: entry.id, at });
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
        this.#waiting = { entry, edit, attachments: [] };
        return { kind: "none" };
      case "pin":
        this.pins.add(edit.entry);
        return { kind: "none" };
      case "unpin":
        this.pins.delete(edit.entry);
        return { kind: "none" };
      case "undo":
        return edit.dropsThinking === true ? this.#dropThinkingSince(edit.edit) : { kind: "none" };
      case "setting":
        this.settings.set(edit.name, edit.value);
        return { kind: "none" };
      case "branch":
      case "origin":
        return { kind: "none" };
    }
  }

  /** Records what an undone edit no longer removes. */
  #skipUndone(entry: EditEntry): void {
    const { edit } = entry;
    if (isRemovingEdit(edit))
      for (const id of entriesRemovedBy(edit, this.#between).entries) this.entriesBroughtBack.add(id);
    if (isWithholdingEdit(edit)) for (const toolUse of resultsWithheldBy(edit).results) this.broughtBack.add(toolUse);
    if (edit.type === "offload") this.#restore(edit.results);
    if (edit.type === "offload" || edit.type === "clear")
      for (const { toolUse } of edit.results) this.broughtBack.add(toolUse);
    if (edit.type === "boundary") this.#skipping = { of: entry, next: "summary" };
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
    // A result that shows only its marker need not be withheld any more.
    for (const { toolUse } of edit.results) this.#release(toolUse);
    const { dropsThinking: thinkingSpan } = edit;
    if (thinkingSpan !== undefined) this.#dropThinkingOf(span(this.items, thinkingSpan.from, thinkingSpan.to));
    if (edit.attachments.length > 0) return this.#remove(new Set(edit.attachments));
    return thinkingSpan === undefined ? decided : { kind: "rebuilt" };
  }

  #remove(removed: ReadonlySet<EntryId>): ProjectionEffect {
    this.#releaseIn(removed);
    this.items = this.items.filter((item) => !removed.has(item.entry));
    return { kind: "rebuilt" };
  }

  /** A result that is no longer sent can't be withheld: the server refuses a request that names it. */
  #releaseIn(removed: ReadonlySet<EntryId>): void {
    if (this.withheld.size === 0) return;
    for (const { entry, blocks } of this.items)
      if (removed.has(entry))
        for (const block of blocks) if (block.type === "tool_result") this.#release(block.tool_use_id);
  }

  #withhold({ results, releases }: WithheldResults, at: number): ProjectionEffect {
    if (releases === "all") this.#releaseAll();
    for (const toolUse of results) {
      this.withheld.add(toolUse);
      this.withheldAt.set(toolUse, at);
    }
    // Counters took the released results for gone, so the view is reported again.
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

  #removeWithPairs({ entries, shown }: RemovedEntries, { by, at }: Pick<Decision, "by" | "at">): ProjectionEffect {
    const removed = withPairs(this.items, entries, "both");
    if (shown === undefined) return this.#remove(removed);
    if (entries.size === 0) return { kind: "none" };
    const index = this.items.findIndex((item) => removed.has(item.entry));
    const standIn: Item = {
      entry: by,
      role: "user",
      messageId: undefined,
      blocks: [{ type: "text", text: wrapReminder(shown) }],
      thinking: "left-out",
      at,
    };
    this.#releaseIn(removed);
    const remaining = this.items.filter((item) => !removed.has(item.entry));
    this.items = [...remaining.slice(0, index), standIn, ...remaining.slice(index)];
    return { kind: "rebuilt" };
  }

  #leaveOut({ part, entries }: LeaveOut): ProjectionEffect {
    const shownByEntry = new Map(entries.map(({ entry, shown }) => [entry, shown]));
    this.items = this.items.map((item) =>
      shownByEntry.has(item.entry) ? omitFromItem(item, { part, shown: shownByEntry.get(item.entry) }) : item,
    );
    return { kind: "rebuilt" };
  }

  #compact({ entry, edit, attachments }: WaitingBoundary, summary: Item): void {
    const behind = this.items.filter((item) => attachments.includes(item.entry));
    const before = behind.length === 0 ? this.items : this.items.filter((item) => !behind.includes(item));
    const { front, pinned, kept } = survivors(before, this.pins, edit.metadata);
    this.items = [...front, ...behind, summary, ...pinned, ...kept];
    this.boundaries.push(entry);
    this.#releaseAll();
  }

  /** For an undone offload: if the log holds only the preview, the original replaces it. */
  #restore(results: readonly Replacement[]): void {
    const contents = new Map<ToolUseId, ResultContent>();
    for (const { toolUse, blob } of results) {
      const content = blob === undefined ? undefined : this.#options.originals.get(blob);
      if (content !== undefined) contents.set(toolUse, content);
    }
    if (contents.size > 0) this.items = this.items.map((item) => withContents(item, contents));
  }

  #dropThinkingSince(edit: EntryId): ProjectionEffect {
    const from = this.#editAt.get(edit) ?? 0;
    this.#dropThinkingOf(new Set(this.items.flatMap((item) => (item.at >= from ? [item.entry] : []))));
    return { kind: "rebuilt" };
  }

  #dropThinkingOf(entries: ReadonlySet<EntryId>): void {
    this.items = this.items.map((item) => (entries.has(item.entry) ? { ...item, thinking: "left-out" } : item));
  }
}

interface WaitingBoundary {
  readonly entry: EditEntry;
  readonly edit: Boundary;
  /** Written since. */
  readonly attachments: readonly EntryId[];
}

interface SkippedBoundary {
  readonly of: EditEntry;
  readonly next: "summary" | "attachments";
}

const isSkipped = (entry: Entry, { of, next }: SkippedBoundary): boolean =>
  next === "summary"
    ? entry.kind === "user" && entry.summary
    : entry.kind === "attachment" && isMadeForBoundary(entry, of);

export interface Survivors {
  /** Stays before the summary, byte for byte. */
  readonly front: readonly Item[];
  readonly pinned: readonly Item[];
  readonly kept: readonly Item[];
}

/** The items before a boundary that survive it. Pairs and replies stay whole. */
export function survivors(items: readonly Item[], pins: ReadonlySet<EntryId>, metadata: BoundaryMetadata): Survivors {
  const pivot = metadata.direction === "from" ? items.findIndex((item) => item.entry === metadata.pivot) : 0;
  const before = new Set(items.slice(0, Math.max(0, pivot)).map((item) => item.entry));
  const inFront = before.size === 0 ? before : withPairs(items, before, "calls");
  const front = items.filter((item) => inFront.has(item.entry));
  const covered = items.filter((item) => !inFront.has(item.entry));
  const kept = withPairs(covered, entriesToKeep(covered, metadata), "calls");
  const pinnedEntries = covered.flatMap((item) => (pins.has(item.entry) && !kept.has(item.entry) ? [item.entry] : []));
  // A pinned result could not be sent without its call.
  const pinned = withPairs(covered, new Set(pinnedEntries), "both");
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
