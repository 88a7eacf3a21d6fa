import type { ModelRequest } from "../../ports/model-port.ts";
import { type Block, parseBlock } from "../../schema/block.ts";
import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import { isObject, listField, parseJson } from "../../schema/json.ts";
import type { Item } from "../../transcript/item.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { storeError, throwIfFailed } from "../context-error.ts";
import type { SyncOptions } from "../inputs.ts";
import type { SyncReport } from "../outcomes.ts";
import type { ContextParts } from "../context-parts.ts";
import type { Provider } from "../provider-formats.ts";
import type { SessionContext } from "../session-context.ts";
import { appendItems, type SyncHost } from "./append-items.ts";
import type { KnownItem, KnownItems } from "./known-items.ts";
import { HiddenCalls } from "./hidden-calls.ts";
import { JoinedTexts } from "./joined-texts.ts";
import { MessageDigester } from "./message-digester.ts";
import { digestWithoutDistance, MessageReader, type SyncItem } from "./message-reader.ts";
import type { OutgoingMessage } from "./outgoing-list.ts";
import { OutgoingLists } from "./outgoing-lists.ts";
import { parseMessageByProvider } from "./parse-messages.ts";
import { type BranchPlan, planSync, type SyncPlan, type TrimPlan } from "./plan.ts";

type SyncParts = Pick<
  ContextParts<Provider, unknown>,
  "provider" | "known" | "hiddenTools" | "core" | "sessionDeps" | "digester"
>;

/**
 * Takes over the whole message list of a caller, as often as it is handed over: recognises what is known, appends what is
 * new, and makes a branch of what the caller changed.
 *
 *   list ──MessageReader──▶ items ──KnownItems.match──▶ planSync ──▶ branch or trim, if something left ──▶ append the rest
 */
