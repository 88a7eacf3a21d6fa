import type { Block, ToolResultBlock, ToolUseBlock } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import { type Item, isUserTurn } from "../transcript/item.ts";
import type { ResultReplacement, ViewWatch } from "../transcript/view-watch.ts";
import { countResultChars } from "../tokens/estimate-block.ts";
import { callFilePath, fileAction } from "../tokens/tool-kind.ts";
import { KnownLines } from "./known-lines.ts";
import { QuoteIndex } from "./quote-index.ts";
import { residentTokensMin as residentTokensDefault } from "./limits.ts";
import { findPaths, isNamed } from "./named-paths.ts";
import { nearestResidentBefore, type Resident, type ResidentState } from "./resident.ts";

export interface InventoryOptions {
  readonly count: (block: Block) => number;
  /** Whether results of the tool may ever be cleared. */
  readonly isClearable: (tool: string) => boolean;
  /** What a marker in place of a result costs. */
  readonly markerTokens: number;
  /** Results that would save less are no residents. Absent: the named limit. */
  readonly residentTokensMin?: number | undefined;
  /** Shared by inventories of the same blocks. If absent, the inventory has its own. */
  readonly lines?: KnownLines;
}

/**
 * What stands in the view, result by result: how large, how old, when last used, and how much stands behind it. It is
 * kept up to date block by block, so that a plan costs only the residents it looks at. The view is reported in order;
 * results of one reply may be reported in the order of their arrival, which moves them by less than a round.
 */
