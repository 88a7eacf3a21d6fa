import type { MessagePlace } from "../cache/breakpoint.ts";
import type { Block, Message } from "../schema/block.ts";
import { type EntryId, entryId, tokens, type Tokens, type ToolUseId } from "../schema/brand.ts";
import type { Edit, LeftOutPart } from "../schema/edit.ts";
import { estimateBlock, estimateShown } from "../tokens/estimate-block.ts";
import { type Draft, parseDraft } from "../transcript/draft.ts";
import type { NextRequest } from "../transcript/fold.ts";
import { toItem } from "../transcript/item.ts";
import { omitFromMessage } from "../transcript/leave-out-draft.ts";
import { syntheticResult } from "../transcript/repair.ts";
import { resultBlock, toWireBlock, isEmptyText, isSendable } from "../transcript/to-wire-block.ts";
import type { AppendEntriesOutcome } from "../session/session.ts";
import type { Line, LeaveOutOutcome } from "./line.ts";

/** Where a fork begins. Messages are shared with the parent, so that their bytes are the same. */
export interface ForkPoint {
  /** The messages of the parent's next request, in a copied list: the parent's own list changes later. */
  readonly messages: readonly Message[];
  readonly usedTokens: Tokens;
  readonly fixedTokens: Tokens;
}

/** The state of the line after one of its entries: everything that later entries can change. */
interface LineSnapshot {
  readonly entry: EntryId | null;
  readonly messages: number;
  /** Only the last message can still grow. */
  readonly last: Message | undefined;
  readonly nameByOpenCall: ReadonlyMap<ToolUseId, string>;
  readonly usedTokens: number;
}

/**
 * A line in memory: it begins with what the parent would send, and nothing of it reaches the parent's transcript. An entry
 * that continues an earlier one removes everything after that one, like a branch in a log.
 */
export class ForkLine implements Line {
  readonly fixedTokens: Tokens;
  /** Zero: what a fork adds is short, and its replies have their own limits. */
  readonly uncountedTokens = tokens(0);
  /** The last block that the fork shares with its parent. */
  common: MessagePlace | undefined;
  commonBlocks: number;
  readonly editable = undefined;
  readonly doubtedUsage = undefined;
  readonly doubtedCounter = undefined;
  readonly #messages: Message[];
  #snapshots: LineSnapshot[];
  #nameByOpenCall = new Map<ToolUseId, string>();
  #usedTokens: number;
  #serial = 0;

  constructor({ messages, usedTokens, fixedTokens }: ForkPoint) {
    this.#messages = [...messages];
    const last = messages.at(-1);
    this.common =
      last === undefined ? undefined : { part: "messages", message: messages.length - 1, at: last.content.length - 1 };
    this.commonBlocks = countBlocks(messages);
    this.#usedTokens = usedTokens;
    this.fixedTokens = fixedTokens;
    this.#snapshots = [this.#takeSnapshot(null)];
  }

