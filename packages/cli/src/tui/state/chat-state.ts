import type { Millis, NanoUsd, Tokens } from "palimpsest/internal/schema/brand";
import type { CompactionCause } from "palimpsest/internal/schema/compaction-cause";
import type { CompactionPhase } from "palimpsest/internal/schema/loop-event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { type ChatItem, type ItemId, isFoldable } from "./chat-item.ts";

/** Everything a chat shows, as a value. */
export interface ChatState {
  /** Never changes, only grows. */
  readonly done: AppendOnlyList<ChatItem>;
  /** Behind them, in order: the first one may still change. At most those of one reply and the calls it made. */
  readonly open: readonly ChatItem[];
  readonly nextId: ItemId;
  /** The first item that no boundary covers. */
  readonly coveredTo: ItemId;
  readonly turn: "running" | "none";
  readonly phase: Phase;
  /** The tool whose question a person looks at. It may be asked before the event comes that its call has begun. */
  readonly asks: string | undefined;
  /** Typed meanwhile, not handed over yet; oldest first. */
  readonly queue: readonly string[];
  readonly folds: FoldState;
  readonly status: Status;
}

/** What the spinner says. */
export type Phase =
  | { readonly kind: "idle" }
  /** The agent comes up: nothing is known of it yet, and nothing can be interrupted. */
  | { readonly kind: "opening" }
  | { readonly kind: "requesting"; readonly tokens?: Tokens }
  | { readonly kind: "waiting"; readonly attempt: number; readonly until: Millis }
  | { readonly kind: "thinking" }
  | { readonly kind: "responding" }
  /** Calls that run now, in order. */
  | { readonly kind: "calling"; readonly tools: readonly string[] }
  /** A person is to decide about a call of this tool. */
  | { readonly kind: "asking"; readonly tool: string }
  | {
      readonly kind: "compacting";
      readonly cause: CompactionCause;
      readonly phase: CompactionPhase | undefined;
      /** Of the summary, as far as it has come. */
      readonly chars: number;
    }
  | { readonly kind: "interrupting" };

/** Whether something goes on that a person can end. */
export const isBusy = ({ kind }: Phase): boolean => kind !== "idle" && kind !== "opening";

export interface Status extends AgentFigures {
  readonly background: BackgroundWork;
}

/** What only the agent knows. It is asked behind each event, so that no sum is kept twice. */
export interface AgentFigures {
  readonly model: string;
  /** Events tell it too. */
  readonly usedTokens: Tokens;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  /** 0 to 1. */
  readonly hitRate: number;
  readonly costNanos: NanoUsd;
  /** Requests whose model has no known price: their cost is missing in `costNanos`. */
  readonly unpricedRequests: number;
  /** Of permissions: `default` where nothing is said about it. */
  readonly mode: string;
  /** Whether the operating system holds the commands that the agent runs. */
  readonly sandbox: "held" | "none";
}

/** What runs beside the conversation. */
export interface BackgroundWork {
  readonly notes: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
  readonly jobs: number;
  readonly agents: number;
}

/** Beside the items, which do not change when a person unfolds one. */
export interface FoldState {
  /** How every item is that `others` does not name. */
  readonly rest: "folded" | "unfolded";
  readonly others: ReadonlySet<ItemId>;
}

export type FoldAction =
  /** Turns one item over. */
  | { readonly kind: "fold"; readonly item: ItemId }
  /** Turns all of them over, and forgets what was done to single ones. */
  | { readonly kind: "fold-all" };

export function applyFold({ rest, others }: FoldState, act: FoldAction): FoldState {
  if (act.kind === "fold-all") return { rest: rest === "folded" ? "unfolded" : "folded", others: new Set() };
  return { rest, others: others.symmetricDifference(new Set([act.item])) };
}

export function isUnfolded({ rest, others }: FoldState, item: ChatItem): boolean {
  if (!isFoldable(item)) return true;
  return (rest === "unfolded") !== others.has(item.id);
}

/**
 * A list that only grows, as a value: adding gives a new list and leaves the old one as it was. The newest list shares its
 * cells with those before it, so adding to it costs O(1); adding to an older one copies once.
 */
export class AppendOnlyList<Item> implements Iterable<Item> {
  readonly #cells: Item[];
  readonly length: number;

  private constructor(cells: Item[], length: number) {
    this.#cells = cells;
    this.length = length;
  }

  static of<Item>(...items: readonly Item[]): AppendOnlyList<Item> {
    return new AppendOnlyList([...items], items.length);
  }

  with(item: Item): AppendOnlyList<Item> {
    const cells = this.#cells.length === this.length ? this.#cells : this.#cells.slice(0, this.length);
    cells.push(item);
    return new AppendOnlyList(cells, this.length + 1);
  }

  at(index: number): Item | undefined {
    return index >= 0 && index < this.length ? this.#cells[index] : undefined;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.from(0);
  }

  /** Those from a place on: what a drawer has not seen yet. */
  *from(start: number): Generator<Item, undefined> {
    for (let index = Math.max(0, start); index < this.length; index += 1) {
      const item = this.at(index);
      if (item !== undefined) yield item;
    }
    return undefined;
  }
}