export class Inventory implements ViewWatch {
  readonly #options: InventoryOptions;
  readonly #callById = new Map<ToolUseId, ToolUseBlock>();
  /** A call may be sent under another id than in the log, and edits use the id of the log. */
  readonly #loggedIdByShown = new Map<ToolUseId, ToolUseId>();
  readonly #residentById = new Map<ToolUseId, ResidentState>();
  /** Results that are no longer residents. Their place is known by what stood before them. */
  readonly #keptById = new Map<ToolUseId, ResidentState>();
  readonly #quotes: QuoteIndex<ResidentState>;
  readonly #readsByPath = new Map<string, ResidentState[]>();
  readonly #changedPaths = new Map<string, number>();
  #newestFailed: ResidentState | undefined;
  /** Ends of paths in the newest message of the user. */
  #namedPaths: readonly string[] = [];
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
  #viewResets = 0;
  #uses = 0;
  #supersededCount = 0;
  /** The resident that was hidden last: the next block shown may be its marker. */
  #lastHidden: ResidentState | undefined;

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#quotes = new QuoteIndex(options.lines ?? new KnownLines());
  }

  /** The number of replies so far. */
  get round(): number {
    return this.#round;
  }

  /** How often the user has spoken so far. */
  get turn(): number {
    return this.#turn;
  }

  /** Tokens of everything shown, by this inventory's count, without the fixed part. */
  get shownTokens(): number {
    return this.#shownTokens;
  }

  /** Tokens of what is shown but left out by the provider's cache: it is sent, has its place, and costs nothing. */
  get withheldTokens(): number {
    return this.#withheldTokens;
  }

  /** Tokens before the first resident. */
  get headTokens(): number {
    return this.#headTokens;
  }

  get residentTokens(): number {
    return this.#residentTokens;
  }

  get size(): number {
    return this.#count;
  }

  /** Changes whenever something leaves or the view is rebuilt. As long as it stays, everything only grows. */
  get version(): number {
    return this.#version;
  }

  /** How often the view was rebuilt from its beginning: after an edit that moves something, an undo, another branch. */
  get tellings(): number {
    return this.#viewResets;
  }

  /** How often a resident was used again. Only ever grows. */
  get uses(): number {
    return this.#uses;
  }

  /** How many residents were superseded. Only ever grows. */
  get supersededCount(): number {
    return this.#supersededCount;
  }

  get oldest(): Resident | undefined {
    return this.#first;
  }

  get newest(): Resident | undefined {
    return this.#last;
  }

  /** Tokens shown before the resident. Costs a step for each resident before it. */
  offsetOf(resident: Resident): number {
    let offset = this.#headTokens;
    for (let other = resident.before; other !== undefined; other = other.before)
      offset += other.tokens + other.behindTokens;
    return offset;
  }

  /** The counter behind all numbers of the inventory. */
  get count(): InventoryOptions["count"] {
    return this.#options.count;
  }

  isClearable(tool: string): boolean {
    return this.#options.isClearable(tool);
  }

  find(toolUse: ToolUseId): Resident | undefined {
    return this.#residentById.get(toolUse);
  }

  /** Keeps a result for good, as a pinned message: from now on it is no resident but part of what stands around. */
  keep(toolUse: ToolUseId): void {
    const resident = this.#residentById.get(toolUse);
    if (resident === undefined) return;
    this.#removeResident(resident);
    this.#addBehind(resident.before, resident.tokens);
    this.#keptById.set(toolUse, resident);
  }

  reset(): void {
    this.#callById.clear();
    this.#loggedIdByShown.clear();
    this.#residentById.clear();
    this.#keptById.clear();
    this.#quotes.clear();
    this.#readsByPath.clear();
    this.#changedPaths.clear();
    this.#newestFailed = undefined;
    this.#namedPaths = [];
    this.#first = undefined;
    this.#last = undefined;
    this.#lastHidden = undefined;
    this.#reply = undefined;
    this.#headTokens = 0;
    this.#shownTokens = 0;
    this.#withheldTokens = 0;
    this.#residentTokens = 0;
    this.#count = 0;
    this.#round = 0;
    this.#turn = 0;
    this.#version += 1;
    this.#viewResets += 1;
  }

  item(item: Item): void {
    this.#item = item;
    this.#lastHidden = undefined;
    if (item.role === "assistant") {
      const reply = item.messageId ?? item.entry;
      if (reply !== this.#reply) this.#round += 1;
      this.#reply = reply;
    } else if (isUserTurn(item)) {
      this.#turn += 1;
      this.#holdNamed(item);
    }
  }

  shown(block: Block, _: EntryId, instead?: ResultReplacement): void {
    const tokens = this.#options.count(block);
    this.#shownTokens += tokens;
    if (block.type === "tool_result") {
      const lastHidden = this.#lastHidden;
      if (lastHidden !== undefined && this.#loggedId(block.tool_use_id) === lastHidden.toolUse) {
        if (instead === undefined) this.#restoreResident(lastHidden);
        // The marker counts where it stands. Until now its size was assumed to be the usual one.
        else this.#addBehind(lastHidden.before, tokens - lastHidden.markerTokens);
        return;
      }
      const kept = this.#keptById.get(this.#loggedId(block.tool_use_id));
      if (kept !== undefined) {
        this.#addBehind(nearestResidentBefore(kept), tokens);
        return;
      }
      if (instead === undefined && this.#addResident(block, tokens)) return;
      if (instead === undefined && block.is_error === true) this.#holdFailed(undefined);
    }
    this.#addBehind(this.#last, tokens);
    if (block.type === "tool_use") this.#recordCall(block);
    else if (block.type === "text" && this.#item?.role === "assistant") this.#recordQuotes(block);
  }

  hidden(block: Block): void {
    const tokens = this.#options.count(block);
    this.#shownTokens -= tokens;
    this.#lastHidden =
      block.type === "tool_result" ? this.#residentById.get(this.#loggedId(block.tool_use_id)) : undefined;
    if (this.#lastHidden !== undefined) {
      this.#removeResident(this.#lastHidden);
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

  #addResident(block: ToolResultBlock, tokens: number): boolean {
    const toolUse = this.#loggedId(block.tool_use_id);
    const call = this.#callById.get(toolUse);
    const markerTokens = Math.min(tokens, this.#options.markerTokens);
    const removable = tokens - markerTokens;
    const { residentTokensMin = residentTokensDefault, isClearable } = this.#options;
    if (call === undefined || removable < residentTokensMin || !isClearable(call.name)) return false;
    const path = callFilePath(call);
    const resident: ResidentState = {
      toolUse,
      tool: call.name,
      tokens: removable,
      markerTokens,
      chars: countResultChars(block),
      bornRound: this.#round,
      bornTurn: this.#turn,
      lastUsedRound: this.#round,
      supersededRound: undefined,
      isHeld: isNamed(path, this.#namedPaths),
      behindTokens: markerTokens,
      path,
      acts: fileAction(call.name),
      isResident: true,
      before: this.#last,
      after: undefined,
    };
    if (this.#last === undefined) this.#first = resident;
    else this.#last.after = resident;
    this.#last = resident;
    this.#residentById.set(toolUse, resident);
    this.#residentTokens += removable;
    this.#count += 1;
    this.#index(resident, block);
    if (block.is_error === true) this.#holdFailed(resident);
    return true;
  }

  /** Only the newest failure is held, if it is a resident: what failed before was answered by what came since. */
  #holdFailed(resident: ResidentState | undefined): void {
    const before = this.#newestFailed;
    this.#newestFailed = resident;
    if (resident !== undefined) resident.isHeld = true;
    if (before !== undefined) this.#setHeld(before, isNamed(before.path, this.#namedPaths));
  }

  /** What an earlier message named is no longer held. */
  #holdNamed({ blocks }: Item): void {
    this.#namedPaths = blocks.flatMap((block) => (block.type === "text" ? findPaths(block.text) : []));
    for (let resident = this.#first; resident !== undefined; resident = resident.after)
      this.#setHeld(resident, resident === this.#newestFailed || isNamed(resident.path, this.#namedPaths));
  }

  #setHeld(resident: ResidentState, isHeld: boolean): void {
    if (resident.isHeld === isHeld) return;
    resident.isHeld = isHeld;
    // What is released may pay at once, which a plan for the coming rounds could not know.
    this.#version += 1;
  }

  #loggedId(shown: ToolUseId): ToolUseId {
    return this.#loggedIdByShown.get(shown) ?? shown;
  }

  #removeResident(resident: ResidentState): void {
    const { before, after, tokens } = resident;
    resident.isResident = false;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    this.#addBehind(before, resident.behindTokens);
    this.#residentById.delete(resident.toolUse);
    this.#residentTokens -= tokens;
    this.#count -= 1;
    this.#version += 1;
  }

  /** An edit that did not change the decision about a result hides it and shows it again. It has not moved. */
  #restoreResident(resident: ResidentState): void {
    const { before, after, tokens } = resident;
    resident.isResident = true;
    if (before === undefined) this.#first = resident;
    else before.after = resident;
    if (after === undefined) this.#last = resident;
    else after.before = resident;
    this.#addBehind(before, -resident.behindTokens);
    this.#residentById.set(resident.toolUse, resident);
    this.#residentTokens += tokens;
    this.#count += 1;
    this.#lastHidden = undefined;
  }

  #addBehind(resident: ResidentState | undefined, tokens: number): void {
    if (resident === undefined) this.#headTokens += tokens;
    else resident.behindTokens += tokens;
  }

  #recordCall(call: ToolUseBlock): void {
    this.#callById.set(this.#resolveLoggedId(call), call);
    this.#recordQuotes(call);
    const path = callFilePath(call);
    if (path === undefined) return;
    const reads = this.#readsByPath.get(path) ?? [];
    switch (fileAction(call.name)) {
      case "write":
        this.#changedPaths.set(path, this.#round);
        for (const read of reads) if (read.supersededRound === undefined) this.#recordUse(read);
        return;
      case "read":
        for (const read of reads) if (read.bornRound <= (this.#changedPaths.get(path) ?? -1)) this.#supersede(read);
        return;
      case undefined:
    }
  }

  /** The log's id of a call that is shown under another id. The calls of an item are reported in order. */
  #resolveLoggedId({ id, name }: ToolUseBlock): ToolUseId {
    const calls = this.#item?.blocks.filter((block) => block.type === "tool_use") ?? [];
    if (calls.some((call) => call.id === id)) return id;
    const logged = calls.find((call) => call.name === name && !this.#callById.has(call.id))?.id ?? id;
    this.#loggedIdByShown.set(id, logged);
    return logged;
  }

  #recordUse(resident: ResidentState): void {
    if (!resident.isResident || resident.lastUsedRound === this.#round) return;
    resident.lastUsedRound = this.#round;
    this.#uses += 1;
  }

  #supersede(resident: ResidentState): void {
    if (!resident.isResident || resident.supersededRound !== undefined) return;
    resident.supersededRound = this.#round;
    this.#supersededCount += 1;
  }

  #index(resident: ResidentState, block: ToolResultBlock): void {
    if (resident.path !== undefined && resident.acts === "read") {
      const reads = this.#readsByPath.get(resident.path);
      if (reads === undefined) this.#readsByPath.set(resident.path, [resident]);
      else reads.push(resident);
    }
    this.#quotes.add(block, resident);
  }

  #recordQuotes(block: Block): void {
    for (const resident of this.#quotes.quotedIn(block)) this.#recordUse(resident);
  }
}