export class ConversationSync {
  readonly #host: SyncHost;
  readonly #known: KnownItems;
  readonly #reader: MessageReader;
  readonly #hidden: HiddenCalls;
  readonly #outgoing = new OutgoingLists();
  readonly #joined: JoinedTexts;
  /** The newest list. */
  #list: { readonly items: readonly SyncItem[]; readonly length: number } | undefined;
  /** What the newest list may end with. */
  #allowedEnding: SyncOptions["ending"];
  /** What was found out about a block of the view, and the item that it was compared with. */
  readonly #compared = new WeakMap<Block, { readonly item: SyncItem; readonly isSame: boolean }>();
  /** The beginning of the last list that was known. Items that are the same objects need not be looked up again. */
  #last: { readonly items: readonly SyncItem[]; readonly matched: readonly KnownItem[] } = { items: [], matched: [] };
  #lineEntries: { readonly line: readonly KnownItem[]; readonly entries: readonly (EntryId | undefined)[] } = {
    line: [],
    entries: [],
  };
  #listsAnnounced = 0;
  /** The number of the list that was read last. */
  #listRead = 0;

  constructor(parts: SyncParts, host: Omit<SyncHost, "core" | "uuid">) {
    const { core, sessionDeps, known, provider, hiddenTools } = parts;
    const { digester = new MessageDigester(core.deps, parseMessageByProvider[provider]) } = parts;
    this.#host = { ...host, core, uuid: sessionDeps.uuid };
    this.#known = known;
    const findJoined = (digest: string): readonly string[] | undefined => this.#joined.find(digest);
    this.#reader = new MessageReader(digester, findJoined);
    const entries = hiddenTools.size === 0 ? [] : core.session.fold.path.everyBranch;
    this.#hidden = new HiddenCalls(hiddenTools, entries);
    this.#joined = new JoinedTexts(this.#hidden, (text) => this.#reader.digest("assistant", { type: "text", text }));
    for (const entry of entries) this.#joined.add(entry);
  }

  /**
   * Reserves this list's turn. Call the returned function to apply it. `unchanged` refers to the list announced before; it is
   * ignored if that one was never applied because its call was aborted.
   */
  announce(
    messages: readonly object[],
    { unchanged = 0, ending }: Pick<SyncOptions, "unchanged" | "ending"> = {},
  ): () => Promise<SyncReport> {
    this.#listsAnnounced += 1;
    const number = this.#listsAnnounced;
    return async () => {
      const isAboutLast = this.#listRead === number - 1;
      this.#listRead = number;
      this.#allowedEnding = ending;
      return await this.#take(messages, isAboutLast ? unchanged : 0);
    };
  }

  async #take(messages: readonly object[], unchanged: number): Promise<SyncReport> {
    this.#catchUp();
    const items = this.#reader.items(messages, unchanged);
    const shown = this.#shownEntries();
    const isShown = ({ entry }: KnownItem): boolean => entry !== undefined && shown().has(entry);
    const plan = planSync({ known: this.#known, matched: await this.#match(items), items, isShown });
    const edit = await this.#takeOver(items, plan);
    this.#list = { items, length: messages.length };
    const added = items.length - plan.from;
    const grown = added > 0 ? "grown" : "same";
    const kind = plan.kind === "onward" ? grown : plan.kind;
    return { kind, known: plan.from, added, left: plan.left.length, ...(edit === undefined ? {} : { edit }) };
  }

  /** If it fails, what has been stored stays known: the same list may be given again. */
  async #takeOver(items: readonly SyncItem[], plan: SyncPlan): Promise<EntryId | undefined> {
    this.#joined.endReply();
    try {
      const edit = await this.#leave(plan);
      if (isMoreOfRound(items, plan.from)) await this.#leaveRepair();
      await appendItems(this.#host, this.#known, { items, from: plan.from });
      await this.#settleHidden();
      const record = this.#known.record();
      if (record !== undefined) throwIfFailed(await this.#session.append(record));
      this.#known.markRecorded();
      return edit;
    } finally {
      this.#readAll();
    }
  }

  /** What the next request ends with. A list that only has blocks of unknown kinds behind the user's words ends with a reply too. */
  get ending(): "user" | "reply" {
    return this.#allowedEnding === "any" && this.#list?.items.at(-1)?.role === "assistant" ? "reply" : "user";
  }

  /**
   * The view in the messages of the newest list: those that nothing was done to, by their index, and what the context wrote
   * in place of the others. Undefined without a list, or if the view does not follow its order.
   */
  outgoing(
    request: Pick<ModelRequest, "messages" | "breakpoints"> | undefined,
  ): readonly OutgoingMessage[] | undefined {
    this.#catchUp();
    const { path, sources, projection } = this.#session.fold;
    const { line } = this.#known;
    const list = this.#list;
    if (list === undefined || line.length < list.items.length) return undefined;
    let withoutThinking: ReadonlySet<EntryId> | undefined;
    return this.#outgoing.next({
      ...list,
      messages: request?.messages ?? [],
      breakpoints: request?.breakpoints ?? [],
      sources,
      entries: this.#listEntries(list.items.length),
      isSame: (block, item) => this.#isSame(block, item),
      isSummary: (entry) => {
        const found = path.find(entry)?.entry;
        return found?.kind === "user" && found.summary;
      },
      isWithoutThinking: (entry) => (withoutThinking ??= findEntriesWithoutThinking(projection.items)).has(entry),
    });
  }

  /** The entries of the first items of the line. Those of items that were there before are not looked up again. */
  #listEntries(length: number): readonly (EntryId | undefined)[] {
    const line = this.#known.line.slice(0, length);
    const { line: lineBefore, entries: entriesBefore } = this.#lineEntries;
    let same = 0;
    while (same < lineBefore.length && line[same] === lineBefore[same]) same += 1;
    const entries = [...entriesBefore.slice(0, same), ...line.slice(same).map(({ entry }) => entry)];
    this.#lineEntries = { line, entries };
    return entries;
  }

  /** Both stay the same objects from one list to the next, so that most are compared once. */
  #isSame(block: Block, item: SyncItem): boolean {
    const known = this.#compared.get(block);
    if (known?.item === item) return known.isSame;
    const isSame = digestWithoutDistance(this.#reader.digest(item.role, block)) === digestWithoutDistance(item.digest);
    this.#compared.set(block, { item, isSame });
    return isSame;
  }

  get #session(): SessionContext["session"] {
    return this.#host.core.session;
  }

  /** Takes note of what other calls have appended since the last sync: replies above all. */
  #catchUp(): void {
    const { path } = this.#session.fold;
    const known = this.#known;
    // An undo or a rewind may have left the end of what is known.
    while (known.tip !== known.root && this.#isAside(known.tip)) known.moveTo(known.line.slice(0, -1));
    const from = path.findLastIndex(({ end }) => end <= known.readTo) + 1;
    let before = from === 0 ? undefined : path.at(from - 1)?.entry;
    let reply: Entry | undefined;
    for (const { entry } of path.loggedFrom(from)) {
      const items = [...this.#entryItems(entry)];
      this.#joined.add(entry);
      if (items.length > 0 && isSameReply(reply, entry)) known.joinTip();
      else if (items.length > 0 && before?.id !== undefined) known.tip.behind = before.id;
      for (const [nth, item] of items.entries())
        known.add({ ...item, entry: entry.id, behind: nth === items.length - 1 ? entry.id : undefined });
      // Thinking belongs to the reply that it begins.
      if (!isOnlyThinking(entry)) before = entry;
      if (items.length > 0) reply = entry;
    }
    this.#readAll();
  }

  /** Edits since the last item belong before whatever comes next. */
  #readAll(): void {
    const { tip, root } = this.#known;
    if (tip !== root && !this.#isRepaired()) tip.behind = this.#session.leaf;
    this.#known.readTo = this.#session.fold.path.at(-1)?.end ?? 0;
  }

  /** When a session is opened, its open calls are settled as interrupted. */
  #isRepaired(): boolean {
    const { path } = this.#session.fold;
    const { behind } = this.#known.tip;
    const from = typeof behind === "string" ? path.findLastIndex(({ entry }) => entry.id === behind) : -1;
    const later = from === -1 ? [] : path.loggedFrom(from + 1);
    return later.some(({ entry }) => entry.kind === "edit" && entry.edit.type === "repair");
  }

  /** A hidden call that was cut off has no result to wait for. */
  async #settleHidden(): Promise<void> {
    const { openCalls } = this.#session.fold;
    if (openCalls.size > 0 && openCalls.values().every((id) => this.#hidden.has(id)))
      throwIfFailed(await this.#host.core.conversation.line.settle());
  }

  /** The caller has the results after all: it was only this process that ended. */
  async #leaveRepair(): Promise<void> {
    if (!this.#isRepaired()) return;
    const branched = await this.#host.core.view.branch({ behind: this.#known.tip.behind ?? null, before: undefined });
    if (branched.kind === "failed") throw storeError(branched);
  }

  #isAside({ entry }: KnownItem): boolean {
    const { path } = this.#session.fold;
    return entry !== undefined && path.find(entry) !== undefined && !path.has(entry);
  }

  *#entryItems(entry: Entry): Generator<{ readonly digest: string; readonly toolUse: ToolUseId | undefined }> {
    if (entry.kind !== "user" && entry.kind !== "assistant") return;
    const isSaid = entry.kind === "user" ? !entry.meta && !entry.summary : !entry.synthetic;
    for (const block of isSaid ? entry.blocks : []) {
      if (isThinking(block) || isEmptyText(block) || this.#hidden.holds(block)) continue;
      const distance = block.type === "tool_result" ? this.#known.distance(block.tool_use_id) : undefined;
      const toolUse = block.type === "tool_use" ? block.id : undefined;
      yield { digest: this.#reader.digest(entry.kind, block, distance), toolUse };
    }
  }

  /** A reply whose secrets were redacted comes back with them. */
  async #match(items: readonly SyncItem[]): Promise<readonly KnownItem[]> {
    const { items: itemsBefore, matched: matchedBefore } = this.#last;
    const { line } = this.#known;
    let same = 0;
    while (same < matchedBefore.length && items[same] === itemsBefore[same] && line[same] === matchedBefore[same])
      same += 1;
    for (;;) {
      const matched = this.#known.match(items, same);
      this.#last = { items: items.slice(0, matched.length), matched };
      const item = items[matched.length];
      const redacted = item === undefined ? undefined : await this.#redactedDigest(item);
      const before = matched.at(-1) ?? this.#known.root;
      const next = redacted === undefined ? undefined : before.next.get(redacted);
      if (item === undefined || next === undefined) return matched;
      before.next.set(item.digest, next);
    }
  }

  async #redactedDigest({ role, block }: SyncItem): Promise<string | undefined> {
    const { redaction } = this.#host.core.deps;
    if (redaction === undefined || role !== "assistant") return undefined;
    const draft = await redaction.draft({ type: role, message: { content: [block] } });
    const json = parseJson(JSON.stringify(draft));
    const [redacted] = listField(isObject(json) ? json["message"] : undefined, "content");
    return redacted === undefined ? undefined : this.#reader.digest(role, parseBlock(redacted));
  }

  /** Takes out of the conversation what the list lacks. */
  async #leave(plan: SyncPlan): Promise<EntryId | undefined> {
    switch (plan.kind) {
      case "onward":
        return undefined;
      case "branched": {
        const edit = this.#isBehindBoundary(plan) ? await this.#snip(plan.left) : await this.#branch(plan);
        this.#known.moveTo(plan.stay);
        return edit;
      }
      case "trimmed": {
        const [edit, summary] = plan.lead.length === 0 ? [await this.#snip(plan.left)] : await this.#replaceBy(plan);
        this.#known.moveTo(plan.stay);
        for (const { digest } of plan.lead)
          this.#known.add({ digest, entry: summary, toolUse: undefined, behind: undefined });
        this.#known.copy(plan.kept);
        return edit;
      }
    }
  }

  /** The entries in the view, found when they are needed. */
  #shownEntries(): () => ReadonlySet<EntryId> {
    let shown: ReadonlySet<EntryId> | undefined;
    return () => (shown ??= new Set(this.#session.fold.projection.items.map(({ entry }) => entry)));
  }

  /** A branch would leave the boundary, and what it summarised would have to be summarised again. */
  #isBehindBoundary({ at, stay, left }: BranchPlan): boolean {
    if (at !== (this.#known.line[stay.length - 1] ?? this.#known.root)) return false;
    const { path, projection } = this.#session.fold;
    const boundary = projection.boundaries.at(-1)?.id;
    const boundaryAt = boundary === undefined ? undefined : path.find(boundary)?.start;
    const branchAt = typeof at.behind === "string" ? path.find(at.behind)?.start : undefined;
    if (boundaryAt === undefined || (branchAt !== undefined && branchAt > boundaryAt)) return false;
    const shown = this.#shownEntries()();
    return left.length > 0 && left.every(({ entry }) => entry !== undefined && shown.has(entry));
  }

  async #branch({ at, left }: BranchPlan): Promise<EntryId | undefined> {
    const branched = await this.#host.core.view.branch({ behind: at.behind ?? null, before: left[0]?.entry });
    if (branched.kind === "failed") throw storeError(branched);
    return branched.entries.at(-1);
  }

  /** Thinking leaves with what follows it. */
  async #snip(left: readonly KnownItem[]): Promise<EntryId | undefined> {
    if (left.length === 0) return undefined;
    const { path } = this.#session.fold;
    const shown = this.#shownEntries()();
    const leaving = new Set(left.flatMap(({ entry }) => (entry !== undefined && shown.has(entry) ? [entry] : [])));
    const entries: EntryId[] = [];
    let thinking: EntryId[] = [];
    for (const entry of path.entries) {
      if (entry.id === undefined) continue;
      if (leaving.has(entry.id)) entries.push(...thinking, entry.id);
      thinking = isOnlyThinking(entry) ? [...thinking, entry.id] : [];
    }
    if (entries.length === 0) return undefined;
    const edited = await this.#host.core.view.trim({ kind: "dropped", entries });
    if (edited.kind === "failed") throw storeError(edited);
    return edited.entries[0];
  }

  /** The caller's own compaction: what it kept stays, and its texts replace the rest. Returns the boundary and its summary. */
  async #replaceBy({ lead, kept }: TrimPlan): Promise<readonly EntryId[]> {
    const { items } = this.#session.fold.projection;
    const summary = lead.flatMap(({ block }) => (block.type === "text" ? [block.text] : [])).join("\n\n");
    let headAt = items.findIndex(({ entry }) => entry === kept[0]?.entry);
    const isThinkingAt = (at: number): boolean => items[at]?.blocks.every(isThinking) === true;
    while (headAt > 0 && isThinkingAt(headAt - 1)) headAt -= 1;
    const [head, tail] = [items[headAt]?.entry, items.at(-1)?.entry];
    if (head === undefined || tail === undefined) throw new Error("a kept item is not in the view");
    const edited = await this.#host.core.view.trim({ kind: "summarised", summary, kept: { head, tail } });
    if (edited.kind === "failed") throw storeError(edited);
    return edited.entries;
  }
}

