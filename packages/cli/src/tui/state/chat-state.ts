import type { Millis, NanoUsd, Tokens, ToolUseId } from "palimpsest/internal/schema/brand";
import type { CompactionCause } from "palimpsest/internal/schema/compaction-cause";
import type { CompactionPhase } from "palimpsest/internal/schema/loop-event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import {
  type ChatItem,
  type ItemId,
  isFoldable,
  type CallItem,
  isSettled,
  isUnderWay,
  type UserItem,
  type SpeechItem,
} from "./chat-item.ts";
import { planRefusedText } from "../../tool/plan-tool.ts";

/** Everything a chat shows, as an immutable value. */
export interface ChatState {
  /** Settled items: only appended to. */
  readonly done: AppendOnlyList<ChatItem>;
  /** The items after those, of which the first may still change. At most those of one reply and its calls. */
  readonly open: readonly ChatItem[];
  readonly nextId: ItemId;
  /** The first item that no boundary covers. */
  readonly coveredTo: ItemId;
  readonly turn: "running" | "none";
  readonly phase: Phase;
  /** The tool whose question the user is looking at. It may ask before the `call-start` event arrives. */
  readonly askingTool: string | undefined;
  /** Messages typed during the turn and not sent yet; oldest first. */
  readonly queue: readonly string[];
  readonly folds: FoldState;
  readonly status: Status;
}

/** What the spinner shows. */
export type Phase =
  | { readonly kind: "idle" }
  /** The agent is starting: nothing is known about it yet, and nothing can be interrupted. */
  | { readonly kind: "opening" }
  | { readonly kind: "requesting"; readonly tokens?: Tokens }
  | { readonly kind: "waiting"; readonly attempt: number; readonly until: Millis }
  | { readonly kind: "thinking" }
  | { readonly kind: "responding" }
  /** The calls that are running, in order. */
  | { readonly kind: "calling"; readonly tools: readonly string[] }
  /** The user has to decide about a call of this tool. */
  | { readonly kind: "asking"; readonly tool: string }
  | {
      readonly kind: "compacting";
      readonly cause: CompactionCause;
      readonly phase: CompactionPhase | undefined;
      /** Length of the summary so far. */
      readonly chars: number;
    }
  /** The user leaves, and a last extraction is awaited. */
  | { readonly kind: "saving" }
  | { readonly kind: "interrupting" };

/** Whether something is running that the user can interrupt. */
export const isBusy = ({ kind }: Phase): boolean => kind !== "idle" && kind !== "opening";

export interface Status extends AgentFigures {
  readonly background: BackgroundWork;
  /** The team that the session is a member of, with its place in it; empty if there is none. */
  readonly team: string;
}

/** Figures that only the agent knows. They are read from it after each event, so that no total is kept twice. */
export interface AgentFigures {
  readonly model: string;
  /** Events update it too. */
  readonly usedTokens: Tokens;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  /** 0 to 1. */
  readonly hitRate: number;
  readonly costNanos: NanoUsd;
  /** Requests whose model has no known price: their cost is missing in `costNanos`. */
  readonly unpricedRequests: number;
  /** `simulated`: the costs are paid by nobody. */
  readonly billing: "real" | "simulated";
  /** The permission mode; `default` unless it was changed. */
  readonly mode: string;
  /** `held`: the operating system confines the commands that the agent runs. */
  readonly sandbox: "held" | "none";
}

/** What runs in the background of the conversation. */
export interface BackgroundWork {
  readonly notes: "idle" | "running";
  /** Of memories, at the end of turns. */
  readonly extraction: "idle" | "running";
  readonly dream: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
  readonly jobs: number;
  readonly agents: number;
}

/** Kept apart from the items, which do not change when the user unfolds one. */
export interface FoldState {
  /** The state of every item that `others` does not name; those have the opposite one. */
  readonly rest: "folded" | "unfolded";
  readonly others: ReadonlySet<ItemId>;
}

export type FoldAction =
  /** Toggles one item. */
  | { readonly kind: "fold"; readonly item: ItemId }
  /** Toggles all items, and forgets which single ones were toggled. */
  | { readonly kind: "fold-all" };

export function applyFold({ rest, others }: FoldState, action: FoldAction): FoldState {
  if (action.kind === "fold-all") return { rest: rest === "folded" ? "unfolded" : "folded", others: new Set() };
  return { rest, others: others.symmetricDifference(new Set([action.item])) };
}

export function isUnfolded({ rest, others }: FoldState, item: ChatItem): boolean {
  if (!isFoldable(item)) return true;
  return (rest === "unfolded") !== others.has(item.id);
}

