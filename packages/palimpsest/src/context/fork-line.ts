import {
  type MessagePlace,
  type Breakpoint,
  type BreakpointInput,
  canBeMarked,
  comparePlaces,
  planBreakpoints,
} from "../cache/breakpoint.ts";
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
  /** The parent's next request, in a list of its own: the parent goes on. */
  readonly messages: readonly Message[];
  readonly usedTokens: Tokens;
  readonly fixedTokens: Tokens;
}

/** The line as it is behind one of its entries: all that later entries can change. */
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
 * that continues at an earlier one takes back everything behind that, as a branch does in a log.
 */
export class ForkLine implements Line {
  readonly fixedTokens: Tokens;
  /** What it adds to its parent's is short, and its replies have their own limits. */
  readonly uncountedTokens = tokens(0);
  /** The last block that the fork shares with its parent. */
  common: MessagePlace | undefined;
  commonBlocks: number;
  readonly editable = undefined;
  readonly doubtedUsage = undefined;
  readonly doubtedCounter = undefined;
  readonly #messages: Message[];
  #passed: LineSnapshot[];
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
    this.#passed = [this.#standing(null)];
  }

  get usedTokens(): Tokens {
    return tokens(this.#usedTokens);
  }

  get leaf(): EntryId | null {
    return this.#passed.at(-1)?.entry ?? null;
  }

  /** What the fork said and was told beyond its parent. */
  get said(): readonly Message[] {
    if (this.common === undefined) return [...this.#messages];
    const { message, at } = this.common;
    return this.#messages
      .slice(message)
      .map(({ role, content }, nth) => ({ role, content: nth === 0 ? content.slice(at + 1) : content }))
      .filter(({ content }) => content.length > 0);
  }

  /** Its parent's last request showed everything that it begins with. */
  unsentRounds(): readonly [] {
    return [];
  }

  snapshot(): readonly Message[] {
    const messages = [...this.#messages];
    for (const answer of this.#answers()) appendMessage(messages, { role: "user", content: [answer] });
    return messages;
  }

  next(): NextRequest {
    return { kind: "sendable", messages: this.#messages, withheld: new Set() };
  }

  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return Promise.resolve({ kind: "appended", entries: drafts.map((draft) => this.#take(draft)) });
  }

  /** Nobody else notes anything in it. */
  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome> {
    return this.append({ ...draft, parentUuid: behind });
  }

  settle(): Promise<AppendEntriesOutcome> {
    const content = this.#answers();
    if (content.length === 0) return Promise.resolve({ kind: "appended", entries: [] });
    const id = this.#nextId();
    this.#add({ role: "user", content });
    this.#passed.push(this.#standing(id));
    return Promise.resolve({ kind: "appended", entries: [id] });
  }

  /** From its own requests alone: the parent finds out by itself. */
  leaveOut(part: LeftOutPart): Promise<LeaveOutOutcome> {
    const kept = this.#messages.map((message) => omitFromMessage(message, part));
    const count = kept.filter((message, at) => message !== this.#messages[at]).length;
    if (count === 0) return Promise.resolve({ kind: "nothing" });
    const without = (standing: LineSnapshot): LineSnapshot => {
      const last = standing.last === undefined ? undefined : omitFromMessage(standing.last, part);
      const before = standing.messages - 1;
      const saved =
        estimateMessages([...this.#messages.slice(0, Math.max(0, before)), standing.last]) -
        estimateMessages([...kept.slice(0, Math.max(0, before)), last]);
      return { ...standing, last, usedTokens: Math.max(this.fixedTokens, standing.usedTokens - saved) };
    };
    const { usedTokens } = without(this.#standing(this.leaf));
    this.#passed = this.#passed.map((standing) => without(standing));
    this.#messages.splice(0, Infinity, ...kept);
    this.#usedTokens = usedTokens;
    if (this.common !== undefined) {
      const { message, at } = this.common;
      // Only thinking goes without a stub, and it stands in front.
      const shorter = (this.#passed[0]?.last?.content.length ?? 0) - 1;
      this.common = { part: "messages", message, at: Math.min(at, Math.max(0, shorter)) };
      this.commonBlocks = countBlocks(kept.slice(0, message)) + this.common.at + 1;
    }
    return Promise.resolve({ kind: "left-out", count, edits: [] });
  }

  endTurn(): Promise<AppendEntriesOutcome> {
    return Promise.resolve({ kind: "appended", entries: [] });
  }

  #answers(): readonly Block[] {
    return [...this.#nameByOpenCall.keys()].map((toolUse) => syntheticResult(toolUse));
  }

  #nextId(): EntryId {
    this.#serial += 1;
    return entryId(`fork-${this.#serial}`);
  }

  #take({ parentUuid = this.leaf, ...draft }: Draft): EntryId {
    if (parentUuid !== this.leaf) this.#cutBackTo(parentUuid);
    const id = this.#nextId();
    const entry = parseDraft(JSON.stringify({ ...draft, uuid: id }));
    const item = toItem(entry, { at: this.#passed.length, origin: "ours" });
    if (item !== undefined) this.#add({ role: item.role, content: item.blocks });
    else if (entry.kind === "edit") this.#edit(entry.edit);
    this.#passed.push(this.#standing(id));
    return id;
  }

  #standing(entry: EntryId | null): LineSnapshot {
    return {
      entry,
      messages: this.#messages.length,
      last: this.#messages.at(-1),
      nameByOpenCall: new Map(this.#nameByOpenCall),
      usedTokens: this.#usedTokens,
    };
  }

  #cutBackTo(entry: EntryId | null): void {
    const at = this.#passed.findLastIndex((passed) => passed.entry === entry);
    const standing = this.#passed[at];
    if (standing === undefined) throw new Error(`the fork has no entry ${entry}`);
    this.#passed.splice(at + 1);
    this.#messages.splice(standing.messages);
    if (standing.last !== undefined) this.#messages[standing.messages - 1] = standing.last;
    this.#nameByOpenCall = new Map(standing.nameByOpenCall);
    this.#usedTokens = standing.usedTokens;
  }

  /** The loop makes no other edit of a line than to offload what a round brought. */
  #edit(edit: Edit): void {
    if (edit.type !== "offload") throw new Error(`a fork's line has no ${edit.type}`);
    const shownByToolUse = new Map(edit.results.map(({ toolUse, shown }) => [toolUse, shown]));
    const last = this.#messages.at(-1);
    // Behind a reply everything is new: messages before the last one were sent, and stay as they are.
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
      .flatMap((block) => this.#asSent(block) ?? []);
    if (sent.length === 0) return;
    for (const block of sent) this.#usedTokens += estimateBlock(block);
    appendMessage(this.#messages, { role, content: sent });
  }

  /** Keeps count of open calls. */
  #asSent(block: Block): Block | undefined {
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

/** Neighbours of one role are one turn, as in every request. */
function appendMessage(messages: Message[], { role, content }: Message): void {
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content });
  else messages[messages.length - 1] = { role, content: [...last.content, ...content] };
}

interface ForkBreakpointOptions {
  /** The last place that the fork has in common with its parent and its siblings; undefined where it has none. */
  readonly common: MessagePlace | undefined;
  readonly cacheWrite: "skip" | "write";
}

/**
 * A fork is marked where the parent wrote, so that it reads that, and, if it may write, at the end of what it shares with
 * its siblings and at its own end. What the common plan would mark besides gives way.
 */
export function forkBreakpoints(
  input: BreakpointInput,
  { common, cacheWrite }: ForkBreakpointOptions,
): readonly Breakpoint[] {
  const planned = planBreakpoints(input);
  const header = planned.filter(({ place }) => place.part === "system").slice(0, 1);
  const held = input.written.toSorted(comparePlaces).at(-1);
  const newest = planned.flatMap(({ place }) => (place.part === "messages" ? [place] : [])).at(-1);
  const own = cacheWrite === "skip" ? [] : [common, newest];
  const places = [held, ...own].filter((place) => place !== undefined).filter((place) => isMarkable(input, place));
  const distinct = places.filter((place, at) => places.findIndex((one) => comparePlaces(one, place) === 0) === at);
  const lifetime = input.lifetimes.rolling;
  return [...header, ...distinct.toSorted(comparePlaces).map((place) => ({ place, lifetime }))];
}

function isMarkable({ messages }: BreakpointInput, { message, at }: MessagePlace): boolean {
  const block = messages[message]?.content[at];
  return block !== undefined && canBeMarked(block);
}