/** Does the list go on with a result, or with another part of the reply that it is known to have the beginning of? */
function isMoreOfRound(items: readonly SyncItem[], from: number): boolean {
  const [before, next] = [items[from - 1], items[from]];
  return next?.block.type === "tool_result" || (next?.role === "assistant" && next.message === before?.message);
}

const isSameReply = (before: Entry | undefined, entry: Entry): boolean =>
  before?.kind === "assistant" &&
  entry.kind === "assistant" &&
  before.messageId !== undefined &&
  before.messageId === entry.messageId;

/** Entries of replies whose thinking right before them was left out. */
function findEntriesWithoutThinking(items: readonly Item[]): ReadonlySet<EntryId> {
  const entries = new Set<EntryId>();
  let reply: Item["messageId"];
  for (const { entry, thinking, blocks, messageId } of items) {
    const hasThought = blocks.some(isThinking);
    const isLeftOut = thinking === "left-out" && hasThought;
    if (!blocks.every(isThinking) && (isLeftOut || (reply !== undefined && reply === messageId))) entries.add(entry);
    if (hasThought || messageId !== reply) reply = isLeftOut ? messageId : undefined;
  }
  return entries;
}

const isOnlyThinking = (entry: Entry | undefined): boolean =>
  entry?.kind === "assistant" && entry.blocks.length > 0 && entry.blocks.every(isThinking);