/**
 * An immutable list that can be appended to: `with` returns a new list and leaves the old one unchanged. The newest list
 * shares its cells with the older ones, so appending to it costs O(1); appending to an older one copies once.
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

  /** The items from an index on, such as those not drawn yet. */
  *from(start: number): Generator<Item, undefined> {
    for (let index = Math.max(0, start); index < this.length; index += 1) {
      const item = this.at(index);
      if (item !== undefined) yield item;
    }
    return undefined;
  }
}

/**
 * Whether memories were saved in the background since the user last said something: then one key takes them back. Looks
 * back to that message at most.
 */
export function hasFreshMemories({ done, open }: ChatState): boolean {
  if (open.some(({ kind }) => kind === "memories")) return true;
  for (let index = done.length - 1; index >= 0; index -= 1) {
    const kind = done.at(index)?.kind;
    if (kind === "memories") return true;
    if (kind === "user") return false;
  }
  return false;
}

type WithoutId<Item> = Item extends ChatItem ? Omit<Item, "id"> : never;

/** An item before it gets its id. */
export type NewItem =
  | WithoutId<Exclude<ChatItem, UserItem | SpeechItem>>
  | Omit<UserItem, "id">
  | Omit<SpeechItem, "id">;

/** Appends an item. */
export function addItem(state: ChatState, item: NewItem): ChatState {
  const numbered: ChatItem = { ...item, id: state.nextId };
  return settleItems({ ...state, nextId: state.nextId + 1 }, [...state.open, numbered]);
}

/** Replaces the open items. The leading ones that are settled move to `done`. */
export function settleItems(state: ChatState, open: readonly ChatItem[]): ChatState {
  const firstOpen = open.findIndex((item) => !isSettled(item));
  const settled = firstOpen === -1 ? open : open.slice(0, firstOpen);
  let { done } = state;
  for (const item of settled) done = done.with(item);
  return { ...state, done, open: open.slice(settled.length) };
}

/** Unchanged if no open call has this id. */
export function updateCall(state: ChatState, id: ToolUseId, change: (call: CallItem) => CallItem): ChatState {
  const open = state.open.map((item) =>
    item.kind === "call" && item.call === id && isUnderWay(item) ? change(item) : item,
  );
  return settleItems(state, open);
}

/** Appends to the streaming item, even if a notice came after it: a notice does not split a sentence. */
export function appendSpeech(state: ChatState, piece: Pick<SpeechItem, "kind" | "text">): ChatState {
  const at = state.open.findLastIndex(isStreaming);
  const last = state.open[at];
  if (last?.kind !== piece.kind) return addItem(state, { ...piece, state: "streaming" });
  const longer: SpeechItem = { ...last, text: last.text + piece.text, state: "streaming" };
  return { ...state, open: state.open.with(at, longer) };
}

/** Removes what the reply has said so far. */
export const dropStreaming = (state: ChatState): ChatState =>
  settleItems(
    state,
    state.open.filter((item) => !isStreaming(item)),
  );

/** The reply ends with what it has said so far, and so do its retries. */
export const endStreaming = (state: ChatState, how: "whole" | "cut"): ChatState =>
  settleItems(
    state,
    state.open.map((item) =>
      isStreaming(item) ? { ...item, state: how } : item.kind === "retry" ? { ...item, state: "over" } : item,
    ),
  );

const isStreaming = (item: ChatItem): item is SpeechItem =>
  (item.kind === "text" || item.kind === "thinking") && item.state === "streaming";

export const markRetriesAsked = (state: ChatState): ChatState =>
  settleItems(
    state,
    state.open.map((item) => (item.kind === "retry" && item.state === "waiting" ? { ...item, state: "asked" } : item)),
  );

/** The turn has ended: nothing of it continues. */
export const endOpenItems = (state: ChatState): ChatState => {
  const open = endStreaming(state, "cut");
  return settleItems(
    open,
    open.open.map((item) => (item.kind === "call" && isUnderWay(item) ? { ...item, state: "interrupted" } : item)),
  );
};

/** The phase while calls are under way. If there are none, the next request is due. */
export function phaseFromCalls({ open }: ChatState): Phase {
  const calls = open.filter((item) => item.kind === "call").filter(isUnderWay);
  const asking = calls.find(({ state }) => state === "asking");
  if (asking !== undefined) return { kind: "asking", tool: asking.tool };
  return calls.length === 0 ? { kind: "requesting" } : { kind: "calling", tools: calls.map(({ tool }) => tool) };
}

/** A refused plan is a successful call to the loop; the user sees it as denied, with the reason they gave. */
export function callEndState({
  tool,
  state,
  summary,
}: Pick<CallItem, "tool" | "state" | "summary">): Pick<CallItem, "state" | "summary"> {
  if (tool !== "plan" || state !== "done" || !summary.startsWith(planRefusedText)) return { state, summary };
  return { state: "denied", summary: summary.slice(planRefusedText.length).replace(/^: /, "") };
}
