import type { Block, ToolResultBlock, ToolUseBlock } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import type { Item } from "../transcript/item.ts";
import type { ResultReplacement, ViewWatch } from "../transcript/view-watch.ts";
import { callFilePath, fileAction } from "../tokens/tool-kind.ts";
import { KnownLines } from "./known-lines.ts";
import { residentTokensMin } from "./limits.ts";

/** A result that stands whole in the view and could be cleared. */
export interface Resident {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  /** What clearing it would take off: its own tokens less those of the marker. */
  readonly tokens: number;
  /** The round in which it came; the first reply is round 1. */
  readonly bornRound: number;
  /** The turn in which it came. */
  readonly bornTurn: number;
  /** Quoted, or its file edited, last in this round; `bornRound` where never. */
  readonly lastUsedRound: number;
  /** Since this round the file was read again after a change: what it shows is gone. */
  readonly supersededRound: number | undefined;
  /** Everything between it and the next resident, with the marker that would stand in its place. */
  readonly behindTokens: number;
  /** Its neighbours, as long as it stands. */
  readonly before: Resident | undefined;
  readonly after: Resident | undefined;
}

interface ResidentState extends Resident {
  readonly path: string | undefined;
  readonly acts: "read" | "write" | undefined;
  lastUsedRound: number;
  supersededRound: number | undefined;
  behindTokens: number;
  isHere: boolean;
  before: ResidentState | undefined;
  after: ResidentState | undefined;
}

export interface InventoryOptions {
  readonly count: (block: Block) => number;
  /** Its results may ever be cleared. */
  readonly isClearable: (tool: string) => boolean;
  /** What a marker costs in its place. */
  readonly markerTokens: number;
  /** Shared by inventories of the same blocks; its own where it is absent. */
  readonly lines?: KnownLines;
}

/**
 * What stands in the view, result by result: how large, how old, when last used, and how much stands behind it. Kept up
 * to date block by block, so that a plan costs the residents it looks at and nothing else. The view is told in order;
 * results of one reply may be told in the order of their arrival, which moves them by less than a round.
 */