  get usedTokens(): Tokens {
    return tokens(this.#usedTokens);
  }

  get leaf(): EntryId | null {
    return this.#snapshots.at(-1)?.entry ?? null;
  }

  /** The messages that the fork has beyond its parent's. */
  get said(): readonly Message[] {
    if (this.common === undefined) return [...this.#messages];
    const { message, at } = this.common;
    return this.#messages
      .slice(message)
      .map(({ role, content }, nth) => ({ role, content: nth === 0 ? content.slice(at + 1) : content }))
      .filter(({ content }) => content.length > 0);
  }

  /** None: the parent's last request showed everything that the fork begins with. */
  unsentRounds(): readonly [] {
    return [];
  }

  snapshot(): readonly Message[] {
    const messages = [...this.#messages];
    for (const answer of this.#syntheticResults()) appendMessage(messages, { role: "user", content: [answer] });
    return messages;
  }

  next(): NextRequest {
    return { kind: "sendable", messages: this.#messages, withheld: new Set() };
  }

  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return Promise.resolve({ kind: "appended", entries: drafts.map((draft) => this.#appendDraft(draft)) });
  }

  /** A fork has no settings that would have to be appended again. */
  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome> {
    return this.append({ ...draft, parentUuid: behind });
  }

  settle(): Promise<AppendEntriesOutcome> {
    const content = this.#syntheticResults();
    if (content.length === 0) return Promise.resolve({ kind: "appended", entries: [] });
    const id = this.#nextId();
    this.#add({ role: "user", content });
    this.#snapshots.push(this.#takeSnapshot(id));
    return Promise.resolve({ kind: "appended", entries: [id] });
  }

  /** Applies to the fork's requests only: the parent gets its own refusal. */
  leaveOut(part: LeftOutPart): Promise<LeaveOutOutcome> {
    const kept = this.#messages.map((message) => omitFromMessage(message, part));
    const count = kept.filter((message, at) => message !== this.#messages[at]).length;
    if (count === 0) return Promise.resolve({ kind: "nothing" });
    const withoutPart = (snapshot: LineSnapshot): LineSnapshot => {
      const last = snapshot.last === undefined ? undefined : omitFromMessage(snapshot.last, part);
      const before = snapshot.messages - 1;
      const saved =
        estimateMessages([...this.#messages.slice(0, Math.max(0, before)), snapshot.last]) -
        estimateMessages([...kept.slice(0, Math.max(0, before)), last]);
      return { ...snapshot, last, usedTokens: Math.max(this.fixedTokens, snapshot.usedTokens - saved) };
    };
    const { usedTokens } = withoutPart(this.#takeSnapshot(this.leaf));
    this.#snapshots = this.#snapshots.map((snapshot) => withoutPart(snapshot));
    this.#messages.splice(0, Infinity, ...kept);
    this.#usedTokens = usedTokens;
    if (this.common !== undefined) {
      const { message, at } = this.common;
      // Only thinking is removed without a stub, and it comes first in a message.
      const lastBlock = (this.#snapshots[0]?.last?.content.length ?? 0) - 1;
      this.common = { part: "messages", message, at: Math.min(at, Math.max(0, lastBlock)) };
      this.commonBlocks = countBlocks(kept.slice(0, message)) + this.common.at + 1;
    }
    return Promise.resolve({ kind: "left-out", count, edits: [] });
  }

  endTurn(): Promise<AppendEntriesOutcome> {
    return Promise.resolve({ kind: "appended", entries: [] });
  }

  #syntheticResults(): readonly Block[] {
    return [...this.#nameByOpenCall.keys()].map((toolUse) => syntheticResult(toolUse));
  }

  #nextId(): EntryId {
    this.#serial += 1;
    return entryId(`fork-${this.#serial}`);
  }

  #appendDraft({ parentUuid = this.leaf, ...draft }: Draft): EntryId {
    if (parentUuid !== this.leaf) this.#rollBackTo(parentUuid);
    const id = this.#nextId();
    const entry = parseDraft(JSON.stringify({ ...draft, uuid: id }));
    const item = toItem(entry, { at: this.#snapshots.length, origin: "ours" });
    if (item !== undefined) this.#add({ role: item.role, content: item.blocks });
    else if (entry.kind === "edit") this.#edit(entry.edit);
    this.#snapshots.push(this.#takeSnapshot(id));
    return id;
  }

  #takeSnapshot(entry: EntryId | null): LineSnapshot {
    return {
      entry,
      messages: this.#messages.length,
      last: this.#messages.at(-1),
      nameByOpenCall: new Map(this.#nameByOpenCall),
      usedTokens: this.#usedTokens,
    };
  }

  #rollBackTo(entry: EntryId | null): void {
    const at = this.#snapshots.findLastIndex((taken) => taken.entry === entry);
    const snapshot = this.#snapshots[at];
    if (snapshot === undefined) throw new Error(`the fork has no entry ${entry}`);
    this.#snapshots.splice(at + 1);
    this.#messages.splice(snapshot.messages);
    if (snapshot.last !== undefined) this.#messages[snapshot.messages - 1] = snapshot.last;
    this.#nameByOpenCall = new Map(snapshot.nameByOpenCall);
    this.#usedTokens = snapshot.usedTokens;
  }

  /** The only edit that the loop makes on a line is the offload of a round's results. */
  #edit(edit: Edit): void {
    if (edit.type !== "offload") throw new Error(`a fork's line has no ${edit.type}`);
    const shownByToolUse = new Map(edit.results.map(({ toolUse, shown }) => [toolUse, shown]));
    const last = this.#messages.at(-1);
    // Only what follows the last reply is new: earlier messages were sent and must not change.
    if (last?.role !== "user") return;
    const content = last.content.map((block) => {
      const shown = block.type === "tool_result" ? shownByToolUse.get(block.tool_use_id) : undefined;
      if (block.type !== "tool_result" || shown === undefined) return block;
      const preview = { ...block, content: shown };
      this.#usedTokens += estimateBlock(preview) - estimateBlock(block);
      return preview;
    });
    this.#messages[this.#messages.length - 1] = { role: "user", content };
  }

  #add({ role, content }: Message): void {
    const sent = content
      .filter((block) => isSendable(block, role) && !isEmptyText(block))
      .flatMap((block) => this.#toSent(block) ?? []);
    if (sent.length === 0) return;
    for (const block of sent) this.#usedTokens += estimateBlock(block);
    appendMessage(this.#messages, { role, content: sent });
  }

  /** The block as it is sent. Also keeps track of open calls. */
  #toSent(block: Block): Block | undefined {
    if (block.type === "tool_use") this.#nameByOpenCall.set(block.id, block.name);
    if (block.type !== "tool_result") return toWireBlock(block);
    const toolName = this.#nameByOpenCall.get(block.tool_use_id) ?? "tool";
    this.#nameByOpenCall.delete(block.tool_use_id);
    return resultBlock(block, { toolName, shown: undefined });
  }
}

const estimateMessages = (messages: readonly (Message | undefined)[]): number =>
  estimateShown(messages.map((message) => message?.content ?? []));

const countBlocks = (messages: readonly Message[]): number =>
  messages.reduce((sum, { content }) => sum + content.length, 0);

/** Adjacent messages of one role are merged, as in every request. */
function appendMessage(messages: Message[], { role, content }: Message): void {
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content });
  else messages[messages.length - 1] = { role, content: [...last.content, ...content] };
}
