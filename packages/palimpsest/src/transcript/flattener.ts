import type { Block, Message, ToolUseBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type {
  CallAnswer,
  CallState,
  MessageGroup,
  LateAnswer,
  BlockInsertion,
  RenderedBlock,
  BlockSwap,
} from "./message-group.ts";
import type { Item } from "./item.ts";
import type { Decision } from "./projection.ts";
import {
  createRepair,
  firstUserLine,
  lacksFirstUser,
  lateResultHeader,
  type Repair,
  syntheticResult,
} from "./repair.ts";
import {
  ResultLooks,
  resultMedia,
  resultPartsText,
  toWireBlock,
  WireIds,
  isEmptyText,
  isSendable,
  isThinking,
  omissionDetail,
} from "./to-wire-block.ts";
import type { ViewWatch } from "./view-watch.ts";

/**
 * Items → request messages, one item at a time: the work for an item depends only on its own size.
 *
 * The messages alternate between user and assistant by construction. An assistant message holds one reply (all entries
 * with its id), or several that no user content separates. The user message after it holds the results of its calls
 * first, in the order of the calls, then everything else in order of arrival. So a result gets its place however late it
 * arrives, and at a sendable point, when every call is answered, nothing before the end can change any more.
 *
 * Thinking is held back (`#held`) until something visible follows it in its reply: a reply that is only thinking never
 * becomes a message, and no message ends in thinking.
 */
export interface FlattenOptions {
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
  /** Brings a call's input into the form of its tool's schema, if the tool is known. */
  readonly normaliseInput?: ((name: string, input: JsonObject) => JsonObject) | undefined;
  readonly watch?: ViewWatch | undefined;
  /** Shared by all flatteners of one log. Absent: the flattener has its own. */
  readonly looks?: ResultLooks;
}

export class Flattener {
  readonly #options: FlattenOptions;
  readonly #looks: ResultLooks;
  readonly #groups: MessageGroup[] = [];
  /** The groups as they are sent. Messages are immutable: a change of the group replaces its message. */
  readonly #messages: Message[] = [];
  readonly #changed = new Set<MessageGroup>();
  readonly #calls = new Map<ToolUseId, CallState>();
  /** Calls without an answer so far. */
  readonly #open = new Set<ToolUseId>();
  /** Open calls that a repair further down the path answers: only if a whole path is flattened again. */
  readonly #awaitingRepair = new Set<ToolUseId>();
  /** Results whose call has not arrived. */
  readonly #orphans = new Map<ToolUseId, CallAnswer>();
  readonly #held = new Map<string, { readonly block: Block; readonly entry: EntryId }[]>();
  /** The ids under which the calls of these messages and their results are sent. */
  readonly wireIds = new WireIds((id) => this.#calls.has(id));
  readonly #repairs: Repair[] = [];
  thinkingLeftOut = 0;

  constructor(options: FlattenOptions) {
    this.#options = options;
    this.#looks = options.looks ?? new ResultLooks();
  }

  /** Unchanged messages are the same objects as before: the cost is what changed. */
  get groups(): readonly Message[] {
    for (const { index, role, content } of this.#changed) this.#messages[index] = { role, content: [...content] };
    this.#changed.clear();
    return this.#messages;
  }

  get sources(): readonly (readonly EntryId[])[] {
    return this.#groups.map(({ sources }) => sources);
  }

  get open(): ReadonlySet<ToolUseId> {
    return this.#open;
  }

  /** Blocks as shown, with the entry each comes from and the index of its message. */
  *shown(): Generator<{ readonly block: Block; readonly entry: EntryId; readonly message: number }> {
    for (const { index, content, sources } of this.#groups)
      for (const [at, block] of content.entries()) {
        const entry = sources[at];
        if (entry !== undefined) yield { block, entry, message: index };
      }
  }

  /** What flattening had to leave out or move so far; a result counts as orphaned until its call arrives. */
  get repairs(): Repair[] {
    const orphans = [...this.#orphans].map(([toolUse, { entry }]) => createRepair("orphan-result", { entry, toolUse }));
    return [...this.#repairs, ...orphans];
  }

  /** `repairs`, plus those that `withSyntheticResults` and `withFirstUser` make. */
  get requestRepairs(): Repair[] {
    const { repairs } = this;
    for (const toolUse of this.#open) repairs.push(createRepair("synthetic-result", { toolUse }));
    if (lacksFirstUser(this.groups)) repairs.push({ kind: "first-user-line", detail: firstUserLine });
    return repairs;
  }

  /** Replies in the last assistant message: further blocks of them would still go into it. */
  get lastReplies(): ReadonlySet<string> {
    return this.#groups.findLast((group) => group.role === "assistant")?.replies ?? new Set();
  }

  toolName(toolUse: ToolUseId): string | undefined {
    return this.#calls.get(toolUse)?.name;
  }

  push(item: Item): void {
    for (const toolUse of this.#awaitingRepair) this.#answerByRepair(toolUse, item.at);
    this.#options.watch?.item(item);
    if (item.role === "assistant") for (const block of item.blocks) this.#pushAssistant(item, block);
    else for (const block of item.blocks) this.#pushUser(item, block);
  }

  /** Shows these results again after an edit decided how they look. */
  decide(results: readonly ToolUseId[]): void {
    for (const toolUse of results) {
      const call = this.#calls.get(toolUse);
      if (call?.late !== undefined) this.#showLate(call, call.late);
      else if (call?.answer === undefined) this.#answerByRepair(toolUse);
      else this.#showAnswer(call, call.answer);
    }
  }

  /** What `decide` would change with these decisions; undefined if it is more than how results look. */
  swapsFor(results: readonly ToolUseId[], decisions: FlattenOptions["decisions"]): readonly BlockSwap[] | undefined {
    const swaps: BlockSwap[] = [];
    for (const toolUse of results) {
      const call = this.#calls.get(toolUse);
      if (call === undefined) continue;
      const { answer, late } = call;
      const group = this.#groups[call.group + 1];
      if (answer === undefined || late !== undefined || group === undefined) return undefined;
      const at = group.answered.indexOf(answer.block.tool_use_id);
      const [before, entry] = [group.content[at], group.sources[at]];
      if (before === undefined || entry === undefined) return undefined;
      swaps.push({ entry, before, after: this.#render(call, answer, decisions).block });
    }
    return swaps;
  }

  /** Applies the path's repairs to calls that nothing else answered. */
  settle(): void {
    for (const toolUse of this.#open) this.#answerByRepair(toolUse);
  }

  /** The messages, with a synthetic answer to every open call. */
  withSyntheticResults(): readonly Message[] {
    const messages = [...this.groups];
    const openByGroup = Map.groupBy(this.#open, (toolUse) => this.#calls.get(toolUse)?.group ?? -1);
    for (const [group, calls] of openByGroup) {
      const { answered, content } = this.#groups[group + 1] ?? { answered: [], content: [] };
      const results = answered.flatMap((toolUse, at) => ({ order: this.#orderOf(toolUse), block: content[at] ?? [] }));
      for (const toolUse of calls)
        results.push({ order: this.#orderOf(toolUse), block: syntheticResult(this.wireIds.wireId(toolUse)) });
      const inOrder = results.toSorted((left, right) => left.order - right.order).flatMap(({ block }) => block);
      messages[group + 1] = { role: "user", content: [...inOrder, ...content.slice(answered.length)] };
    }
    return messages;
  }

  #pushUser(item: Item, block: Block): void {
    if (block.type === "tool_result") return this.#answer({ block, entry: item.entry, at: item.at, by: "tool" });
    const sent = this.#toSent(item, block);
    if (sent !== undefined) this.#appendUser(sent, item.entry);
  }

  /** The block as a request may hold it; undefined if it is left out. Records a repair unless only an empty text is lost. */
  #toSent({ role, entry }: Item, block: Block): Block | undefined {
    const sent = isSendable(block, role) ? toWireBlock(block) : undefined;
    if (sent === undefined) this.#repairs.push({ kind: "block-left-out", entry, detail: omissionDetail(block, role) });
    return sent === undefined || isEmptyText(sent) ? undefined : sent;
  }

  #appendUser(block: Block, entry: EntryId): MessageGroup {
    const group = this.#lastOrNew("user");
    this.#put(group, { block, entry });
    return group;
  }

  #answer(answer: CallAnswer): void {
    const toolUse = answer.block.tool_use_id;
    const call = this.#calls.get(toolUse);
    if (call === undefined && !this.#orphans.has(toolUse)) {
      this.#orphans.set(toolUse, answer);
    } else if (call !== undefined && call.answer === undefined) {
      this.#place(call, answer);
    } else if (call?.answer?.by === "repair" && call.late === undefined) {
      this.#appendLate(answer, call);
    } else {
      this.#repairs.push(createRepair("duplicate-result", { entry: answer.entry, toolUse }));
    }
  }

  #place(call: CallState, answer: CallAnswer): void {
    const toolUse = answer.block.tool_use_id;
    this.#open.delete(toolUse);
    this.#awaitingRepair.delete(toolUse);
    call.answer = answer;
    const group = this.#groups[call.group + 1] ?? this.#newGroup("user");
    const later = group.answered.findIndex((other) => this.#orderOf(other) > call.order);
    const at = later === -1 ? group.answered.length : later;
    group.answered.splice(at, 0, toolUse);
    this.#put(group, { ...this.#render(call, answer), entry: answer.entry, at });
  }

  #orderOf(toolUse: ToolUseId): number {
    return this.#calls.get(toolUse)?.order ?? 0;
  }

  #showAnswer(call: CallState, answer: CallAnswer): void {
    const group = this.#groups[call.group + 1];
    const at = group?.answered.indexOf(answer.block.tool_use_id) ?? -1;
    if (group !== undefined && at !== -1) this.#swap({ group, at }, this.#render(call, answer));
  }

  /** A repair answers the calls before it from its position on: whatever follows it came after the synthetic answer. */
  #answerByRepair(toolUse: ToolUseId, before: number = Infinity): void {
    const call = this.#calls.get(toolUse);
    if (call === undefined || call.answer !== undefined) return;
    const repair = this.#options.decisions
      .get(toolUse)
      ?.find(({ kind, at }) => kind === "repair" && at > call.at && at < before);
    if (repair === undefined) return;
    this.#place(call, {
      block: syntheticResult(toolUse, repair.shown),
      entry: repair.by,
      at: repair.at,
      by: "repair",
    });
  }

  #put(group: MessageGroup, { block, instead, entry, at = group.content.length }: BlockInsertion): void {
    group.content.splice(at, 0, block);
    group.sources.splice(at, 0, entry);
    this.#changed.add(group);
    this.#options.watch?.shown(block, entry, instead);
  }

  #swap({ group, at }: { readonly group: MessageGroup; readonly at: number }, { block, instead }: RenderedBlock): void {
    const before = group.content[at];
    const entry = group.sources[at];
    if (before === undefined || entry === undefined) return;
    group.content[at] = block;
    this.#changed.add(group);
    this.#options.watch?.hidden(before, entry);
    this.#options.watch?.shown(block, entry, instead);
  }

  #render(call: CallState, answer: CallAnswer, decisionsByCall = this.#options.decisions): RenderedBlock {
    const toolUse = answer.block.tool_use_id;
    const decisions = answer.by === "repair" ? undefined : decisionsByCall.get(toolUse);
    // A decision from before both was about an earlier call with the same id, which an edit has removed from the view.
    const since = Math.min(call.at, answer.at);
    const decision = decisions?.findLast(({ kind, at }) => kind !== "repair" && at > since);
    const id = this.wireIds.wireId(toolUse);
    const block = this.#looks.show(answer.block, { id, toolName: call.name, shown: decision?.shown });
    return decision === undefined ? { block } : { block, instead: { of: answer.block, since: decision.at } };
  }

  /** A sent request already holds a synthetic answer, so the real one is appended: history must not change. */
  #appendLate(answer: CallAnswer, call: CallState): void {
    const toolUse = answer.block.tool_use_id;
    const group = this.#appendUser({ type: "text", text: lateResultHeader(call.name, toolUse) }, answer.entry);
    const { block, media } = this.#lateParts(call, answer);
    this.#appendUser(block, answer.entry);
    for (const part of media) this.#appendUser(part, answer.entry);
    call.late = { answer, group, block, media: media.length };
    this.#repairs.push(createRepair("late-result", { entry: answer.entry, toolUse }));
  }

  #showLate(call: CallState, late: LateAnswer): void {
    const { block, media } = this.#lateParts(call, late.answer);
    const at = late.group.content.indexOf(late.block);
    this.#swap({ group: late.group, at }, { block });
    for (; late.media > media.length; late.media -= 1) this.#remove(late.group, at + 1);
    late.block = block;
  }

  #remove(group: MessageGroup, at: number): void {
    const [block] = group.content.splice(at, 1);
    const [entry] = group.sources.splice(at, 1);
    this.#changed.add(group);
    if (block !== undefined && entry !== undefined) this.#options.watch?.hidden(block, entry);
  }

  /** A late result's text, and the images and documents after it: none if an edit replaced the result by a text. */
  #lateParts(call: CallState, answer: CallAnswer): { readonly block: Block; readonly media: readonly Block[] } {
    const { block: rendered } = this.#render(call, answer);
    if (rendered.type !== "tool_result") return { block: rendered, media: [] };
    const { content = "" } = rendered;
    const text = typeof content === "string" ? content : resultPartsText(content);
    return { block: { type: "text", text }, media: resultMedia(rendered) };
  }

  #pushAssistant(item: Item, block: Block): void {
    const sent = this.#toSent(item, block);
    if (sent === undefined) return;
    if (isThinking(sent)) this.#hold(item, sent);
    else if (block.type === "tool_use" && sent.type === "tool_use") this.#call(item, { block, sent });
    else this.#reply(item, sent);
  }

  #hold(item: Item, block: Block): void {
    const unsigned = block.type === "thinking" && block.signature === "";
    if (item.thinking === "left-out" || unsigned) {
      this.thinkingLeftOut += 1;
      return;
    }
    const reply = item.messageId ?? item.entry;
    this.#held.set(reply, [...(this.#held.get(reply) ?? []), { block, entry: item.entry }]);
  }

  #call(item: Item, { block, sent }: { readonly block: ToolUseBlock; readonly sent: ToolUseBlock }): void {
    if (this.#calls.has(block.id)) {
      this.#repairs.push(createRepair("duplicate-call", { entry: item.entry, toolUse: block.id }));
      return;
    }
    const input = this.#options.normaliseInput?.(block.name, block.input) ?? block.input;
    const id = this.wireIds.assign(block.id);
    const same = input === block.input && id === block.id;
    const group = this.#reply(item, same ? sent : { ...sent, id, input });
    this.#calls.set(block.id, {
      group,
      order: this.#calls.size,
      name: block.name,
      at: item.at,
      answer: undefined,
      late: undefined,
    });
    this.#open.add(block.id);
    const decisions = this.#options.decisions.get(block.id);
    if (decisions?.some(({ kind }) => kind === "repair") === true) this.#awaitingRepair.add(block.id);
    const early = this.#orphans.get(block.id);
    if (early === undefined) return;
    this.#orphans.delete(block.id);
    this.#answer(early);
  }

  /** Appends a visible block to its reply's message, after the thinking that led to it. Returns the message's index. */
  #reply(item: Item, block: Block): number {
    const reply = item.messageId ?? item.entry;
    const at = this.#groupIndex(reply);
    const group = this.#groups[at] ?? this.#newGroup("assistant");
    const tooLate = group.content.length > 0 && !(group.replies.has(reply) && isThinking(group.content[0]));
    for (const held of this.#held.get(reply) ?? []) {
      if (tooLate) {
        this.#repairs.push(createRepair("thinking-left-out", { entry: held.entry }));
        this.thinkingLeftOut += 1;
      } else this.#put(group, held);
    }
    this.#held.delete(reply);
    this.#put(group, { block, entry: item.entry });
    group.replies.add(reply);
    return at;
  }

  /**
   * Index of the message for more blocks of a reply: its own message, even if results came in between, as long as no
   * other reply has begun since. After another reply they go into a new message, so that what was sent stays the same.
   */
  #groupIndex(reply: string): number {
    const last = this.#groups.length - 1;
    if (this.#groups[last]?.role === "assistant") return last;
    return this.#groups[last - 1]?.replies.has(reply) === true ? last - 1 : last + 1;
  }

  #lastOrNew(role: MessageGroup["role"]): MessageGroup {
    const last = this.#groups.at(-1);
    return last?.role === role ? last : this.#newGroup(role);
  }

  #newGroup(role: MessageGroup["role"]): MessageGroup {
    const index = this.#groups.length;
    const group: MessageGroup = { index, role, content: [], sources: [], replies: new Set(), answered: [] };
    this.#groups.push(group);
    this.#changed.add(group);
    return group;
  }
}