export class Inventory implements ViewWatch {
  readonly #options: InventoryOptions;
  readonly #lines: KnownLines;
  readonly #callById = new Map<ToolUseId, ToolUseBlock>();
  /** A call may be sent under another id than the log's, and edits name the log's. */
  readonly #loggedIdByShown = new Map<ToolUseId, ToolUseId>();
  readonly #standingById = new Map<ToolUseId, ResidentState>();
  /** No residents any more; where they stand is known by what stood before them. */
  readonly #keptById = new Map<ToolUseId, ResidentState>();
  readonly #standingByLine = new Map<string, ResidentState>();
  readonly #readsByPath = new Map<string, ResidentState[]>();
  readonly #changedPaths = new Map<string, number>();
  #first: ResidentState | undefined;
  #last: ResidentState | undefined;
  #item: Item | undefined;
  #reply: MessageId | EntryId | undefined;
  #headTokens = 0;
  #shownTokens = 0;
  #withheldTokens = 0;
  #residentTokens = 0;
  #count = 0;
  #round = 0;
  #turn = 0;
  #version = 0;
  viewResets = 0;
  #uses = 0;
  #supersededCount = 0;
  /** What was hidden last: the next block told may be its marker. */
  #left: ResidentState | undefined;

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#lines = options.lines ?? new KnownLines();
  }

  /** Replies so far. */
  get round(): number {
    return this.#round;
  }

  /** Times that a person spoke so far. */
  get turn(): number {
    return this.#turn;
  }

  /** Of everything shown, by this inventory's count; the fixed part is not in it. */
  get shownTokens(): number {
    return this.#shownTokens;
  }

  /** Of what is shown, what the provider's cache leaves out: it is sent, has its place, and costs nothing. */
  get withheldTokens(): number {
    return this.#withheldTokens;
  }

  /** What stands before the first resident. */
  get headTokens(): number {
    return this.#headTokens;
  }

  get residentTokens(): number {
    return this.#residentTokens;
  }

  get size(): number {
    return this.#count;
  }

  /** Changes whenever something leaves or the view is told anew: as long as it stays, everything only grows. */
  get version(): number {
    return this.#version;
  }

  /** How often the view was told from its beginning: an edit that moves something, an undo, a change of branch. */
  get tellings(): number {
    return this.viewResets;
  }

  /** How often a resident was used again; only ever grows. */
  get uses(): number {
    return this.#uses;
  }

  /** How many were superseded; only ever grows. */
  get supersededCount(): number {
    return this.#supersededCount;
  }

  get oldest(): Resident | undefined {
    return this.#first;
  }

  get newest(): Resident | undefined {
    return this.#last;
  }

  /** How much is shown before it. Costs a step for each resident before it. */
  offsetOf(resident: Resident): number {
    let offset = this.#headTokens;
    for (let one = resident.before; one !== undefined; one = one.before) offset += one.tokens + one.behindTokens;
    return offset;
  }

  /** By which everything in it is counted. */
  get count(): InventoryOptions["count"] {
    return this.#options.count;
  }

  isClearable(tool: string): boolean {
    return this.#options.isClearable(tool);
  }

  find(toolUse: ToolUseId): Resident | undefined {
    return this.#standingById.get(toolUse);
  }

  /** It stays whatever happens, as a pinned message does: from now on it is no resident, but part of what stands around. */
  keep(toolUse: ToolUseId): void {
    const standing = this.#standingById.get(toolUse);
    if (standing === undefined) return;
    this.#leave(standing);
    this.#addBehind(standing.before, standing.tokens);
    this.#keptById.set(toolUse, standing);
  }

  reset(): void {
    this.#callById.clear();
    this.#loggedIdByShown.clear();
    this.#standingById.clear();
    this.#keptById.clear();
    this.#standingByLine.clear();
    this.#readsByPath.clear();
    this.#changedPaths.clear();
    this.#first = undefined;
    this.#last = undefined;
    this.#left = undefined;
    this.#reply = undefined;
    this.#headTokens = 0;
    this.#shownTokens = 0;
    this.#withheldTokens = 0;
    this.#residentTokens = 0;
    this.#count = 0;
    this.#round = 0;
    this.#turn = 0;
    this.#version += 1;
    this.viewResets += 1;
  }

  item(item: Item): void {
    this.#item = item;
    this.#left = undefined;
    if (item.role === "assistant") {
      const reply = item.messageId ?? item.entry;
      if (reply !== this.#reply) this.#round += 1;
      this.#reply = reply;
    } else if (isUserTurn(item)) this.#turn += 1;
  }

  shown(block: Block, _: EntryId, instead?: ResultReplacement): void {
    const tokens = this.#options.count(block);
    this.#shownTokens += tokens;
    if (block.type === "tool_result") {
      const left = this.#left;
      if (left !== undefined && this.#loggedId(block.tool_use_id) === left.toolUse) {
        if (instead === undefined) this.#comeBack(left);
        // Its marker is counted where it stands; until now one of the usual size was taken for it.
        else this.#addBehind(left.before, tokens - this.#options.markerTokens);
        return;
      }
      const kept = this.#keptById.get(this.#loggedId(block.tool_use_id));
      if (kept !== undefined) {
        this.#addBehind(nearestResidentBefore(kept), tokens);
        return;
      }
      if (instead === undefined && this.#settle(block, tokens)) return;
    }
    this.#addBehind(this.#last, tokens);
    if (block.type === "tool_use") this.#called(block);
    else if (block.type === "text" && this.#item?.role === "assistant") this.#quoted(block);
  }

  hidden(block: Block): void {
    const tokens = this.#options.count(block);
    this.#shownTokens -= tokens;
    this.#left = block.type === "tool_result" ? this.#standingById.get(this.#loggedId(block.tool_use_id)) : undefined;
    if (this.#left !== undefined) {
      this.#leave(this.#left);
      return;
    }
    const kept = block.type === "tool_result" ? this.#keptById.get(this.#loggedId(block.tool_use_id)) : undefined;
    this.#addBehind(kept === undefined ? this.#last : nearestResidentBefore(kept), -tokens);
    this.#version += 1;
  }

  withheld(block: Block): void {
    this.#withheldTokens += this.#options.count(block);
  }

  released(block: Block): void {
    this.#withheldTokens -= this.#options.count(block);
  }

  #settle(block: ToolResultBlock, tokens: number): boolean {
    const toolUse = this.#loggedId(block.tool_use_id);
    const call = this.#callById.get(toolUse);
    const removable = tokens - this.#options.markerTokens;
    if (call === undefined || removable < residentTokensMin || !this.#options.isClearable(call.name)) return false;
    const path = callFilePath(call);
    const standing: ResidentState = {
      toolUse,
      tool: call.name,
      tokens: removable,
      bornRound: this.#round,
      bornTurn: this.#turn,
      lastUsedRound: this.#round,
      supersededRound: undefined,
      behindTokens: this.#options.markerTokens,
      path,
      acts: fileAction(call.name),
      isHere: true,
      before: this.#last,
      after: undefined,
    };
    if (this.#last === undefined) this.#first = standing;
    else this.#last.after = standing;
    this.#last = standing;
    this.#standingById.set(toolUse, standing);
    this.#residentTokens += removable;
    this.#count += 1;
    this.#index(standing, block);
    return true;
  }

  #loggedId(shown: ToolUseId): ToolUseId {
    return this.#loggedIdByShown.get(shown) ?? shown;
  }

  #leave(standing: ResidentState): void {
    const { before, after, tokens } = standing;
    standing.isHere = false;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    this.#addBehind(before, standing.behindTokens);
    this.#standingById.delete(standing.toolUse);
    this.#residentTokens -= tokens;
    this.#count -= 1;
    this.#version += 1;
  }

  /** An edit that decided nothing new about it hides it and shows it again: it has not moved. */
  #comeBack(standing: ResidentState): void {
    const { before, after, tokens } = standing;
    standing.isHere = true;
    if (before === undefined) this.#first = standing;
    else before.after = standing;
    if (after === undefined) this.#last = standing;
    else after.before = standing;
    this.#addBehind(before, -standing.behindTokens);
    this.#standingById.set(standing.toolUse, standing);
    this.#residentTokens += tokens;
    this.#count += 1;
    this.#left = undefined;
  }

  #addBehind(standing: ResidentState | undefined, tokens: number): void {
    if (standing === undefined) this.#headTokens += tokens;
    else standing.behindTokens += tokens;
  }

  #called(call: ToolUseBlock): void {
    this.#callById.set(this.#namedInLog(call), call);
    this.#quoted(call);
    const path = callFilePath(call);
    if (path === undefined) return;
    const reads = this.#readsByPath.get(path) ?? [];
    switch (fileAction(call.name)) {
      case "write":
        this.#changedPaths.set(path, this.#round);
        for (const read of reads) if (read.supersededRound === undefined) this.#used(read);
        return;
      case "read":
        for (const read of reads) if (read.bornRound <= (this.#changedPaths.get(path) ?? -1)) this.#supersede(read);
        return;
      case undefined:
    }
  }

  /** The log's id of a call that is shown under another; the calls of an item are told in their order. */
  #namedInLog({ id, name }: ToolUseBlock): ToolUseId {
    const calls = this.#item?.blocks.filter((block) => block.type === "tool_use") ?? [];
    if (calls.some((call) => call.id === id)) return id;
    const logged = calls.find((call) => call.name === name && !this.#callById.has(call.id))?.id ?? id;
    this.#loggedIdByShown.set(id, logged);
    return logged;
  }

  #used(standing: ResidentState): void {
    if (!standing.isHere || standing.lastUsedRound === this.#round) return;
    standing.lastUsedRound = this.#round;
    this.#uses += 1;
  }

  #supersede(standing: ResidentState): void {
    if (!standing.isHere || standing.supersededRound !== undefined) return;
    standing.supersededRound = this.#round;
    this.#supersededCount += 1;
  }

  #index(standing: ResidentState, block: ToolResultBlock): void {
    if (standing.path !== undefined && standing.acts === "read") {
      const reads = this.#readsByPath.get(standing.path);
      if (reads === undefined) this.#readsByPath.set(standing.path, [standing]);
      else reads.push(standing);
    }
    for (const line of this.#lines.in(block)) this.#standingByLine.set(line, standing);
  }

  #quoted(block: Block): void {
    if (this.#standingByLine.size === 0) return;
    for (const line of this.#lines.in(block)) {
      const standing = this.#standingByLine.get(line);
      if (standing !== undefined) this.#used(standing);
    }
  }
}

/** The nearest before it that still stands. */
function nearestResidentBefore({ before }: ResidentState): ResidentState | undefined {
  let one = before;
  while (one !== undefined && !one.isHere) one = one.before;
  return one;
}

/** A person's words, or what stands for them: the first round behind it begins a turn. */
const isUserTurn = ({ blocks, attachment, summary }: Item): boolean =>
  attachment === undefined && summary !== true && blocks.some(({ type }) => type === "text");
