import type { Breakpoint } from "../../cache/breakpoint.ts";
import type { Lifetime } from "../../cache/lifetime.ts";
import type { Block, Message } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import type { SyncItem } from "./message-reader.ts";

/**
 * A message to send. `given`: the message of the caller's list at this index, as the caller wrote it. `made`: written by
 * the context; `of` is the message of the list whose place it takes, if it takes one.
 */
export type OutgoingMessage = (
  | { readonly kind: "given"; readonly at: number }
  | { readonly kind: "made"; readonly message: Message; readonly of?: number }
) & {
  /** Where the request is to be marked for the provider's cache. */
  readonly marks?: readonly OutgoingMark[];
};

export interface OutgoingMark {
  /** The block of the message, counted without thinking and empty texts. */
  readonly block: number;
  readonly lifetime: Lifetime;
}

export interface OutgoingInput {
  /** The view, and where it is marked. */
  readonly messages: readonly Message[];
  readonly breakpoints: readonly Breakpoint[];
  /** The entry that each block of the view comes from. */
  readonly sources: readonly (readonly EntryId[])[];
  /** The caller's list, and the entry that holds each of its items. */
  readonly items: readonly SyncItem[];
  readonly entries: readonly (EntryId | undefined)[];
  /** How many messages the list has. */
  readonly length: number;
  /** Does the block say what the item says? Costs the block's size once. */
  readonly isSame: (block: Block, item: SyncItem) => boolean;
  /** Holds the caller's own summary, which is the context's text with the same meaning. */
  readonly isSummary: (entry: EntryId) => boolean;
  /** Whether an edit left out thinking before the entry. */
  readonly isWithoutThinking: (entry: EntryId) => boolean;
}

/** A block of the view, and the message of the list that it belongs to. */
interface ShownBlock {
  readonly role: Message["role"];
  readonly block: Block;
  /** Index of its message in the view. */
  readonly group: number;
  readonly mark: Lifetime | undefined;
  readonly item: number | undefined;
  owner: number | undefined;
}

/** A point that divides the list: nothing before it depends on what comes behind. */
export interface ResumePoint {
  /** How many messages of the view, items of the list and messages to send are before it. */
  readonly group: number;
  readonly item: number;
  readonly sent: number;
  /** The last message of the list before it; -1 if there is none. */
  readonly owner: number;
}

export const beginning: ResumePoint = { group: 0, item: 0, sent: 0, owner: -1 };

export interface FoundList {
  readonly sent: readonly OutgoingMessage[];
  /** In their order. */
  readonly resumePoints: readonly ResumePoint[];
}

/** A request must begin with a message of the user: the view may have one more than the transcript. */
export const messagesAhead = ({ messages, sources }: Pick<OutgoingInput, "messages" | "sources">): number =>
  messages.length - sources.length;

/**
 * The view in the caller's own messages: each of them that the view shows unchanged stays as the caller wrote it, with all
 * of its fields. Undefined if the view does not follow the order of the list; then it has to be sent as it is.
 *
 * A message is made anew if the view shows less of it or something else, or if a call that the caller never saw belongs
 * into it. What belongs to no message of the list (a summary, a reminder) becomes a message of its own.
 */
export const outgoingList = (input: OutgoingInput): readonly OutgoingMessage[] | undefined =>
  listFrom(input, beginning)?.sent;

