import { type EntryId, entryId, type MessageId, type ToolUseId } from "../schema/brand.ts";
import type { AssistantEntry, Entry, SessionTitle, UserEntry } from "../schema/entry.ts";
import { branchLookBackMax } from "./limits.ts";
import type { LoggedEntry } from "./read-lines.ts";

/**
 * The path: the sequence of entries that the conversation followed. The log is a tree; the leaf is its last main-line
 * message. The path is the leaf's chain of parents, plus every entry that shares a reply's id with the chain, plus every
 * result of its calls, in the order of the log.
 *
 * Appending is incremental:
 *   extended   the entry continues the path (its parent is the leaf, or everything after its parent stays on the path)
 *   switched   the entry continues from elsewhere: the path has to be resolved again
 *   aside      the entry is not on the path (progress, sidechains, entries without an id)
 * A results-only message whose calls are on the path is added at the end of the path, whatever parent it names: a late
 * result must not push the turns that came meanwhile off the path. An entry that names no parent at all follows the
 * entry before it.
 *
 * Resolving walks the whole log, so it is deferred until the path is read: a log with many branches that is appended at
 * once is resolved once.
 */
export type PathStep = "extended" | "switched" | "aside";

export interface PathProblem {
  readonly kind: "missing-parent" | "parent-cycle" | "duplicate-uuid";
  readonly entry: EntryId;
  readonly parent?: EntryId;
}

export interface PathOptions {
  /** `side`: the log of a sub-agent, in which every entry is marked as a sidechain. */
  readonly line?: "main" | "side";
  /** `tail`: the log was read from its end. A missing parent has not been read, so the chain stops there. */
  readonly read?: "whole" | "tail";
}

export class Path {
  readonly #duplicates: PathProblem[] = [];
  readonly #titles: SessionTitle[] = [];
  #isSide: boolean;
  #isTail: boolean;
  #nodes: LoggedEntry[] = [];
  #seqById = new Map<EntryId, number>();
  #tips: number[] = [];
  #path: number[] = [];
  /** Tips that are not on the path. They are usually few, so these are stored instead of those on the path. */
  #aside = new Set<number>();
  #callAt = new Map<ToolUseId, number>();
  /** Late results, each with the entry after which it was added. */
  readonly #joinedBehind = new Map<number, number>();
  /** Some replies are on the path only because the leaf's chain shares their id: the path of another leaf may lack them. */
  #holdsByTies = false;
  /** The leaf moved to another branch, and the path was not read since. */
  #stale = false;
  /** Ids that would bring a tip from another branch onto the path: of replies and of answered calls. */
  #asideReplies = new Set<MessageId>();
  #asideResults = new Set<ToolUseId>();

  constructor(options: PathOptions = {}) {
    this.#isSide = options.line === "side";
    this.#isTail = options.read === "tail";
  }

