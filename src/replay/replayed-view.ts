import type { Block, Message } from "../schema/block.ts";
import { type EntryId, entryId, type ToolUseId } from "../schema/brand.ts";
import { type Edit, readEdit } from "../schema/edit.ts";
import type { Entry } from "../schema/entry.ts";
import type { Draft } from "../transcript/draft.ts";
import { Fold } from "../transcript/fold.ts";
import type { Item } from "../transcript/item.ts";
import type { Decision } from "../transcript/project.ts";
import { withFirstUser } from "../transcript/repair.ts";
import { type Scope, scopeOf } from "../loop/compact/scope.ts";
import type { ViewWatch } from "../transcript/watch.ts";

export interface ViewBoundary {
  /** Everything that is new behind it. */
  readonly summary: readonly Block[];
  readonly kept: readonly EntryId[];
}

/** A recording's entries and a policy's edits, folded into what the model is shown. */
export class ReplayedView {
  readonly #fold: Fold;
  #leaf: EntryId | null = null;
  #offset = 0;
  #edits = 0;
  /** Since the last reply, that reply included: what stays verbatim behind a compaction. */
  #sinceReply: Entry[] = [];

  /** `left-out`: as if another had signed it. */
  constructor({ watch, thinking = "kept" }: { readonly watch: ViewWatch; readonly thinking?: "kept" | "left-out" }) {
    this.#fold = new Fold({ watch, origin: thinking === "kept" ? "ours" : "foreign" });
  }

  get items(): readonly Item[] {
    return this.#fold.projection.items;
  }

  /** How results look. */
  get decisions(): ReadonlyMap<ToolUseId, readonly Decision[]> {
    return this.#fold.projection.decisions;
  }

  /** Tokens of what a compaction leaves verbatim. */
  newTokens(tokensOf: (block: Block) => number): number {
    let sum = 0;
    for (const entry of this.#sinceReply)
      if ("blocks" in entry) for (const block of entry.blocks) sum += tokensOf(block);
    return sum;
  }

  /** What is new since the last reply, that reply included. */
  get newEntries(): readonly EntryId[] {
    return this.#sinceReply.flatMap(({ id }) => (id === undefined ? [] : [id]));
  }

  /** What a compaction of everything would leave as it is; undefined where there is nothing to compact. */
  scope(waitingTokensMax: number): Pick<Scope, "kept"> | undefined {
    const scoped = scopeOf(this.#fold, { part: { kind: "all" }, waitingTokensMax });
    return scoped.kind === "scope" ? scoped.scope : undefined;
  }

  say(entries: readonly Entry[]): void {
    if (entries[0]?.kind === "assistant") this.#sinceReply = [];
    for (const entry of entries) {
      this.#sinceReply.push(entry);
      this.#append(entry);
    }
  }

  offload(toolUse: ToolUseId, shown: string): void {
    this.#edit({ type: "offload", results: [{ toolUse, shown }] });
  }

  clear(results: readonly ToolUseId[], shown: string): void {
    this.#edit({
      type: "clear",
      results: results.map((toolUse) => ({ toolUse, shown })),
      attachments: [],
      cause: "size",
    });
  }

  /** A layer's edit, as it proposed it. */
  take(draft: Draft): void {
    const reading = readEdit(draft);
    if (reading.kind !== "edit") throw new Error(`a layer's edit can't be read: ${draft.type}`);
    this.#edit(reading.edit);
  }

  snip(entries: readonly EntryId[]): void {
    this.#edit({ type: "snip", entries: [...entries] });
  }

  /** `shown` stands for everything from one entry to the other. */
  collapse({ from, to, shown }: { readonly from: EntryId; readonly to: EntryId; readonly shown: string }): void {
    this.#edit({ type: "collapse", span: { from, to }, shown });
  }

  /** Everything but what is kept becomes the summary. */
  compact({ summary, kept }: ViewBoundary): void {
    this.#edit({ type: "boundary", metadata: { preservedMessages: { uuids: [...kept] } } });
    this.#append({
      kind: "user",
      ...this.#envelope(),
      blocks: summary,
      meta: true,
      summary: true,
      server: undefined,
      readFile: undefined,
      resultSummary: undefined,
    });
  }

  /** What a fork is shown that begins now: also behind a reply, where no request of the conversation itself is due. */
  get messages(): readonly Message[] {
    return withFirstUser(this.#fold.messages);
  }

  /** The messages as they would be without these entries. */
  messagesWithout(entries: readonly EntryId[]): readonly Message[] {
    const shown = this.#fold.shown();
    const out = new Set(entries.flatMap((entry) => shown.get(entry) ?? []));
    return this.messages.flatMap(({ role, content }) => {
      const left = content.filter((block) => !out.has(block));
      return left.length === 0 ? [] : [{ role, content: left }];
    });
  }

  /** The messages of the next request; undefined where there is none to send. */
  next(): readonly Message[] | undefined {
    const next = this.#fold.next();
    return next.kind === "sendable" ? next.messages : undefined;
  }

  #edit(edit: Edit): void {
    this.#append({ kind: "edit", ...this.#envelope(), edit });
  }

  #envelope(): {
    id: EntryId;
    parent: EntryId | null;
    logicalParent: undefined;
    sidechain: false;
    timestamp: undefined;
  } {
    this.#edits += 1;
    return {
      id: entryId(`edit-${this.#edits}`),
      parent: null,
      logicalParent: undefined,
      sidechain: false,
      timestamp: undefined,
    };
  }

  #append(entry: Entry): void {
    const linked = { ...entry, parent: this.#leaf, logicalParent: undefined };
    this.#fold.append({ entry: linked, start: this.#offset, end: this.#offset + 1 });
    this.#offset += 2;
    this.#leaf = entry.id ?? this.#leaf;
  }
}