/** What is behind the point. Undefined also if that depends on what is before it. */
export function listFrom(input: OutgoingInput, start: ResumePoint): FoundList | undefined {
  const shown = readShown(input, start);
  if (shown === undefined) return undefined;
  const changed = findChanged(input, { shown, from: start.item });
  assignOwners(shown, (owner) => changed.add(owner));
  const leads = leadMessages(input, start.item);
  for (const lead of leads.values())
    if (lead.some((message) => changed.has(message))) for (const message of lead) changed.add(message);
  const [first] = shown;
  if (start === beginning && first?.owner !== undefined && input.items[first.item ?? -1]?.role === "system")
    changed.add(first.owner);
  const sent: OutgoingMessage[] = [];
  const resumePoints: ResumePoint[] = [];
  let last = start.owner;
  let group = start.group - 1;
  /** The last message of a summary that was just sent. What follows the summary in that message is sent with it. */
  let leadEnd: number | undefined;
  for (const run of runsByOwner(shown)) {
    const [{ owner, item, group: runGroup }] = run;
    const isMade = owner === undefined || changed.has(owner);
    if (owner !== undefined && owner === leadEnd && !isMade) continue;
    if (owner !== undefined && owner <= last) return undefined;
    if (runGroup > group && item !== undefined && beginsMessage(input, item))
      resumePoints.push({ group: runGroup, item, sent: start.sent + sent.length, owner: last });
    group = run.at(-1)?.group ?? group;
    const lead = owner === undefined ? undefined : leads.get(owner);
    if (isMade) {
      const made = makeMessages(run, { owner, items: input.items });
      sent.push(...(owner === undefined ? made : withEmptyBefore(made, emptyBefore(owner, input))));
    } else
      for (const at of lead ?? [owner])
        sent.push(...emptyBefore(at, input), giveMessage(at, { run, items: input.items }));
    leadEnd = isMade ? undefined : lead?.at(-1);
    last = leadEnd ?? owner ?? last;
  }
  const lastTracked = input.items.findLast(isTracked)?.message ?? -1;
  if (last === lastTracked) sent.push(...emptyBefore(input.length, input));
  return { sent, resumePoints };
}

/** Whether the item is the first of its message and of its entry. */
const beginsMessage = ({ items, entries }: OutgoingInput, at: number): boolean =>
  items[at - 1]?.message !== items[at]?.message && (at === 0 || entries[at - 1] !== entries[at]);

/** The caller's own summary is one entry, but may be several messages: all of them, by the first. */
function leadMessages(
  { items, entries, isSummary }: OutgoingInput,
  from: number,
): ReadonlyMap<number, readonly number[]> {
  const leads = new Map<number, readonly number[]>();
  let lead: number[] = [];
  for (let at = from; at < items.length; at += 1) {
    const [message, entry] = [items[at]?.message ?? -1, entries[at]];
    const isContinued = entry !== undefined && entry === entries[at - 1];
    if (!isContinued) lead = [message];
    else if (message !== lead.at(-1) && isSummary(entry)) leads.set(lead[0] ?? message, (lead = [...lead, message]));
  }
  return leads;
}

/** Undefined if something that is shown behind the point is in the list before it. */
function readShown(input: OutgoingInput, start: ResumePoint): readonly ShownBlock[] | undefined {
  const { messages, sources, items, entries, breakpoints } = input;
  const unshown = new UnshownItems({ items, entries, from: start.item });
  const ahead = messagesAhead(input);
  const shown: ShownBlock[] = [];
  for (let group = start.group; group < messages.length; group += 1) {
    const { role, content } = messages[group] ?? { role: "user", content: [] };
    const from = sources[group - ahead] ?? [];
    const marks = breakpoints.filter(({ place }) => place.part === "messages" && place.message === group);
    for (const [at, block] of content.entries()) {
      const entry = from[at];
      const item = entry === undefined || isThinking(block) ? undefined : unshown.take(entry);
      if (item === undefined && entry !== undefined && unshown.isBeforeStart(entry)) return undefined;
      const owner = item === undefined ? undefined : items[item]?.message;
      shown.push({ role, block, group, mark: marks.find(({ place }) => place.at === at)?.lifetime, item, owner });
    }
  }
  return shown;
}

/** The items that no block of the view belongs to yet. */
class UnshownItems {
  readonly #items: OutgoingInput["items"];
  readonly #entries: OutgoingInput["entries"];
  readonly #from: number;
  /** Before this one, all are taken. */
  #next: number;
  #byEntry: Map<EntryId, number[]> | undefined;

  /** `from`: the items before it belong to other blocks. */
  constructor({ items, entries, from }: Pick<OutgoingInput, "items" | "entries"> & { readonly from: number }) {
    this.#items = items;
    this.#entries = entries;
    this.#from = from;
    this.#next = from;
  }

  /** Whether an item before the first one is of this entry. */
  isBeforeStart(entry: EntryId): boolean {
    const at = this.#from === 0 ? -1 : this.#entries.indexOf(entry);
    return at !== -1 && at < this.#from;
  }

