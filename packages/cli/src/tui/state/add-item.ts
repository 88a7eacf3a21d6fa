import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { type CallItem, type ChatItem, isSettled, isUnderWay, type UserItem, type SpeechItem } from "./chat-item.ts";
import type { ChatState, Phase } from "./chat-state.ts";
import { planRefusedText } from "../../tool/plan-tool.ts";

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
