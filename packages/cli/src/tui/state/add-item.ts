import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { type CallItem, type ChatItem, isSettled, isUnderWay, type UserItem, type SpeechItem } from "./chat-item.ts";
import type { ChatState, Phase } from "./chat-state.ts";
import { planRefusedText } from "../../tool/plan-tool.ts";

type WithoutId<Item> = Item extends ChatItem ? Omit<Item, "id"> : never;

/** An item before it has its number. */
export type NewItem =
  | WithoutId<Exclude<ChatItem, UserItem | SpeechItem>>
  | Omit<UserItem, "id">
  | Omit<SpeechItem, "id">;

/** With one more item at the end. */
export function addItem(state: ChatState, item: NewItem): ChatState {
  const numbered: ChatItem = { ...item, id: state.nextId };
  return settleItems({ ...state, nextId: state.nextId + 1 }, [...state.open, numbered]);
}

/** With other open items: those that are settled, with all before them, are done. */
export function settleItems(state: ChatState, open: readonly ChatItem[]): ChatState {
  const still = open.findIndex((item) => !isSettled(item));
  const ready = still === -1 ? open : open.slice(0, still);
  let { done } = state;
  for (const item of ready) done = done.with(item);
  return { ...state, done, open: open.slice(ready.length) };
}

/** As it was where no open call has this id. */
export function updateCall(state: ChatState, id: ToolUseId, change: (call: CallItem) => CallItem): ChatState {
  const open = state.open.map((item) =>
    item.kind === "call" && item.call === id && isUnderWay(item) ? change(item) : item,
  );
  return settleItems(state, open);
}

/** A piece of what the model says. It goes on where it was: a notice that came meanwhile cuts no sentence in two. */
export function appendSpeech(state: ChatState, piece: Pick<SpeechItem, "kind" | "text">): ChatState {
  const at = state.open.findLastIndex(isStreaming);
  const last = state.open[at];
  if (last?.kind !== piece.kind) return addItem(state, { ...piece, state: "streaming" });
  const longer: SpeechItem = { ...last, text: last.text + piece.text, state: "streaming" };
  return { ...state, open: state.open.with(at, longer) };
}

/** What a reply has said so far does not count. */
export const dropStreaming = (state: ChatState): ChatState =>
  settleItems(
    state,
    state.open.filter((item) => !isStreaming(item)),
  );

/** What a reply has said so far is all of it, and nobody has to be asked for it again. */
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

/** Nothing of the turn goes on. */
export const endOpenItems = (state: ChatState): ChatState => {
  const open = endStreaming(state, "cut");
  return settleItems(
    open,
    open.open.map((item) => (item.kind === "call" && isUnderWay(item) ? { ...item, state: "interrupted" } : item)),
  );
};

/** What the calls of a reply make of the phase; with none under way, the next request is due. */
export function phaseFromCalls({ open }: ChatState): Phase {
  const calls = open.filter((item) => item.kind === "call").filter(isUnderWay);
  const asking = calls.find(({ state }) => state === "asking");
  if (asking !== undefined) return { kind: "asking", tool: asking.tool };
  return calls.length === 0 ? { kind: "requesting" } : { kind: "calling", tools: calls.map(({ tool }) => tool) };
}

interface CallEndInput extends Pick<CallItem, "state" | "summary"> {
  readonly tool: string;
}

/** A plan that was put before a person did its work when they refused it; to them it is a no of theirs, with their reason. */
export function callEndState({ tool, state, summary }: CallEndInput): Pick<CallItem, "state" | "summary"> {
  if (tool !== "plan" || state !== "done" || !summary.startsWith(planRefusedText)) return { state, summary };
  return { state: "denied", summary: summary.slice(planRefusedText.length).replace(/^: /, "") };
}