  /** The first one that the entry holds. Costs a comparison while the view has all of the list. */
  take(entry: EntryId): number | undefined {
    if (this.#byEntry === undefined) {
      while (this.#next < this.#items.length && !isTracked(this.#items[this.#next])) this.#next += 1;
      if (this.#entries[this.#next] === entry) return (this.#next += 1) - 1;
      this.#byEntry = this.#indexRest();
    }
    return this.#byEntry.get(entry)?.shift();
  }

  #indexRest(): Map<EntryId, number[]> {
    const byEntry = new Map<EntryId, number[]>();
    for (let at = this.#next; at < this.#items.length; at += 1) {
      const entry = this.#entries[at];
      if (entry === undefined || !isTracked(this.#items[at])) continue;
      const known = byEntry.get(entry);
      if (known === undefined) byEntry.set(entry, [at]);
      else known.push(at);
    }
    return byEntry;
  }
}

/** Blocks of kinds that the context does not know stay with their message. In a system message they are shown as text. */
const isTracked = (item: SyncItem | undefined): item is SyncItem =>
  item !== undefined && (item.block.type !== "unknown" || item.role === "system");

/** Messages of the list that are not shown as they are. */
function findChanged(
  input: OutgoingInput,
  { shown, from }: { readonly shown: readonly ShownBlock[]; readonly from: number },
): Set<number> {
  const { items, entries, isSame, isSummary, isWithoutThinking } = input;
  const isShown = new Uint8Array(items.length - from);
  for (const { block, item } of shown) {
    const of = item === undefined ? undefined : items[item];
    if (item !== undefined && of !== undefined && (of.role === "system" || isSame(block, of))) isShown[item - from] = 1;
  }
  let shownEntries: ReadonlySet<EntryId | undefined> | undefined;
  const changed = new Set<number>();
  for (let at = from; at < items.length; at += 1) {
    const [item, entry] = [items[at], entries[at]];
    if (item === undefined) continue;
    if (item.thinking.length > 0 && entry !== undefined && isWithoutThinking(entry)) changed.add(item.message);
    if (isShown[at - from] === 1 || !isTracked(item)) continue;
    shownEntries ??= new Set(shown.map((one) => (one.item === undefined ? undefined : entries[one.item])));
    const isOwnSummary = entry !== undefined && shownEntries.has(entry) && isSummary(entry);
    if (!isOwnSummary) changed.add(item.message);
  }
  return changed;
}

/**
 * Finds the client's message that each block without an item belongs to:
 *
 *   hidden call or result       the nearest owned block before it in the same view message, or else the nearest after it
 *   result alone in a message   the owner of its call
 *   call alone in a reply       the reply that continues it
 *   thinking                    the owner of what follows it in its view message, or else of what precedes it
 */
function assignOwners(shown: readonly ShownBlock[], onHidden: (owner: number) => void): void {
  if (shown.every(({ item }) => item !== undefined)) return;
  const ownerAfter = ownersFrom(shown.toReversed()).toReversed();
  const ownerBefore = ownersFrom(shown);
  const next = nextOwned(shown);
  const ownerByCall = new Map<string, number>();
  for (const [at, one] of shown.entries()) {
    const { block } = one;
    if (one.item !== undefined) continue;
    if (isThinking(block)) one.owner = ownerAfter[at] ?? ownerBefore[at];
    if (block.type !== "tool_use" && block.type !== "tool_result") continue;
    const called = block.type === "tool_result" ? ownerByCall.get(block.tool_use_id) : undefined;
    const continued = next[at]?.role === "assistant" ? next[at].owner : undefined;
    one.owner = ownerBefore[at] ?? ownerAfter[at] ?? called ?? continued;
    if (one.owner === undefined) continue;
    if (block.type === "tool_use") ownerByCall.set(block.id, one.owner);
    onHidden(one.owner);
  }
  assignThinking(shown);
}

/** Thinking before a call that got its owner just now. */
function assignThinking(shown: readonly ShownBlock[]): void {
  for (let at = shown.length - 2; at >= 0; at -= 1) {
    const [one, after] = [shown[at], shown[at + 1]];
    if (one !== undefined && isThinking(one.block) && one.owner === undefined && after?.group === one.group)
      one.owner = after.owner;
  }
}

/** For each block: the owner of the nearest owned block before it in the same message of the view. */
function ownersFrom(shown: readonly ShownBlock[]): readonly (number | undefined)[] {
  let before: ShownBlock | undefined;
  return shown.map((one) => {
    if (one.item !== undefined) before = one;
    return before?.group === one.group ? before.owner : undefined;
  });
}

function nextOwned(shown: readonly ShownBlock[]): readonly (ShownBlock | undefined)[] {
  let next: ShownBlock | undefined;
  return shown
    .toReversed()
    .map((one) => {
      if (one.item !== undefined) next = one;
      return next;
    })
    .toReversed();
}

type Run = readonly [ShownBlock, ...ShownBlock[]];

function runsByOwner(shown: readonly ShownBlock[]): readonly Run[] {
  const runs: [ShownBlock, ...ShownBlock[]][] = [];
  for (const one of shown) {
    const run = runs.at(-1);
    if (run !== undefined && run[0].owner === one.owner) run.push(one);
    else runs.push([one]);
  }
  return runs;
}

/** The caller's message, with the marks of what the view shows of it. */
function giveMessage(
  at: number,
  { run, items }: { readonly run: Run } & Pick<OutgoingInput, "items">,
): OutgoingMessage {
  const marks = run.flatMap(({ item, mark }): readonly OutgoingMark[] => {
    if (mark === undefined || item === undefined || items[item]?.message !== at) return [];
    let block = 0;
    while (items[item - block - 1]?.message === at) block += 1;
    return [{ block, lifetime: mark }];
  });
  return { kind: "given", at, ...(marks.length === 0 ? {} : { marks }) };
}

/** One message for each run of the same role, with the caller's ids. */
function makeMessages(
  run: Run,
  { owner, items }: { readonly owner: number | undefined } & Pick<OutgoingInput, "items">,
): readonly OutgoingMessage[] {
  const made: { readonly message: Message & { readonly content: Block[] }; readonly marks: OutgoingMark[] }[] = [];
  for (const { role, block, item, mark } of run) {
    const content = withCallerIds(block, item === undefined ? undefined : items[item]);
    if (made.at(-1)?.message.role !== role) made.push({ message: { role, content: [] }, marks: [] });
    const last = made.at(-1);
    last?.message.content.push(content);
    const before = last?.message.content.filter((one) => !isThinking(one)).length ?? 0;
    if (mark !== undefined) last?.marks.push({ block: before - 1, lifetime: mark });
  }
  return made.map(({ message, marks }) => ({
    kind: "made",
    message,
    ...(owner === undefined ? {} : { of: owner }),
    ...(marks.length === 0 ? {} : { marks }),
  }));
}

/** In the transcript a call may have another id, because the same one is on another branch. */
function withCallerIds(block: Block, item: SyncItem | undefined): Block {
  const said = item?.block;
  if (block.type === "tool_use" && said?.type === "tool_use") return { ...block, id: said.id };
  if (block.type === "tool_result" && said?.type === "tool_result") return { ...block, tool_use_id: said.tool_use_id };
  return block;
}

/**
 * If a message is made of several replies, because of calls that the caller never saw, each reply has one of the empty
 * messages right before it, and the last has the rest. If there are too few, the last has all.
 */
function withEmptyBefore(
  messages: readonly OutgoingMessage[],
  empty: readonly OutgoingMessage[],
): readonly OutgoingMessage[] {
  const isReply = (message: OutgoingMessage): boolean =>
    message.kind === "made" && message.message.role === "assistant";
  const lastReply = messages.findLastIndex(isReply);
  const replies = messages.filter(isReply).length;
  if (empty.length === 0 || replies < 2) return [...empty, ...messages];
  const spare = empty.length >= replies ? [...empty] : [];
  return messages.flatMap((message, at) => {
    if (at === lastReply) return [...(empty.length >= replies ? spare : empty), message];
    return isReply(message) ? [...spare.splice(0, 1), message] : [message];
  });
}

/**
 * Messages in which the context tracks nothing, such as reasoning, stay where the message after them stays; at the end of
 * the list, where the one before them stays.
 */
function emptyBefore(place: number, { items }: Pick<OutgoingInput, "items">): readonly OutgoingMessage[] {
  let at = firstItemFrom(items, place) - 1;
  while (at >= 0 && !isTracked(items[at])) at -= 1;
  const first = (items[at]?.message ?? -1) + 1;
  return Array.from({ length: place - first }, (_, nth) => ({ kind: "given", at: first + nth }));
}

/** The index of the first item of this message or a later one. Items are in the order of their messages. */
function firstItemFrom(items: OutgoingInput["items"], message: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.message ?? Infinity) < message) low = middle + 1;
    else high = middle;
  }
  return low;
}
