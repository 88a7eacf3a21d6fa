import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { type CallItem, type ChatItem, isSettled, isUnderWay, type PersonItem, type SpokenItem } from "./chat-item.ts";
import type { ChatState, Phase } from "./chat-shape.ts";

type WithoutId<Item> = Item extends ChatItem ? Omit<Item, "id"> : never;

/** An item before it has its number. */
export type NewItem =
  | WithoutId<Exclude<ChatItem, PersonItem | SpokenItem>>
  | Omit<PersonItem, "id">
  | Omit<SpokenItem, "id">;

/** With one more item at the end. */
export function shown(state: ChatState, item: NewItem): ChatState {
  const numbered: ChatItem = { ...item, id: state.nextId };
  return settled({ ...state, nextId: state.nextId + 1 }, [...state.open, numbered]);
}

/** With other open items: those that are settled, with all before them, are done. */
export function settled(state: ChatState, open: readonly ChatItem[]): ChatState {
  const still = open.findIndex((item) => !isSettled(item));
  const ready = still === -1 ? open : open.slice(0, still);
  let { done } = state;
  for (const item of ready) done = done.with(item);
  return { ...state, done, open: open.slice(ready.length) };
}

/** As it was where no open call has this id. */
export function changedCall(state: ChatState, id: ToolUseId, change: (call: CallItem) => CallItem): ChatState {
  const open = state.open.map((item) =>
    item.kind === "call" && item.call === id && isUnderWay(item) ? change(item) : item,
  );
  return settled(state, open);
}

/** A piece of what the model says. It goes on where it was: a notice that came meanwhile cuts no sentence in two. */
export function spoken(state: ChatState, piece: Pick<SpokenItem, "kind" | "text">): ChatState {
  const at = state.open.findLastIndex(isStreaming);
  const last = state.open[at];
  if (last?.kind !== piece.kind) return shown(state, { ...piece, state: "streaming" });
  const longer: SpokenItem = { ...last, text: last.text + piece.text, state: "streaming" };
  return { ...state, open: state.open.with(at, longer) };
}

/** What a reply has said so far does not count. */
export const unsaid = (state: ChatState): ChatState =>
  settled(
    state,
    state.open.filter((item) => !isStreaming(item)),
  );

/** What a reply has said so far is all of it, and nobody has to be asked for it again. */
export const said = (state: ChatState, how: "whole" | "cut"): ChatState =>
  settled(
    state,
    state.open.map((item) =>
      isStreaming(item) ? { ...item, state: how } : item.kind === "retry" ? { ...item, state: "over" } : item,
    ),
  );

const isStreaming = (item: ChatItem): item is SpokenItem =>
  (item.kind === "text" || item.kind === "thinking") && item.state === "streaming";

export const askedAgain = (state: ChatState): ChatState =>
  settled(
    state,
    state.open.map((item) => (item.kind === "retry" && item.state === "waiting" ? { ...item, state: "asked" } : item)),
  );

/** Nothing of the turn goes on. */
export const ended = (state: ChatState): ChatState => {
  const open = said(state, "cut");
  return settled(
    open,
    open.open.map((item) => (item.kind === "call" && isUnderWay(item) ? { ...item, state: "interrupted" } : item)),
  );
};

/** What the calls of a reply make of the phase; with none under way, the next request is due. */
export function phaseOfCalls({ open }: ChatState): Phase {
  const calls = open.filter((item) => item.kind === "call").filter(isUnderWay);
  const asking = calls.find(({ state }) => state === "asking");
  if (asking !== undefined) return { kind: "asking", tool: asking.tool };
  return calls.length === 0 ? { kind: "requesting" } : { kind: "calling", tools: calls.map(({ tool }) => tool) };
}
