import { type EntryId, entryId, type MessageId, type ToolUseId } from "../schema/brand.ts";
import type { AssistantEntry, Entry, SessionTitle, UserEntry } from "../schema/entry.ts";
import { branchLookBackMax } from "./limits.ts";
import type { LoggedEntry } from "./read-lines.ts";

/**
 * The path: the line of entries that the conversation followed. The log is a tree; the leaf is its last main-line
 * message, and the path is the leaf's chain of parents plus every entry that shares a reply's id with it plus every
 * result of its calls, in the order of the log.
 *
 * Appending is incremental:
 *   extended   the entry continues the path (its parent is the leaf, or what branched off in between stays on the path)
 *   switched   the entry continues from elsewhere: the path was resolved anew
 *   aside      the entry has no place on the path (progress, sidechains, entries without identity)
 * A results-only message whose calls are on the path joins it behind the entry that was last then, whatever parent it
 * names: a late result must not push the turns that came meanwhile off the path. An entry that names no parent at all
 * goes on at the entry before it.
 *
 * Resolving walks the whole log, so it waits until somebody asks for the path: a log with many branches that is read in
 * one go is resolved once.
 */
export type PathStep = "extended" | "switched" | "aside";

export interface PathProblem {
  readonly kind: "missing-parent" | "parent-cycle" | "duplicate-uuid";
  readonly entry: EntryId;
  readonly parent?: EntryId;
}

export interface PathOptions {
  /** `side`: the log of a sub-agent, where every entry is a sidechain's. */
  readonly line?: "main" | "side";
  /** `tail`: the log was read from its end. A parent that is not there has not been read: the chain stops at it. */
  readonly read?: "whole" | "tail";
}

export class Path {
  readonly #duplicates: PathProblem[] = [];
  readonly #titles: SessionTitle[] = [];
  #side: boolean;
  #tail: boolean;
  #nodes: LoggedEntry[] = [];
  #seqById = new Map<EntryId, number>();
  #tips: number[] = [];
  #path: number[] = [];
  /** Tips beside the path. Mostly few, so they are the ones remembered. */
  #aside = new Set<number>();
  #callAt = new Map<ToolUseId, number>();
  /** Late results, each with the entry it joined behind. */
  readonly #joinedBehind = new Map<number, number>();
  /** Replies stand on the path only because the leaf's chain shares their id: another leaf may not hold them. */
  #holdsByTies = false;
  /** The leaf moved to another branch, and nobody has asked for the path since. */
  #stale = false;
  /** Tips beside the path, by what would bring them onto it. */
  #asideReplies = new Set<MessageId>();
  #asideResults = new Set<ToolUseId>();

  constructor(options: PathOptions = {}) {
    this.#side = options.line === "side";
    this.#tail = options.read === "tail";
  }

  /** What the log itself shows, however it was read: nothing here depends on the order of the questions. */
  get problems(): readonly PathProblem[] {
    const leaf = this.#tips.at(-1);
    const cycles: PathProblem[] = [];
    if (leaf !== undefined) this.#chain(leaf, (entry) => cycles.push(toPathProblem("parent-cycle", entry)));
    return [...this.#duplicates, ...this.#missingParents(), ...cycles];
  }

  #missingParents(): PathProblem[] {
    return this.#tips.flatMap((seq, at) => {
      const entry = this.#entryAt(seq);
      if (entry === undefined || this.#parentTip(entry) !== "missing") return [];
      const parent = entry.parent ?? entry.logicalParent;
      if (parent === undefined ? at === 0 : this.#tail || this.#seqById.has(parent)) return [];
      return [toPathProblem("missing-parent", entry)];
    });
  }

  get length(): number {
    this.#settle();
    return this.#path.length;
  }

  /** The path's entries in the order of the log. */
  get entries(): Entry[] {
    return this.logged.map(({ entry }) => entry);
  }

  /** What was read of the main line in the order of the log, other branches included. */
  get everyBranch(): Entry[] {
    return this.#tips.flatMap((seq) => this.#entryAt(seq) ?? []);
  }

