import { z } from "zod";
import { type EntryId, entryId } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Json } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";
import { userText } from "../../transcript/user-text.ts";
import { cursorsKept } from "../limits.ts";

export interface UnreadMessage {
  readonly id: EntryId;
  readonly text: string;
}

/**
 * The user's messages that no extraction has looked at, oldest first. They outlive a compaction after which the session drops
 * what it covers; those that were rewound are forgotten.
 */
export class UnreadMessages {
  #unread: UnreadMessage[] = [];
  /** Every message that was ever listed here or read. */
  readonly #known = new Set<EntryId>();
  /** The newest entries up to which all was read, newest first: after a rewind the first one on the path counts. */
  #cursors: readonly EntryId[];
  #lastSeen: EntryId | undefined;

  /** `settings`: those of the path, as its projection holds them. */
  constructor(entries: readonly Entry[], settings: ReadonlyMap<string, Json>) {
    this.#cursors = cursorShape.safeParse(settings.get(settingName)).data?.entries ?? [];
    const read = new Set(this.#cursors);
    const newest = entries.findLastIndex(({ id }) => id !== undefined && read.has(id));
    for (const entry of entries.slice(0, newest + 1)) if (entry.id !== undefined) this.#known.add(entry.id);
    this.follow(entries);
  }

  get messages(): readonly UnreadMessage[] {
    return this.#unread;
  }

  /** Brings the list in line with the path. Costs work in proportion to what is new, unless the path went back. */
  follow(entries: readonly Entry[]): void {
    const seenAt = entries.findLastIndex(({ id }) => id !== undefined && id === this.#lastSeen);
    for (const entry of entries.slice(seenAt + 1)) this.#add(entry);
    this.#lastSeen = entries.at(-1)?.id;
    if (seenAt === -1) this.#dropRewound(entries);
  }

  /** Marks these as read, up to an entry of the path, and returns what has to be recorded. */
  read(messages: readonly UnreadMessage[], upTo: EntryId): Draft {
    const read = new Set(messages);
    this.#unread = this.#unread.filter((message) => !read.has(message));
    this.#cursors = [upTo, ...this.#cursors].slice(0, cursorsKept);
    return { type: "setting", name: settingName, value: { entries: [...this.#cursors] } };
  }

  #add(entry: Entry): void {
    const text = entry.sidechain || entry.id === undefined || this.#known.has(entry.id) ? undefined : userText(entry);
    if (text === undefined || entry.id === undefined) return;
    this.#known.add(entry.id);
    this.#unread.push({ id: entry.id, text });
  }

  /** A message that is gone from the path was rewound, unless the session has dropped it: then it stands before all others. */
  #dropRewound(entries: readonly Entry[]): void {
    const onPath = new Set(entries.map(({ id }) => id));
    const { parent, logicalParent } = entries[0] ?? {};
    const isWhole = (parent ?? logicalParent ?? undefined) === undefined;
    const firstOnPath = this.#unread.findIndex(({ id }) => onPath.has(id));
    const dropped = isWhole ? 0 : firstOnPath === -1 ? this.#unread.length : firstOnPath;
    this.#unread = this.#unread.filter(({ id }, at) => at < dropped || onPath.has(id));
  }
}

/** A setting of the session: it survives boundaries, and a resumed session goes on from there. */
const settingName = "extraction.read";
const cursorShape = z.object({ entries: z.array(z.string().transform(entryId)) });