  /** Computed from the log alone, so it does not depend on when the path was read. */
  get problems(): readonly PathProblem[] {
    const leaf = this.#tips.at(-1);
    const cycles: PathProblem[] = [];
    if (leaf !== undefined) this.#chain(leaf, (entry) => cycles.push(toPathProblem("parent-cycle", entry)));
    return [...this.#duplicates, ...this.#missingParents(), ...cycles];
  }

  #missingParents(): PathProblem[] {
    const problems: PathProblem[] = [];
    for (const [at, seq] of this.#tips.entries()) {
      const entry = this.#entryAt(seq);
      if (entry === undefined || this.#parentTip(entry) !== "missing") continue;
      const parent = entry.parent ?? entry.logicalParent;
      const isExpected = parent === undefined ? at === 0 : this.#isTail || this.#seqById.has(parent);
      if (!isExpected) problems.push(toPathProblem("missing-parent", entry));
    }
    return problems;
  }

  get length(): number {
    this.#settle();
    return this.#path.length;
  }

  /** The path's entries in the order of the log. */
  get entries(): Entry[] {
    return this.logged.map(({ entry }) => entry);
  }

  /** All main-line entries read so far, in the order of the log, other branches included. */
  get everyBranch(): Entry[] {
    return this.#tips.flatMap((seq) => this.#entryAt(seq) ?? []);
  }

  /** In the order of the log. Titles belong to the session, whatever branch it is on. */
  get titles(): readonly SessionTitle[] {
    return this.#titles;
  }

  get logged(): LoggedEntry[] {
    return this.loggedFrom(0);
  }

  /** The path's entries after the first `count`. The cost depends only on their number. */
  loggedFrom(count: number): LoggedEntry[] {
    this.#settle();
    // Not flatMap, which is several times slower: every opened log comes through here.
    const logged: LoggedEntry[] = [];
    for (let at = count; at < this.#path.length; at += 1) {
      const node = this.#nodes[this.#path[at] ?? -1];
      if (node !== undefined) logged.push(node);
    }
    return logged;
  }

  /** Like `Array.at`: a negative index counts from the end. */
  at(index: number): LoggedEntry | undefined {
    this.#settle();
    const seq = this.#path.at(index);
    return seq === undefined ? undefined : this.#nodes[seq];
  }

  /** Index on the path of the newest entry that matches; -1 if none does. Visits only the entries after it. */
  findLastIndex(matches: (logged: LoggedEntry) => boolean): number {
    this.#settle();
    return this.#path.findLastIndex((seq) => {
      const logged = this.#nodes[seq];
      return logged !== undefined && matches(logged);
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

  /** The entry of the log with this id, on the path or not. */
  find(id: EntryId): LoggedEntry | undefined {
    const seq = this.#seqById.get(id);
    return seq === undefined ? undefined : this.#nodes[seq];
  }

  /** Number of the log's tips on other branches. */
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
    if (!this.#canBeOnPath(entry)) return "aside";
    const step = this.#continues(entry, seq) ? "extended" : "switched";
    this.#tips.push(seq);
    if (step === "switched") this.#stale = true;
    else if (!this.#stale) this.#addToPath(entry, seq);
    return this.#stale ? "switched" : step;
  }

  #entryAt(seq: number | undefined): Entry | undefined {
    return seq === undefined ? undefined : this.#nodes[seq]?.entry;
  }

  #holds(seq: number): boolean {
    const entry = this.#entryAt(seq);
    return entry !== undefined && this.#canBeOnPath(entry) && !this.#aside.has(seq);
  }

  #canBeOnPath(entry: Entry): boolean {
    if (entry.sidechain !== this.#isSide || entry.kind === "other") return false;
    return entry.kind !== "edit" || entry.edit.type !== "origin";
  }

  /** Whether the path with this entry appended equals the path that resolving would give. */
  #continues(entry: Entry, seq: number): boolean {
    const last = this.#tips.at(-1);
    if (last === undefined) return true;
    if (entry.parent === undefined && entry.logicalParent === undefined) return true;
    if (entry.parent === this.#entryAt(last)?.id && !(entry.kind === "assistant" && this.#bringsIn(entry))) return true;
    if (this.#stale && !isResultsOnly(entry)) return false;
    this.#settle();
    if (this.#answersPathCalls(entry)) {
      if (this.#parentTip(entry) !== last) this.#joinedBehind.set(seq, last);
      return true;
    }
    if (entry.kind === "assistant" && this.#bringsIn(entry)) return false;
    const parent = this.#parentTip(entry);
    if (parent === "root") return false;
    if (parent === "missing") return !this.#isTail;
    return this.#holds(parent) && this.#allStayAfter(parent, seq);
  }

  #answersPathCalls(entry: Entry): boolean {
    if (!isResultsOnly(entry)) return false;
    return entry.blocks.every((block) => block.type === "tool_result" && this.#callAt.has(block.tool_use_id));
  }

  /** Whether the entry would bring entries of another branch onto the path. */
  #bringsIn(entry: AssistantEntry): boolean {
    if (entry.messageId !== undefined && this.#asideReplies.has(entry.messageId)) return true;
    return entry.blocks.some((block) => block.type === "tool_use" && this.#asideResults.has(block.id));
  }

  /**
   * Whether every entry after `parent` stays on the path: it shares a reply with the path up to `parent`, or answers
   * such a reply.
   */
  #allStayAfter(parent: number, added: number): boolean {
    if (this.#holdsByTies) return false;
    const staying = new Set<number>([added]);
    const following: number[] = [];
    for (let at = this.#path.length - 1; at >= 0; at -= 1) {
      const seq = this.#path[at];
      if (seq === undefined || seq <= parent) break;
      if (following.push(seq) > branchLookBackMax) return false;
    }
    const stays = (seq: number | undefined): boolean => seq !== undefined && (seq <= parent || staying.has(seq));
    for (const seq of following.toReversed()) {
      const entry = this.#entryAt(seq);
      if (entry === undefined || !this.#isTiedTo(entry, stays)) return false;
      staying.add(seq);
    }
    return true;
  }

  #isTiedTo(entry: Entry, stays: (seq: number | undefined) => boolean): boolean {
    if (entry.kind === "assistant")
      return entry.messageId !== undefined && this.#hasEarlierPart(entry.messageId, stays);
    if (entry.kind !== "user") return false;
    return entry.blocks.some((block) => block.type === "tool_result" && stays(this.#callAt.get(block.tool_use_id)));
  }

  /** The parts of a reply are written one after the other: an earlier part is near, or there is none. */
  #hasEarlierPart(reply: MessageId, stays: (seq: number) => boolean): boolean {
    const from = Math.max(0, this.#path.length - 2 * branchLookBackMax);
    for (let at = this.#path.length - 1; at >= from; at -= 1) {
      const seq = this.#path[at];
      const entry = this.#entryAt(seq);
      if (seq !== undefined && entry?.kind === "assistant" && entry.messageId === reply && stays(seq)) return true;
    }
    return false;
  }

  #addToPath(entry: Entry, seq: number): void {
    this.#path.push(seq);
    if (entry.kind !== "assistant") return;
    for (const block of entry.blocks) if (block.type === "tool_use") this.#callAt.set(block.id, seq);
  }

  /** Resolves the path if the leaf has moved to another branch. */
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
      if (chosen.has(seq)) this.#addToPath(entry, seq);
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
    for (let at: number | undefined = leaf; at !== undefined; at = this.#previousOnChain(at, chain, onCycle))
      chain.add(at);
    return chain;
  }

  /** The entry before this one on the chain; undefined at its end. */
  #previousOnChain(at: number, chain: ReadonlySet<number>, onCycle: (entry: Entry) => void): number | undefined {
    const entry = this.#entryAt(at);
    if (entry === undefined) return undefined;
    const parent = this.#joinedBehind.get(at) ?? this.#parentTip(entry);
    if (parent === "root") return undefined;
    if (parent !== "missing" && !chain.has(parent)) return parent;
    if (parent !== "missing") onCycle(entry);
    const isUnread = this.#isTail && entry.parent !== undefined;
    return isUnread ? undefined : this.#tipBefore(at, chain);
  }

  /** Adds entries that share a reply with the chain, and results of its calls. */
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

  /** The nearest ancestor that can be on the path. */
  #parentTip(entry: Entry): number | "root" | "missing" {
    // Created only if the parent itself can't be on the path, which is rare: this runs for every entry.
    let passed: Set<Entry> | undefined;
    let at: Entry = entry;
    while (passed?.has(at) !== true) {
      const parent = at.parent ?? at.logicalParent;
      if (parent === undefined) return at.parent === null ? "root" : "missing";
      const seq = this.#seqById.get(parent);
      const next = this.#entryAt(seq);
      if (seq === undefined || next === undefined) return "missing";
      if (this.#canBeOnPath(next)) return seq;
      passed ??= new Set();
      passed.add(at);
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
 * The newest system prompt recorded for the path. Entries that record one are never on the path themselves: they count
 * if they are an ancestor of an entry on the path.
 */
export function findSystemPrompt(path: Path): string | undefined {
  const parentOf = (entry: Entry): Entry | undefined => {
    const parent = entry.parent ?? entry.logicalParent;
    return parent === undefined ? undefined : path.find(parent)?.entry;
  };
  const seen = new Set<Entry>();
  for (const entry of path.entries.toReversed()) {
    for (let at = parentOf(entry); at?.kind === "other" && !seen.has(at); at = parentOf(at)) {
      seen.add(at);
      if (at.systemPrompt !== undefined && at.sidechain === entry.sidechain) return at.systemPrompt;
    }
  }
  return undefined;
}
