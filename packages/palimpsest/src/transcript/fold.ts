import type { Message } from "../schema/block.ts";
import { type EntryId, type MessageId, messageId, type ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import { itemsForModel, type Item, type EntryOrigin } from "./item.ts";
import { WithheldWatch, type ViewWatch } from "./view-watch.ts";
import { Flattener } from "./flattener.ts";
import type { LoggedEntry } from "./read-lines.ts";
import { Path, type PathProblem, type PathStep } from "./path.ts";
import { type ProjectionEffect, type OriginalContents, Projection, type ProjectionSeed } from "./projection.ts";
import { type Repair, withFirstUser } from "./repair.ts";
import { type ShownBlocks, groupByEntry } from "./make-receipt.ts";
import { ResultLooks } from "./to-wire-block.ts";
import { findUndoneEdits, isUndo, type PathStretch, stretchesBehind } from "./plan-undo.ts";

/**
 * The live fold: log → path → items → messages. The cost of an append is proportional to what is appended; an edit that
 * moves items, an undo and a change of branch fold the whole path again.
 */
export interface FoldOptions {
  readonly line?: "main" | "side";
  /** Who wrote the log. Thinking in another program's entries was signed for that program, so it is left out and counted. */
  readonly origin?: EntryOrigin;
  /** `tail`: the log was read from its end, as far back as the view reaches. */
  readonly read?: "whole" | "tail";
  /** The state before the first entry of a tail. */
  readonly seed?: ProjectionSeed;
  /** Byte ranges of the entries that the seed's items come from. */
  readonly places?: ReadonlyMap<EntryId, LogRange>;
  /** Bytes of the log up to here are a copy of another program's log. An origin entry sets this too. */
  readonly foreignUntil?: number;
  readonly originals?: OriginalContents;
  /** Notified of every change of the view, but not of previews. */
  readonly watch?: ViewWatch;
  readonly normaliseInput?: (name: string, input: JsonObject) => JsonObject;
}

export interface LogRange {
  readonly start: number;
  readonly end: number;
}

const emptySeed: ProjectionSeed = { items: [], decisions: new Map(), pins: [], settings: new Map() };

export interface View {
  /** At a sendable point a valid request; otherwise still well-formed, with a synthetic result for every open call. */
  readonly messages: readonly Message[];
  readonly sendable: boolean;
  /** Why nothing can be sent now. */
  readonly why?: NotSendable;
  readonly repairs: readonly Repair[];
  /** Results that the request asks the provider to leave out of its cached prefix, by the ids sent to the provider. */
  readonly withheld: readonly ToolUseId[];
  readonly path: PathFigures;
}

export interface NotSendable {
  readonly code: "no-user-message" | "assistant-spoke-last" | "open-calls" | "reply-goes-on";
  readonly text: string;
}

export type NextRequest =
  | {
      readonly kind: "sendable";
      readonly messages: readonly Message[];
      /** By the ids sent to the provider. */
      readonly withheld: ReadonlySet<ToolUseId>;
    }
  | { readonly kind: "not-sendable"; readonly why: NotSendable };

interface PathFigures {
  readonly entries: number;
  readonly onPath: number;
  /** Number of messages and edits on other branches. */
  readonly aside: number;
  readonly sidechain: number;
  readonly leaf: EntryId | undefined;
  readonly boundaries: readonly EntryId[];
  readonly thinkingLeftOut: number;
  readonly problems: readonly PathProblem[];
}

export interface ViewOptions {
  /** Whether the log holds more of this reply after what was folded. Then its results so far are not complete. */
  readonly continues?: (reply: MessageId) => boolean;
  /** `reply`: the model may be asked to go on with its reply. */
  readonly ending?: "user" | "reply";
}

export class Fold {
  readonly #options: FoldOptions;
  readonly #path: Path;
  readonly #looks = new ResultLooks();
  #watcher: ViewWatch | undefined;
  #undone: ReadonlySet<EntryId> = new Set();
  #model: string | undefined;
  #watch: WithheldWatch | undefined;
  #projection: Projection;
  #flattener: Flattener;
  /** Cache of `shown()`; undefined after the view changed. */
  #shown: ShownBlocks | undefined;
  #foreignUntil: number;
  #entries = 0;
  #sidechain = 0;

  constructor(options: FoldOptions = {}) {
    this.#options = options;
    this.#watcher = options.watch;
    this.#foreignUntil = options.foreignUntil ?? 0;
    this.#path = new Path({ line: options.line ?? "main", read: options.read ?? "whole" });
    [this.#projection, this.#flattener] = this.#createEmpty(new Set());
    this.#flatten("anew");
  }

  get path(): Path {
    return this.#path;
  }

  get projection(): Projection {
    return this.#projection;
  }

  /** Without synthetic answers. The list is live until the next append; the messages in it are immutable. */
  get messages(): readonly Message[] {
    return this.#flattener.groups;
  }

  /** The entry that each block of `messages` comes from. Live until the next append. */
  get sources(): readonly (readonly EntryId[])[] {
    return this.#flattener.sources;
  }

  get openCalls(): ReadonlySet<ToolUseId> {
    return this.#flattener.open;
  }

  /** Results that the server withholds, by the ids sent to the provider. */
  get sentWithheld(): ReadonlySet<ToolUseId> {
    return new Set([...this.#projection.withheld].map((logged) => this.#flattener.wireIds.wireId(logged)));
  }

  /** What the view shows now, entry by entry. Computed once for each change of the view. */
  shown(): ShownBlocks {
    this.#shown ??= groupByEntry(this.#flattener.shown());
    return this.#shown;
  }

  get foreignUntil(): number {
    return this.#foreignUntil;
  }

  /** Whether the log holds this item's content, so that it can be read again. */
  isAsLogged(item: Item): boolean {
    const entry = this.#path.find(item.entry)?.entry;
    if (entry === undefined) return this.#options.places?.has(item.entry) === true;
    return "blocks" in entry ? entry.blocks === item.blocks : entry.kind === "attachment";
  }

  /** The byte range of an entry's line in the log. */
  placeOf(entry: EntryId): LogRange | undefined {
    return this.#path.find(entry) ?? this.#options.places?.get(entry);
  }

  /**
   * From now on the view is for this model: a summary that it wrote at the provider is shown as its signed block.
   * Undefined: for any model.
   */
  readBy(model: string | undefined): void {
    if (this.#model === model) return;
    this.#model = model;
    if (this.#projection.items[0]?.server !== undefined) this.#flatten("goes-on");
  }

  /** Reports the current view to the watch, and every change from now on. */
  watchedBy(watch: ViewWatch): void {
    this.#watcher = watch;
    this.refold(this.#undone);
  }

  append(logged: LoggedEntry): PathStep {
    const step = this.#addToPath(logged);
    if (step === "switched") this.refold();
    else if (step === "extended") this.#apply(logged);
    return step;
  }

  /** Appends many entries: resolves the path first and folds it once. */
  appendAll(logged: Iterable<LoggedEntry>): void {
    for (const entry of logged) this.#addToPath(entry);
    this.refold();
  }

  /** Folds the path again, with these edits undone. */
  refold(undone: ReadonlySet<EntryId> = findUndoneEdits(this.#path.entries)): void {
    this.#undone = undone;
    const path = this.#path.logged;
    [this.#projection, this.#flattener] = this.#createEmpty(undone);
    for (const logged of path) this.#projection.apply(logged.entry, this.#originOf(logged));
    const { structureAt, compactedAt, releasedAt } = this.#projection;
    const entries = path.map(({ entry }) => entry);
    const stretches = this.#watcher === undefined ? [] : stretchesBehind(entries, { place: compactedAt, undone });
    const isChanged = Math.max(structureAt, releasedAt) > compactedAt || stretches.length > 1;
    if (this.#watcher === undefined || !isChanged) this.#flatten("anew");
    else this.#replay(path, stretches);
  }

  /**
   * Token counters have to know what the view held when a request was sent, including what an edit has removed since, an
   * undo has brought back, or the provider's cache left out for a while. So everything after the newest boundary is
   * reported in the order in which it happened.
   */
  #replay(path: readonly LoggedEntry[], stretches: readonly PathStretch[]): void {
    for (const [index, { from, undone }] of stretches.entries()) {
      [this.#projection, this.#flattener] = this.#createEmpty(undone);
      for (const logged of path.slice(0, from)) this.#projection.apply(logged.entry, this.#originOf(logged));
      this.#flatten(index === 0 ? "anew" : "goes-on");
      for (const logged of path.slice(from, stretches[index + 1]?.from))
        this.#show(this.#projection.apply(logged.entry, this.#originOf(logged)));
    }
  }

  /** What the view would show with these entries appended to the path. Changes nothing. */
  preview(entries: readonly Entry[]): ShownBlocks {
    const isRefolded = entries.some(isUndo);
    const projection = isRefolded ? this.#projectWith(entries) : this.#projection.copy();
    const effects = entries.map((entry) => projection.apply(entry, "ours"));
    const swapped = isRefolded ? undefined : this.#previewSwaps(effects, projection);
    return swapped ?? this.#previewWhole(projection);
  }

  /** The path projected again, with the undos among these entries in force. */
  #projectWith(entries: readonly Entry[]): Projection {
    const [projection] = this.#createEmpty(findUndoneEdits([...this.#path.entries, ...entries]));
    for (const logged of this.#path.logged) projection.apply(logged.entry, this.#originOf(logged));
    return projection;
  }

  #previewWhole(projection: Projection): ShownBlocks {
    const flattener = this.#createFlattener(projection);
    this.#flattenInto(flattener, projection);
    return groupByEntry(flattener.shown());
  }

  /** The current view with some results swapped; undefined if more than that changes. */
  #previewSwaps(effects: readonly ProjectionEffect[], { decisions }: Projection): ShownBlocks | undefined {
    const shown = new Map(this.shown());
    for (const effect of effects) {
      if (effect.kind === "none") continue;
      const swaps = effect.kind === "decided" ? this.#flattener.swapsFor(effect.results, decisions) : undefined;
      if (swaps === undefined) return undefined;
      for (const { entry, before, after } of swaps)
        shown.set(entry, shown.get(entry)?.map((block) => (block === before ? after : block)) ?? []);
    }
    return shown;
  }

  view(options: ViewOptions = {}): View {
    const why = this.#notSendable(options);
    return {
      messages: why?.code === "no-user-message" ? [] : withFirstUser(this.#flattener.withSyntheticResults()),
      sendable: why === undefined,
      ...(why === undefined ? {} : { why }),
      repairs: this.#flattener.requestRepairs,
      withheld: [...this.sentWithheld],
      path: this.#figures(),
    };
  }

  /**
   * The messages of the view, if they can be sent. The list is live until the next append; the cost is proportional to
   * what changed since the last call.
   */
  next(options: ViewOptions = {}): NextRequest {
    const why = this.#notSendable(options);
    if (why !== undefined) return { kind: "not-sendable", why };
    const messages = withFirstUser(this.#flattener.groups);
    return { kind: "sendable", messages, withheld: this.sentWithheld };
  }

  #addToPath(logged: LoggedEntry): PathStep {
    const { entry } = logged;
    this.#entries += 1;
    if (entry.sidechain) this.#sidechain += 1;
    if (entry.kind === "edit" && entry.edit.type === "origin") this.#foreignUntil = logged.end + 1 + entry.edit.length;
    return this.#path.append(logged);
  }

  #originOf({ start }: LoggedEntry): EntryOrigin {
    return this.#options.origin === "foreign" || start < this.#foreignUntil ? "foreign" : "ours";
  }

  #apply(logged: LoggedEntry): void {
    const { entry } = logged;
    if (isUndo(entry)) {
      this.refold();
      return;
    }
    this.#show(this.#projection.apply(entry, this.#originOf(logged)));
  }

  #show(effect: ProjectionEffect): void {
    if (effect.kind !== "none") this.#shown = undefined;
    switch (effect.kind) {
      case "said":
        this.#flattener.push(effect.item);
        return;
      case "decided":
        this.#flattener.decide(effect.results);
        return;
      case "rebuilt":
        this.#flatten("goes-on");
        return;
      case "withheld":
        this.#watch?.onWithheld(effect.results);
        return;
      case "none":
    }
  }

  #createEmpty(undone: ReadonlySet<EntryId>): [Projection, Flattener] {
    const projection = new Projection({
      undone,
      originals: this.#options.originals ?? new Map(),
      seed: this.#options.seed ?? emptySeed,
    });
    return [projection, this.#createFlattener(projection)];
  }

  #createFlattener(projection: Projection, watch?: ViewWatch): Flattener {
    const { normaliseInput } = this.#options;
    return new Flattener({ decisions: projection.decisions, normaliseInput, watch, looks: this.#looks });
  }

  #flatten(history: "anew" | "goes-on"): void {
    const { withheldAt, structureAt } = this.#projection;
    const loggedId = (sent: ToolUseId): ToolUseId => this.#flattener.wireIds.loggedId(sent);
    this.#watch = this.#watcher === undefined ? undefined : new WithheldWatch(this.#watcher, { withheldAt, loggedId });
    this.#watch?.reset(structureAt, history);
    this.#shown = undefined;
    this.#flattener = this.#createFlattener(this.#projection, this.#watch);
    this.#flattenInto(this.#flattener, this.#projection);
  }

  #flattenInto(flattener: Flattener, { items }: Projection): void {
    for (const item of itemsForModel(this.#model, items)) flattener.push(item);
    flattener.settle();
  }

  #notSendable(options: ViewOptions): NotSendable | undefined {
    const messages = this.#flattener.groups;
    if (!messages.some((message) => message.role === "user")) {
      return { code: "no-user-message", text: "there is no user message yet" };
    }
    if (this.#flattener.open.size > 0) return { code: "open-calls", text: this.#openCallsText() };
    if (messages.at(-1)?.role === "assistant" && options.ending !== "reply")
      return { code: "assistant-spoke-last", text: "the assistant spoke last: a user turn comes next" };
    const { continues } = options;
    const goesOn = continues && this.#flattener.lastReplies.values().find((reply) => continues(messageId(reply)));
    if (goesOn !== undefined)
      return { code: "reply-goes-on", text: `the log holds more of reply ${goesOn} behind this point` };
    return undefined;
  }

  #openCallsText(): string {
    const open = [...this.#flattener.open].map((id) => `${this.#flattener.toolName(id) ?? "tool"} ${id}`);
    if (open.length === 1) return `it waits for the result of ${open[0]}`;
    return `it waits for the results of ${open.length} calls: ${open.slice(0, 3).join(", ")}${open.length > 3 ? ", …" : ""}`;
  }

  #figures(): PathFigures {
    return {
      entries: this.#entries,
      onPath: this.#path.length,
      aside: this.#path.asideCount,
      sidechain: this.#sidechain,
      leaf: this.#path.leaf?.id,
      boundaries: this.#projection.boundaries.map((boundary) => boundary.id),
      thinkingLeftOut: this.#flattener.thinkingLeftOut,
      problems: this.#path.problems,
    };
  }
}