  /** That were read, in the order of the log. They are the session's, whatever branch it is on. */
  get titles(): readonly SessionTitle[] {
    return this.#titles;
  }

  get logged(): LoggedEntry[] {
    this.#settle();
    return this.#path.flatMap((seq) => this.#nodes[seq] ?? []);
  }

  /** The path's entries behind the first `count`, at the cost of these alone. */
  loggedFrom(count: number): LoggedEntry[] {
    this.#settle();
    return this.#path.slice(count).flatMap((seq) => this.#nodes[seq] ?? []);
  }

  /** As of a list: from 0 on, or from the end back where it is negative. */
  at(place: number): LoggedEntry | undefined {
    this.#settle();
    const seq = this.#path.at(place);
    return seq === undefined ? undefined : this.#nodes[seq];
  }

  /** Where on the path the newest entry stands that is asked for; -1 where none is. Costs what lies behind it. */
  findLastIndex(isAskedFor: (logged: LoggedEntry) => boolean): number {
    this.#settle();
    return this.#path.findLastIndex((seq) => {
      const logged = this.#nodes[seq];
      return logged !== undefined && isAskedFor(logged);
    });
  }

  get leaf(): Entry | undefined {
    const seq = this.#tips.at(-1);
    return seq === undefined ? undefined : this.#nodes[seq]?.entry;
  }

  has(id: EntryId): boolean {
    this.#settle();
    const seq = this.#seqById.get(id);
    return seq !== undefined && this.#holds(seq);
  }

  /** Any entry of the log that has this id, on the path or not. */
  find(id: EntryId): LoggedEntry | undefined {
    const seq = this.#seqById.get(id);
    return seq === undefined ? undefined : this.#nodes[seq];
  }

  /** Tips of the log that the path does not hold: other branches. */
  get asideCount(): number {
    this.#settle();
    return this.#aside.size;
  }

  append(logged: LoggedEntry): PathStep {
    const { entry } = logged;
    if (entry.kind === "other" && entry.title !== undefined) this.#titles.push(entry.title);
    if (entry.id === undefined) return "aside";
    if (this.#seqById.has(entry.id)) {
      this.#duplicates.push({ kind: "duplicate-uuid", entry: entry.id });
      return "aside";
    }
    const seq = this.#nodes.length;
    this.#nodes.push(logged);
    this.#seqById.set(entry.id, seq);
    if (!this.#isTip(entry)) return "aside";
    const step = this.#continues(entry, seq) ? "extended" : "switched";
    this.#tips.push(seq);
    if (step === "switched") this.#stale = true;
    else if (!this.#stale) this.#take(entry, seq);
    return this.#stale ? "switched" : step;
  }

  #entryAt(seq: number | undefined): Entry | undefined {
    return seq === undefined ? undefined : this.#nodes[seq]?.entry;
  }

  #holds(seq: number): boolean {
    const entry = this.#entryAt(seq);
    return entry !== undefined && this.#isTip(entry) && !this.#aside.has(seq);
  }

  #isTip(entry: Entry): boolean {
    if (entry.sidechain !== this.#side || entry.kind === "other") return false;
    return entry.kind !== "edit" || entry.edit.type !== "origin";
  }

  /** Does the path with this entry behind it equal the path that resolving would give? */
  #continues(entry: Entry, seq: number): boolean {
    const last = this.#tips.at(-1);
    if (last === undefined) return true;
    if (entry.parent === undefined && entry.logicalParent === undefined) return true;
    if (entry.parent === this.#entryAt(last)?.id && !(entry.kind === "assistant" && this.#bringsIn(entry))) return true;
    if (this.#stale && !isResultsOnly(entry)) return false;
    this.#settle();
    if (this.#answersOnly(entry)) {
      if (this.#parentTip(entry) !== last) this.#joinedBehind.set(seq, last);
      return true;
    }
    if (entry.kind === "assistant" && this.#bringsIn(entry)) return false;
    const parent = this.#parentTip(entry);
    if (parent === "root") return false;
    if (parent === "missing") return !this.#tail;
    return this.#holds(parent) && this.#staysBehind(parent, seq);
  }

  #answersOnly(entry: Entry): boolean {
    if (!isResultsOnly(entry)) return false;
    return entry.blocks.every((block) => block.type === "tool_result" && this.#callAt.has(block.tool_use_id));
  }

  #bringsIn(entry: AssistantEntry): boolean {
    if (entry.messageId !== undefined && this.#asideReplies.has(entry.messageId)) return true;
    return entry.blocks.some((block) => block.type === "tool_use" && this.#asideResults.has(block.id));
  }

  /** Every entry behind `parent` shares a reply with the path up to it, or answers such a reply. */
  #staysBehind(parent: number, added: number): boolean {
    if (this.#holdsByTies) return false;
    const staying = new Set<number>([added]);
    const behind: number[] = [];
    for (let at = this.#path.length - 1; at >= 0; at -= 1) {
      const seq = this.#path[at];
      if (seq === undefined || seq <= parent) break;
      if (behind.push(seq) > branchLookBackMax) return false;
    }
    const stays = (seq: number | undefined): boolean => seq !== undefined && (seq <= parent || staying.has(seq));
    for (const seq of behind.toReversed()) {
      const entry = this.#entryAt(seq);
      if (entry === undefined || !this.#isTiedTo(entry, stays)) return false;
      staying.add(seq);
    }
    return true;
  }

  #isTiedTo(entry: Entry, stays: (seq: number | undefined) => boolean): boolean {
    if (entry.kind === "assistant") return entry.messageId !== undefined && this.#repliesBefore(entry.messageId, stays);
    if (entry.kind !== "user") return false;
    return entry.blocks.some((block) => block.type === "tool_result" && stays(this.#callAt.get(block.tool_use_id)));
  }

  /** Replies are written in one go: an earlier part of one is near, or there is none. */
  #repliesBefore(reply: MessageId, stays: (seq: number) => boolean): boolean {
    const from = Math.max(0, this.#path.length - 2 * branchLookBackMax);
    for (let at = this.#path.length - 1; at >= from; at -= 1) {
      const seq = this.#path[at];
      const entry = this.#entryAt(seq);
      if (seq !== undefined && entry?.kind === "assistant" && entry.messageId === reply && stays(seq)) return true;
    }
    return false;
  }

  #take(entry: Entry, seq: number): void {
    this.#path.push(seq);
    if (entry.kind !== "assistant") return;
    for (const block of entry.blocks) if (block.type === "tool_use") this.#callAt.set(block.id, seq);
  }

  #settle(): void {
    const leaf = this.#tips.at(-1);
    if (!this.#stale || leaf === undefined) return;
    this.#stale = false;
    const chain = this.#chain(leaf);
    const chosen = this.#withTied(new Set(chain));
    this.#holdsByTies = [...chosen].some((seq) => !chain.has(seq) && this.#entryAt(seq)?.kind === "assistant");
    this.#path = [];
    this.#aside = new Set();
    this.#callAt = new Map();
    this.#asideReplies = new Set();
    this.#asideResults = new Set();
    for (const seq of this.#tips) {
      const entry = this.#entryAt(seq);
      if (entry === undefined) continue;
      if (chosen.has(seq)) this.#take(entry, seq);
      else this.#leaveAside(entry, seq);
    }
  }

  #leaveAside(entry: Entry, seq: number): void {
    this.#aside.add(seq);
    if (entry.kind === "assistant" && entry.messageId !== undefined) this.#asideReplies.add(entry.messageId);
    if (entry.kind !== "user") return;
    for (const block of entry.blocks) if (block.type === "tool_result") this.#asideResults.add(block.tool_use_id);
  }

  #chain(leaf: number, onCycle: (entry: Entry) => void = () => {}): Set<number> {
    const chain = new Set<number>();
    for (let at: number | undefined = leaf; at !== undefined; at = this.#before(at, chain, onCycle)) chain.add(at);
    return chain;
  }

  /** Where the chain goes on; undefined at its end. */
  #before(at: number, chain: ReadonlySet<number>, onCycle: (entry: Entry) => void): number | undefined {
    const entry = this.#entryAt(at);
    if (entry === undefined) return undefined;
    const parent = this.#joinedBehind.get(at) ?? this.#parentTip(entry);
    if (parent === "root") return undefined;
    if (parent !== "missing" && !chain.has(parent)) return parent;
    if (parent !== "missing") onCycle(entry);
    const unread = this.#tail && entry.parent !== undefined;
    return unread ? undefined : this.#tipBefore(at, chain);
  }

  /** Adds what shares a reply with the chain and what answers its calls. */
  #withTied(chain: Set<number>): Set<number> {
    const replies = new Set<MessageId>();
    for (const seq of chain) {
      const entry = this.#entryAt(seq);
      if (entry?.kind === "assistant" && entry.messageId !== undefined) replies.add(entry.messageId);
    }
    const calls = new Set<ToolUseId>();
    for (const seq of this.#tips) {
      const entry = this.#entryAt(seq);
      if (entry?.kind !== "assistant") continue;
      if (entry.messageId !== undefined && replies.has(entry.messageId)) chain.add(seq);
      if (chain.has(seq)) for (const block of entry.blocks) if (block.type === "tool_use") calls.add(block.id);
    }
    for (const seq of this.#tips) {
      const entry = this.#entryAt(seq);
      if (
        entry?.kind === "user" &&
        entry.blocks.some((block) => block.type === "tool_result" && calls.has(block.tool_use_id))
      )
        chain.add(seq);
    }
    return chain;
  }

  /** The nearest entry up the chain of parents that can stand on the path. */
  #parentTip(entry: Entry): number | "root" | "missing" {
    const seen = new Set<Entry>();
    let at: Entry = entry;
    while (!seen.has(at)) {
      seen.add(at);
      const parent = at.parent ?? at.logicalParent;
      if (parent === undefined) return at.parent === null ? "root" : "missing";
      const seq = this.#seqById.get(parent);
      const next = this.#entryAt(seq);
      if (seq === undefined || next === undefined) return "missing";
      if (this.#isTip(next)) return seq;
      at = next;
    }
    return "missing";
  }

  #tipBefore(seq: number, taken: ReadonlySet<number>): number | undefined {
    let low = 0;
    let high = this.#tips.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#tips[middle] ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    for (let at = low - 1; at >= 0; at -= 1) {
      const tip = this.#tips[at];
      if (tip !== undefined && !taken.has(tip)) return tip;
    }
    return undefined;
  }
}

const isResultsOnly = (entry: Entry): entry is UserEntry =>
  entry.kind === "user" && entry.blocks.length > 0 && entry.blocks.every((block) => block.type === "tool_result");

function toPathProblem(kind: PathProblem["kind"], entry: Entry): PathProblem {
  const parent = entry.parent ?? entry.logicalParent;
  return { kind, entry: entry.id ?? entryId(""), ...(parent === undefined ? {} : { parent }) };
}

/**
 * The newest recorded system prompt that the path was spoken under. Such entries stand on no path themselves: what
 * counts is whether an entry of the path hangs on one.
 */
export function findSystemPrompt(path: Path): string | undefined {
  const above = (entry: Entry): Entry | undefined => {
    const parent = entry.parent ?? entry.logicalParent;
    return parent === undefined ? undefined : path.find(parent)?.entry;
  };
  const seen = new Set<Entry>();
  for (const entry of path.entries.toReversed()) {
    for (let at = above(entry); at?.kind === "other" && !seen.has(at); at = above(at)) {
      seen.add(at);
      if (at.systemPrompt !== undefined && at.sidechain === entry.sidechain) return at.systemPrompt;
    }
  }
  return undefined;
}
